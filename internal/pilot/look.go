package pilot

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// Every is how long a look lasts.
	Every = 10 * time.Second
	// LeastAnswers is how many answers a look has at least; one with fewer goes on.
	LeastAnswers = 50
	// sessionShare is the part of a look, one in so many, that one session makes at most.
	sessionShare = 100
	// maxKept bounds the answers that a Tally keeps of a look: of more it keeps a random sample, some 200 KB.
	maxKept = 8_192
	// bucketsAnOctave divide each doubling of a time, so that a percentile is off by at most 5 %. Times are from 1 ms to 65 s.
	bucketsAnOctave = 8
	buckets         = 16 * bucketsAnOctave
)

// Look is what was seen of a site in Every. Its JSON is what servers tell each other.
type Look struct {
	// AtMillis is when it ended, in Unix milliseconds on the zone's clock.
	AtMillis int64 `json:"at"`
	// Answers are how many count, Errors how many of them failed.
	Answers int64 `json:"answers"`
	Errors  int64 `json:"errors,omitempty"`
	// Times are how many answers began in each bucket of time; see bucket.
	Times map[int]int64 `json:"times,omitempty"`
	// P95Millis and ErrorPercent are the figures of a source that tells no single answers; Told says that there are.
	Told         bool    `json:"told,omitempty"`
	P95Millis    float64 `json:"p95Millis,omitempty"`
	ErrorPercent float64 `json:"errorPercent,omitempty"`
}

// Join joins what several servers saw. Of sources that tell no single answers the worst counts.
func Join(all ...Look) Look {
	sum := Look{Times: map[int]int64{}}
	for _, l := range all {
		sum.AtMillis = max(sum.AtMillis, l.AtMillis)
		sum.Answers += l.Answers
		sum.Errors += l.Errors
		for b, n := range l.Times {
			sum.Times[b] += n
		}
		if l.Told {
			sum.Told, sum.P95Millis, sum.ErrorPercent = true, max(sum.P95Millis, l.P95Millis), max(sum.ErrorPercent, l.ErrorPercent)
		}
	}
	return sum
}

// Seen returns the figures of a look; ok is false if it has too few answers for any.
func (l Look) Seen() (s Sight, ok bool) {
	s = Sight{AtMillis: l.AtMillis, P95Millis: l.P95Millis, ErrorPercent: l.ErrorPercent}
	if l.Told {
		return s, true
	}
	if l.Answers < LeastAnswers {
		return Sight{}, false
	}
	s.ErrorPercent = 100 * float64(l.Errors) / float64(l.Answers)
	var all int64
	for _, n := range l.Times {
		all += n
	}
	below, rank := int64(0), (all*95+99)/100
	for b := range buckets {
		if below += l.Times[b]; below >= rank && all > 0 {
			s.P95Millis = math.Round(math.Exp2((float64(b) + 0.5) / bucketsAnOctave))
			break
		}
	}
	return s, true
}

// bucket is where a time counts.
func bucket(d time.Duration) int {
	millis := max(1, float64(d)/float64(time.Millisecond))
	return min(buckets-1, int(math.Log2(millis)*bucketsAnOctave))
}

// Tally counts the answers of a look. It is safe for concurrent use; the zero value is ready.
type Tally struct {
	mu   sync.Mutex
	seen int64
	kept []kept
}

// kept is an answer to a session.
type kept struct {
	session [16]byte
	first   time.Duration
	failed  bool
}

// Add counts an answer to a session: after which time it began, and whether it failed. An answer that never began has no time: 0.
func (t *Tally) Add(session [16]byte, first time.Duration, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen++
	a := kept{session, first, failed}
	if len(t.kept) < maxKept {
		t.kept = append(t.kept, a)
	} else if i := rand.Int64N(t.seen); i < maxKept {
		t.kept[i] = a
	}
}

// Take returns the look that ends now, and begins the next.
func (t *Tally) Take(nowMillis int64) Look {
	t.mu.Lock()
	all, seen := t.kept, t.seen
	t.kept, t.seen = nil, 0
	t.mu.Unlock()
	counts := map[[16]byte]int{}
	for _, a := range all {
		counts[a.session]++
	}
	most, l := share(counts, len(all)), Look{AtMillis: nowMillis, Times: map[int]int64{}}
	clear(counts)
	weight := int64(1) // each answer of a sample stands for so many
	if seen > maxKept {
		weight = (seen + maxKept/2) / maxKept
	}
	for _, a := range all {
		if counts[a.session]++; counts[a.session] > most {
			continue
		}
		l.Answers += weight
		if a.failed {
			l.Errors += weight
		}
		if a.first > 0 {
			l.Times[bucket(a.first)] += weight
		}
	}
	return l
}

// share is how many answers of one session count: at most 1 % of all that count; with fewer than 100 sessions, each as many as make a look.
func share(counts map[[16]byte]int, all int) int {
	if len(counts) == 0 {
		return 0
	}
	for most := all; ; {
		sum := 0
		for _, n := range counts {
			sum += min(n, most)
		}
		next := max(1, sum/sessionShare)
		if next >= most {
			return max(most, (LeastAnswers+len(counts)-1)/len(counts))
		}
		most = next
	}
}
