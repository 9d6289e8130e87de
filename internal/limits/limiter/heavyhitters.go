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
	// slots is how many are counted to find them: who has more than 1/slots of the
	// refusals is among them for certain.
	slots = 128
	// everyone is how many refusals in a row are looked at, in each span; of more,
	// one in sampled.
	everyone = 1000
	sampled  = 16
	// span is how long refusals are counted for, in milliseconds. Those of the
	// span before are shown, too.
	span = 60_000
)

// HeavyHitter is one of the clients who are refused most.
type HeavyHitter struct {
	// Key is short and hashed: Limiter.Short of the key.
	Key string `json:"key"`
	// Refused is about how often, in this span and the one before: never less than
	// so often as was sampled.
	Refused int64 `json:"refused"`
}

// heavyHitters finds who is refused most, of any number, in memory for 128: the
// space-saving sketch of Metwally, Agrawal and El Abbadi (2005). Who is new takes
// the place of who has the fewest, and goes on from that one's count. A count is
// so too high by that at most.
type heavyHitters struct {
	seen atomic.Uint64 // of this span

	mu          sync.Mutex
	began       int64
	now, before sketch
}

type sketch struct {
	who    [slots]short
	counts [slots]int64
	used   int
}

// refused counts a refusal. Of a flood it looks at some, and of two at once at
// one: so it holds nobody up.
func (b *heavyHitters) refused(l *Limiter, key string) {
	weight := int64(1)
	if b.seen.Add(1) > everyone {
		// By chance: who floods in step with a count would be seen always, or never.
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

// top returns the heavy hitters, who is refused most first.
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
