package simulate

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
)

// Report is what a run showed. Durations are in milliseconds of virtual time.
type Report struct {
	// Visitors came. Each was admitted, left silently, came back after having
	// been swept, or was refused a place: the four add up.
	Visitors int `json:"visitors"`
	Admitted int `json:"admitted"`
	Left     int `json:"left"`
	Swept    int `json:"swept"`
	Refused  int `json:"refused"`
	// LastInMs is when the last of them was admitted, after the first could
	// come; MedianMs the median wait of those admitted.
	LastInMs int64 `json:"lastInMs"`
	MedianMs int64 `json:"medianWaitMs"`

	// G1: the most admissions in any window and in any 60 s, and the limits.
	// Burst may come on top of WindowLimit while nobody waits.
	PerMinute   int64 `json:"perMinute"`
	WindowLimit int64 `json:"windowLimit"`
	Burst       int64 `json:"burst"`
	MaxInWindow int   `json:"maxInWindow"`
	MaxInMinute int   `json:"maxInMinute"`
	// G2: the share of capacity used while two windows' worth of live
	// visitors waited; -1 if there never were so many.
	CapacityUsed float64 `json:"capacityUsed"`
	// G3: by how many later arrivals those who polled when told to were
	// overtaken, in windows' worth.
	OvertakenP50 float64 `json:"overtakenP50"`
	OvertakenP99 float64 `json:"overtakenP99"`
	OvertakenMax float64 `json:"overtakenMax"`
	// G4: how many of the Swept had polled within the idle timeout.
	PlacesLost int `json:"placesLost"`
	// G6: positions that rose, and |estimate - wait| / wait over all answers
	// whose wait was at least a window.
	PositionsRose    int     `json:"positionsRose"`
	EstimateErrorP50 float64 `json:"estimateErrorP50"`
	EstimateErrorP90 float64 `json:"estimateErrorP90"`
	// G7: polls of those who were admitted.
	PollsMean float64 `json:"pollsMean"`
	PollsP99  float64 `json:"pollsP99"`
	PollsMax  int     `json:"pollsMax"`
	// PollsPerSecondMax is the busiest second, everybody's polls counted.
	PollsPerSecondMax int `json:"pollsPerSecondMax"`
}

// measure collects during the run.
type measure struct {
	admitted      []int64 // milliseconds, in order
	pollSecond    int64   // the present second of virtual time
	polls         int     // polls in it
	pollsMost     int     // in any second
	placesLost    int
	positionsRose int
	left          int
	swept         int
	refused       int
	// live is how many wait who have not left; changes has its history.
	live    int
	changes []change
}

type change struct {
	at   int64 // microseconds
	live int
}

func (m *measure) join(now int64) { m.note(now, 1) }
func (m *measure) part(now int64) { m.note(now, -1) }
func (m *measure) admit(now, millis int64) {
	m.admitted = append(m.admitted, millis)
	m.note(now, -1)
}

func (m *measure) poll(now int64) {
	if second := now / 1_000_000; second != m.pollSecond {
		m.pollSecond, m.polls = second, 0
	}
	m.polls++
	m.pollsMost = max(m.pollsMost, m.polls)
}

func (m *measure) note(now int64, d int) {
	m.live += d
	m.changes = append(m.changes, change{now, m.live})
}

func (r *run) report() Report {
	rates := window.RatesOf(r.cfg.Zone)
	out := Report{
		Visitors: len(r.visitors), Admitted: len(r.m.admitted),
		Left: r.m.left, Swept: r.m.swept, Refused: r.m.refused,
		PerMinute: r.cfg.Zone.PerMinute, WindowLimit: rates.Limit, Burst: r.cfg.Zone.Burst,
		PlacesLost: r.m.placesLost, PositionsRose: r.m.positionsRose,
		PollsPerSecondMax: r.m.pollsMost,
	}
	slices.Sort(r.m.admitted)
	out.MaxInWindow = MaxWithin(r.m.admitted, rates.WindowMillis)
	out.MaxInMinute = MaxWithin(r.m.admitted, window.MinuteMillis)
	if n := len(r.m.admitted); n > 0 {
		out.LastInMs = r.m.admitted[n-1] - r.start/1000
	}
	out.CapacityUsed = r.capacityUsed(rates)
	r.order(&out, float64(rates.Limit))
	r.visits(&out, rates.WindowMillis)
	return out
}

