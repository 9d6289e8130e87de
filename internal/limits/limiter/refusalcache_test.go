package limiter

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestMemoryNeverInvents: whatever was remembered and forgotten, a refusal holds for no longer
// than the store told, and for no smaller cost.
func TestMemoryNeverInvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type refusal struct{ cost, until int64 }
		m, given := newRefusalCache(), map[uint64]refusal{}
		now := int64(0)
		// Few places, so that they are full: these hashes share two.
		hashes := make([]uint64, 24)
		for i := range hashes {
			hashes[i] = uint64(i%2) + uint64(i/2+1)*places
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.Int64Range(0, 50).Draw(t, "pass")
			hash := rapid.SampledFrom(hashes).Draw(t, "hash")
			cost := rapid.Int64Range(1, 3).Draw(t, "cost")
			if rapid.Bool().Draw(t, "refuse") {
				retry := rapid.Int64Range(1, 100).Draw(t, "retry")
				m.refuse(hash, cost, now, retry)
				given[hash] = refusal{cost, now + retry}
				// The latest refusal is found at once.
				if wait := m.wait(hash, cost, now); wait != retry {
					t.Fatalf("refused for %d, told %d", retry, wait)
				}
				continue
			}
			g := given[hash]
			if wait := m.wait(hash, cost, now); wait != 0 && (now+wait != g.until || cost < g.cost) {
				t.Fatalf("at %d, a cost of %d is told %d; given %+v", now, cost, wait, g)
			}
		}
	})
}

// TestMemoryIsTornByNobody: many goroutines write and read the same places at once, and none
// finds the refusal of another key.
func TestMemoryIsTornByNobody(t *testing.T) {
	t.Parallel()
	m := newRefusalCache()
	var work sync.WaitGroup
	var known atomic.Int64
	for g := range 8 {
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for range 50_000 {
				// Each hash has an end of its own.
				n := random.Uint64N(32) + 1
				hash, until := n*places, int64(n*1000)
				if random.Uint64N(2) == 0 {
					m.refuse(hash, 1, 0, until)
					continue
				}
				switch wait := m.wait(hash, 1, 0); wait {
				case 0:
				case until:
					known.Add(1)
				default:
					t.Errorf("%d is told %d", n, wait)
					return
				}
			}
		})
	}
	work.Wait()
	if known.Load() < 1000 {
		t.Errorf("only %d were known: nothing was looked at", known.Load())
	}
}
