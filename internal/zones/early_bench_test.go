package zones_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
)

// BenchmarkPoll: what a poll in time costs with a store that does no work, and one that is early, with so
// many visitors.
func BenchmarkPoll(b *testing.B) {
	for _, visitors := range []int{1_000, 200_000} {
		r, all := newRoom(b, guard.Policies()...), make([]line.Place, visitors)
		for i := range all {
			all[i].ArrivedAtMicros = 1_795_223_300_000_000
			binary.LittleEndian.PutUint64(all[i].ID[:], rand.Uint64())
		}
		for name, each := range map[string]time.Duration{"in time": 10 * time.Second, "early": 0} {
			b.Run(fmt.Sprintf("%s/%d", name, visitors), func(b *testing.B) {
				b.ReportAllocs()
				early := 0
				for i := 0; b.Loop(); i++ {
					if i%visitors == 0 {
						r.clock.Forward(each)
					}
					if a, err := r.Poll(b.Context(), all[i%visitors]); err != nil || a.Early {
						early++
					}
				}
				b.ReportMetric(100*float64(early)/float64(b.N), "%early")
			})
		}
	}
}