// MaxWithin is the most of the sorted times that lie in any closed interval
// [t, t+span].
func MaxWithin(times []int64, span int64) (most int) {
	from := 0
	for i, t := range times {
		for times[from] < t-span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// capacityUsed is the mean share of the window's slots that were taken, over
// the time from when two windows' worth of live visitors first waited until
// they last did: the admissions in the window that ends at each moment, over
// what the limit allows in a window. -1 if that time was less than a window.
func (r *run) capacityUsed(rates window.Rates) float64 {
	enough := int(2 * rates.Limit)
	var from, to int64
	for _, c := range r.m.changes {
		if c.live < enough {
			continue
		}
		if from == 0 {
			from = c.at / 1000
		}
		to = c.at / 1000
	}
	if to-from < rates.WindowMillis {
		return -1
	}
	taken := int64(0)
	for _, t := range r.m.admitted {
		taken += max(0, min(to, t+rates.WindowMillis)-max(from, t))
	}
	perWindow := float64(rates.PerMinute) * float64(rates.WindowMillis) / window.MinuteMillis
	return float64(taken) / (perWindow * float64(to-from))
}

// order counts, for each who was admitted, those who came later and were
// admitted earlier: over the admissions in their order, with a Fenwick tree
// over the arrivals.
func (r *run) order(out *Report, limit float64) {
	byArrival := make([]*visitor, 0, len(r.visitors))
	for i := range r.visitors {
		if v := &r.visitors[i]; v.state == inside {
			byArrival = append(byArrival, v)
		}
	}
	slices.SortFunc(byArrival, func(a, b *visitor) int {
		return cmp.Compare(a.place.ArrivedAtMicros, b.place.ArrivedAtMicros)
	})
	rank := make(map[*visitor]int, len(byArrival))
	for i, v := range byArrival {
		rank[v] = i + 1
	}
	byAdmission := slices.Clone(byArrival)
	slices.SortStableFunc(byAdmission, func(a, b *visitor) int { return cmp.Compare(a.admitted, b.admitted) })
	tree := make([]int, len(byArrival)+1)
	overtaken := make([]float64, 0, len(byArrival))
	for n, v := range byAdmission {
		earlier := 0
		for i := rank[v]; i > 0; i &= i - 1 {
			earlier += tree[i]
		}
		if v.punctual {
			overtaken = append(overtaken, float64(n-earlier)/limit)
		}
		for i := rank[v]; i < len(tree); i += i & -i {
			tree[i]++
		}
	}
	slices.Sort(overtaken)
	out.OvertakenP50 = percentile(overtaken, 50)
	out.OvertakenP99 = percentile(overtaken, 99)
	out.OvertakenMax = percentile(overtaken, 100)
}

func (r *run) visits(out *Report, windowMillis int64) {
	var polls, waits, errs []float64
	for i := range r.visitors {
		v := &r.visitors[i]
		if v.state != inside {
			continue
		}
		polls = append(polls, float64(v.polls))
		waits = append(waits, float64(v.admitted-v.joined)/1000)
		for _, e := range v.estimates {
			if real := float64(v.admitted-e.at) / 1000; real >= float64(windowMillis) {
				errs = append(errs, math.Abs(float64(e.millis)-real)/real)
			}
		}
	}
	slices.Sort(polls)
	slices.Sort(waits)
	slices.Sort(errs)
	sum := 0.0
	for _, p := range polls {
		sum += p
	}
	out.PollsMean = sum / max(1, float64(len(polls)))
	out.PollsP99 = percentile(polls, 99)
	out.PollsMax = int(percentile(polls, 100))
	out.MedianMs = int64(percentile(waits, 50))
	out.EstimateErrorP50 = percentile(errs, 50)
	out.EstimateErrorP90 = percentile(errs, 90)
}

// percentile of sorted values, by the nearest rank.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(p/100*float64(len(sorted)))) - 1
	return sorted[max(0, min(i, len(sorted)-1))]
}

// Print writes the report for people.
func (o Report) Print(w io.Writer) error {
	used := "never two windows' worth waiting"
	if o.CapacityUsed >= 0 {
		used = fmt.Sprintf("%.1f %%", 100*o.CapacityUsed)
	}
	ms := func(v int64) time.Duration { return (time.Duration(v) * time.Millisecond).Round(time.Second) }
	others := ""
	if o.Swept > 0 {
		others += fmt.Sprintf(", %d back too late", o.Swept)
	}
	if o.Refused > 0 {
		others += fmt.Sprintf(", %d refused", o.Refused)
	}
	burst := ""
	if o.Burst > 0 {
		burst = fmt.Sprintf(", and a burst of %d", o.Burst)
	}
	_, err := fmt.Fprintf(w, `visitors            %d: %d admitted, %d left%s
last one in after   %s, the median wait %s
in any window       %d of %d%s
in any 60 s         %d of %d
capacity used       %s
overtaken           p50 %.2f, p99 %.2f, max %.2f windows
places lost         %d
positions that rose %d
estimate's error    p50 %.0f %%, p90 %.0f %%
polls a visitor     mean %.1f, p99 %.0f, max %d; at most %d in a second
`, o.Visitors, o.Admitted, o.Left, others, ms(o.LastInMs), ms(o.MedianMs),
		o.MaxInWindow, o.WindowLimit, burst, o.MaxInMinute, o.PerMinute, used,
		o.OvertakenP50, o.OvertakenP99, o.OvertakenMax, o.PlacesLost, o.PositionsRose,
		100*o.EstimateErrorP50, 100*o.EstimateErrorP90, o.PollsMean, o.PollsP99, o.PollsMax, o.PollsPerSecondMax)
	return err
}
