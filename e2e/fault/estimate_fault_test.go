//go:build faults

package fault

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/measure"
)

// guessed is a crowd of which a share leaves early, and how far off its estimates may be in the median: somewhat more
// than was seen, which is 2 to 5.1 % where nobody leaves, and 5 % where 35 % do.
type guessed struct {
	name     string
	visitors int
	leave    float64
	median   float64
}

// leaveWithin is how long those stay who leave early.
const leaveWithin = 90 * time.Second

// TestEstimates has two crowds go in over HTTP, through two servers in turn, and judges what they were told
// of their wait; what the servers judged by themselves must say the same.
func TestEstimates(t *testing.T) {
	t.Parallel()
	for _, x := range []guessed{
		{"nobody leaves", 1_000, 0, 0.07},
		{"35 % leave within 90 s", 1_500, 0.35, 0.10},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			z := busy("GUESSED")
			z.IdleTimeoutSeconds = 60
			s := setUp(t, x.name, startEngine(t).url(), z)
			s.crowd.keepsEstimates = true
			t.Cleanup(s.web.close)
			t.Cleanup(s.crowd.leave)
			s.crowd.arrive(t.Context(), z.ZoneID, x.visitors, 5*time.Second)
			s.crowd.goAway(x.leave)
			await(t, 4*time.Minute, "all are in or gone", func() bool {
				now := time.Now()
				return s.crowd.count(func(v *visitor) bool { return v.admitted == 0 && v.lost == "" && !v.left(now) }) == 0
			})
			// A server judges a second after an admission, and shows it a second later.
			var live liveEstimates
			await(t, settleTimeout, "the servers have judged", func() bool {
				was := live
				live = s.estimates(t, z.ZoneID)
				return live == was && live.judged > 0
			})
			e := s.crowd.estimates(z.Window())
			late := s.crowd.count(func(v *visitor) bool { return v.late })
			table.addEstimates(fmt.Sprintf("| %s | %d | %d | %s, %s | %s | %s, %s, %s | %s, %s, %s | %.1f %% | %s, of %d; off by %s |\n", x.name, x.visitors, late,
				percent(e.All.ErrorP50), percent(e.All.ErrorP90), percent(e.All.Covered),
				percent(e.Thirds[0].Covered), percent(e.Thirds[1].Covered), percent(e.Thirds[2].Covered),
				percent(e.Thirds[0].Width), percent(e.Thirds[1].Width), percent(e.Thirds[2].Width),
				100*e.Moved, percent(live.coverage), live.judged, percent(live.median)))
			t.Logf("%+v; the servers: %+v", e, live)
			if e.All.ErrorP50 > x.median {
				t.Errorf("the estimates were off by %s in the median, %s at the most is expected", percent(e.All.ErrorP50), percent(x.median))
			}
			if math.Abs(live.coverage-e.All.Covered) > 0.1 || math.Abs(live.median-e.All.ErrorP50) > 0.03 || live.judged < 500 {
				t.Errorf("of %d judged by the servers %s held, and half were off by %s; the crowd saw %s and %s",
					live.judged, percent(live.coverage), percent(live.median), percent(e.All.Covered), percent(e.All.ErrorP50))
			}
		})
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// goAway has a share of the crowd leave early, without a word.
func (c *crowd) goAway(share float64) {
	rng := rand.New(rand.NewPCG(1, 1))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.visitors {
		if rng.Float64() < share {
			v.leaves = v.due.Add(time.Duration(rng.Float64() * float64(leaveWithin)))
		}
	}
}

// estimates are how good those were that the crowd was told. The store's clock is this process's.
func (c *crowd) estimates(window time.Duration) measure.Estimates {
	c.mu.Lock()
	defer c.mu.Unlock()
	return measure.EstimatesOf(func(yield func(measure.Entered) bool) {
		for _, v := range c.visitors {
			if v.admitted != 0 && !yield(measure.Entered{
				JoinedMicros: v.arrived, EnteredMicros: 1000 * v.admitted, Told: v.estimates,
			}) {
				return
			}
		}
	}, window.Milliseconds(), func(int64, int64) bool { return false })
}

// liveEstimates is how good the servers say that their estimates were, all together.
type liveEstimates struct {
	coverage, median float64
	judged           int64
}

func (s *experiment) estimates(t *testing.T, zoneID string) (all liveEstimates) {
	t.Helper()
	for _, server := range s.servers {
		status, text, err := server.get(t.Context(), server.operators+"/admin/zones/"+zoneID+"/stats")
		var one struct {
			EstimateCoverage   float64 `json:"estimateCoverage"`
			EstimateError      float64 `json:"estimateError"`
			EstimateErrorCount int64   `json:"estimateErrorCount"`
		}
		if err == nil && status == http.StatusOK {
			err = json.NewDecoder(strings.NewReader(text)).Decode(&one)
		}
		if err != nil || status != http.StatusOK {
			t.Fatalf("the stats: %d %v", status, err)
		}
		all.judged += one.EstimateErrorCount
		all.coverage += one.EstimateCoverage * float64(one.EstimateErrorCount)
		all.median += one.EstimateError * float64(one.EstimateErrorCount)
	}
	all.coverage /= max(1, float64(all.judged))
	all.median /= max(1, float64(all.judged))
	return all
}
