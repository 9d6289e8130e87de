package limiter

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// MaxHeavyHitters is how many heavy hitters are shown.
	MaxHeavyHitters = 20
	// slots is how many clients are counted to find them. A client with more than 1/slots of
	// the refusals is certainly among these.
	slots = 128
	// everyone is how many refusals of each span are all counted. Of later ones, one in
	// sampled is.
	everyone = 1000
	sampled  = 16
	// span is for how long refusals are counted together, in milliseconds. The counts of the
	// previous span are shown, too.
	span = 60_000
)

// HeavyHitter is one of the clients who were refused most.
type HeavyHitter struct {
	// Key is the short hash of the client's key: see Limiter.Short.
	Key string `json:"key"`
	// Refused is about how often the client was refused, in this minute and the one before. It
	// may be too high: see heavyHitters.
	Refused int64 `json:"refused"`
}

// heavyHitters finds the clients that are refused most, among any number, in memory for 128: the
// space-saving sketch of Metwally, Agrawal and El Abbadi (2005). A client that is not in it
// replaces the one with the lowest count, and goes on from that count. So a count is too high by
// at most the one it began with.
type heavyHitters struct {
	seen atomic.Uint64 // refusals in this span

	mu          sync.Mutex
	began       int64
	now, before sketch
}

type sketch struct {
	who    [slots]short
	counts [slots]int64
	used   int
}

// refused counts a refusal. It counts only a sample of a flood, and only one of two refusals at
// the same moment, so that nobody waits for it.
func (b *heavyHitters) refused(l *Limiter, key string) {
	weight := int64(1)
	if b.seen.Add(1) > everyone {
		// The sample is random: a client that floods in step with a counter would be in it
		// always, or never.
		if rand.Uint32N(sampled) != 0 {
			return
		}
		weight = sampled
	}
	who := l.short(key)
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	b.rotate(l.millis())
	b.now.add(who, weight)
}

// rotate begins a new span if it is time.
func (b *heavyHitters) rotate(now int64) {
	switch past := now - b.began; {
	case past < span:
		return
	case past < 2*span:
		b.before = b.now
	default:
		b.before = sketch{}
	}
	b.now, b.began = sketch{}, now
	b.seen.Store(0)
}

func (s *sketch) add(who short, weight int64) {
	least := 0
	for i := range s.used {
		if s.who[i] == who {
			s.counts[i] += weight
			return
		}
		if s.counts[i] < s.counts[least] {
			least = i
		}
	}
	if s.used < slots {
		least = s.used
		s.used++
	}
	s.who[least] = who
	s.counts[least] += weight
}

// top returns the heavy hitters, the one that was refused most first.
func (b *heavyHitters) top(now int64) []HeavyHitter {
	b.mu.Lock()
	b.rotate(now)
	all := make(map[short]int64, slots)
	for _, s := range []*sketch{&b.now, &b.before} {
		for i := range s.used {
			all[s.who[i]] += s.counts[i]
		}
	}
	b.mu.Unlock()
	out := make([]HeavyHitter, 0, len(all))
	for who, n := range all {
		out = append(out, HeavyHitter{who.String(), n})
	}
	slices.SortFunc(out, func(a, b HeavyHitter) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Key, b.Key))
	})
	return out[:min(len(out), MaxHeavyHitters)]
}
