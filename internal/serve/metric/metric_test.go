package metric

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// codes are some codes of package problem.
var codes = []string{"invalid_request", "zone_closed", "token_invalid", "token_expired", "store_unavailable", "too_many_requests"}

func newTest(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, Options{Version: "v1.2.3", Revision: "abc", Codes: codes})
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// series returns how many series of one metric a zone has.
func series(t *testing.T, reg *prometheus.Registry, name, zoneID string) int {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "zone" && l.GetValue() == zoneID {
					n++
				}
			}
		}
	}
	return n
}

func TestSeriesAreThereFromTheStartAndGoWithTheZone(t *testing.T) {
	m, reg := newTest(t)
	want := map[string]int{
		"queue_joins_total": len(joinOutcomes), "queue_polls_total": len(pollOutcomes),
		"queue_refusals_total": len(codes) + 1, "queue_admissions_total": 1,
		"queue_local_admissions_total": 1, "queue_store_failing": 1, "queue_clock_ahead_seconds": 1,
		"queue_restored_places_total": 1, "queue_wait_seconds": 1, "queue_estimate_error_ratio": 1,
		"queue_estimate_ranges_total": 3, "queue_estimate_range_width_ratio": 1,
	}
	count := func(zoneID string) map[string]int {
		got := map[string]int{}
		for name := range want {
			if n := series(t, reg, name, zoneID); n > 0 {
				got[name] = n
			}
		}
		return got
	}
	if got := count(nowhere); !maps.Equal(got, want) {
		t.Errorf("nowhere at the start: %v, want %v", got, want)
	}
	if got := count("a"); len(got) != 0 {
		t.Errorf("a before it is known: %v", got)
	}
	m.Know("a")
	m.Join("a", "waiting")
	m.Know("a")
	if got := count("a"); !maps.Equal(got, want) {
		t.Errorf("a: %v, want %v", got, want)
	}
	if got := testutil.ToFloat64(m.joins.WithLabelValues("a", "waiting")); got != 1 {
		t.Errorf("a second Know set the count to %v", got)
	}
	m.Forget("a")
	m.Forget("never known")
	m.Forget(nowhere)
	if got := count("a"); len(got) != 0 {
		t.Errorf("a after it was forgotten: %v", got)
	}
	if got := count(nowhere); !maps.Equal(got, want) {
		t.Errorf("nowhere at the end: %v, want %v", got, want)
	}
}

func TestCounters(t *testing.T) {
	m, _ := newTest(t)
	m.Know("a")
	tests := []struct {
		name   string
		count  func()
		vec    *prometheus.CounterVec
		labels []string
	}{
		{"join", func() { m.Join("a", "full") }, m.joins, []string{"a", "full"}},
		{"join in no zone", func() { m.Join("invented", "error") }, m.joins, []string{nowhere, "error"}},
		{"join with an unknown outcome", func() { m.Join("a", "surprise") }, m.joins, []string{"a", other}},
		{"poll", func() { m.Poll("a", "gone") }, m.polls, []string{"a", "gone"}},
		{"refusal", func() { m.Refuse("a", "zone_closed") }, m.refusals, []string{"a", "zone_closed"}},
		{"refusal with a code of HTTP", func() { m.Refuse("", "uri_too_long") }, m.refusals, []string{nowhere, other}},
		{"place put back", func() { m.Restored("a") }, m.restored, []string{"a"}},
		{"admission by the server itself", func() { m.AdmitLocally("a") }, m.localAdmissions, []string{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.count()
			if got := testutil.ToFloat64(tt.vec.WithLabelValues(tt.labels...)); got != 1 {
				t.Errorf("%q = %v, want 1", tt.labels, got)
			}
		})
	}
}

func TestClockAhead(t *testing.T) {
	m, _ := newTest(t)
	m.Know("a")
	m.ClockAhead("a", time.Hour)
	if got := testutil.ToFloat64(m.clock.WithLabelValues("a")); got != 3600 {
		t.Errorf("the zone is %v s ahead, want 3600", got)
	}
}

func TestAdmit(t *testing.T) {
	m, reg := newTest(t)
	m.Know("a")
	m.Admit("a", 90*time.Second)
	if got := testutil.ToFloat64(m.admissions.WithLabelValues("a")); got != 1 {
		t.Errorf("admissions = %v", got)
	}
	n, sum, native := observed(t, reg, "queue_wait_seconds", "zone", "a")
	if n != 1 || sum != 90 || !native {
		t.Errorf("wait: %d observations, sum %v, native %v", n, sum, native)
	}
}

func TestFallback(t *testing.T) {
	m, _ := newTest(t)
	m.Know("a")
	for _, failing := range []bool{true, false} {
		m.StoreFailing("a", failing)
		if got := testutil.ToFloat64(m.storeFailing.WithLabelValues("a")); (got == 1) != failing {
			t.Errorf("failing %t = %v", failing, got)
		}
	}
}

// observed returns the count and the sum of one series of a histogram, and whether it
// has native buckets besides classic ones.
func observed(t *testing.T, reg *prometheus.Registry, name, label, value string) (n uint64, sum float64, both bool) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					h := m.GetHistogram()
					return h.GetSampleCount(), h.GetSampleSum(), len(h.GetBucket()) > 0 && len(h.GetPositiveSpan()) > 0
				}
			}
		}
	}
	t.Fatalf("no series %s{%s=%q}", name, label, value)
	return 0, 0, false
}

func TestNamesAndHelp(t *testing.T) {
	_, reg := newTest(t)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "queue_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestBuildInfo(t *testing.T) {
	_, reg := newTest(t)
	if n := testutil.CollectAndCount(reg, "queue_build_info"); n != 1 {
		t.Errorf("%d series of queue_build_info, want 1", n)
	}
}

func TestRegisteringTwiceIsAnError(t *testing.T) {
	_, reg := newTest(t)
	if _, err := New(reg, Options{}); err == nil {
		t.Error("want an error")
	}
}

// told returns the judgement of an estimate with that error and that outcome of its range.
func told(off float64, o estimate.Outcome) estimate.Judgement {
	return estimate.Judgement{Off: off, Width: 0.5, Outcome: o}
}

// TestJudged: errors, ranges and their widths are counted by zone. Of an estimate without a range, only the error is.
func TestJudged(t *testing.T) {
	m, reg := newTest(t)
	m.Know("a", "b")
	m.Judged("a", told(0.25, estimate.Held))
	m.Judged("a", told(-0.25, estimate.Held))
	m.Judged("a", told(2, estimate.Sooner))
	m.Judged("a", told(-0.5, estimate.Later))
	m.Judged("a", estimate.Judgement{Off: 1, Outcome: estimate.NoRange})
	m.Judged("nowhere known", told(1, estimate.Held))
	if n, sum, both := observed(t, reg, "queue_estimate_error_ratio", "zone", "a"); n != 5 || sum != 4 || !both {
		t.Errorf("%d errors, sum %v, classic and native: %v", n, sum, both)
	}
	if n, sum, both := observed(t, reg, "queue_estimate_range_width_ratio", "zone", "a"); n != 4 || sum != 2 || !both {
		t.Errorf("%d widths, sum %v, classic and native: %v", n, sum, both)
	}
	for outcome, want := range map[string]float64{"held": 2, "sooner": 1, "later": 1} {
		if got := testutil.ToFloat64(m.ranges.WithLabelValues("a", outcome)); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
	if coverage, _, of := m.Estimates("a"); coverage != 0.5 || of != 4 {
		t.Errorf("%v of %d held", coverage, of)
	}
	if _, _, of := m.Estimates("b"); of != 0 {
		t.Errorf("%d in another zone", of)
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	m, _ := newTest(t)
	m.Know("a")
	j := told(0.1, estimate.Held)
	got := testing.AllocsPerRun(100, func() {
		m.Poll("a", "waiting")
		m.Join("a", "waiting")
		m.Refuse("a", "line_full")
		m.Called(store.Poll, time.Millisecond, nil)
		m.Restored("a")
		m.Judged("a", j)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// TestCallsAreMeasured: each kind of call has its series from the start. An answer of the store
// is no failure, even if it is not the one that was wanted.
func TestCallsAreMeasured(t *testing.T) {
	m, reg := newTest(t)
	if n := testutil.CollectAndCount(m.failures); n != len(store.Calls) {
		t.Errorf("%d kinds of call from the start, want %d", n, len(store.Calls))
	}
	for call, name := range store.Calls {
		for err, fails := range map[error]float64{
			nil: 0, context.Canceled: 0, line.ErrZoneUnknown: 0, line.ErrZoneDeleted: 0, line.ErrZoneChanged: 0,
			line.ErrFormat: 0, line.ErrSecrets: 0, line.ErrStoreUnavailable: 1, errors.New("surprise"): 1,
		} {
			before := testutil.ToFloat64(m.failures.WithLabelValues(name))
			if err != nil {
				err = fmt.Errorf("wrapped: %w", err)
			}
			m.Called(store.Call(call), 2*time.Second, err)
			if got := testutil.ToFloat64(m.failures.WithLabelValues(name)) - before; got != fails {
				t.Errorf("%s: %v counts as %v failures", name, err, got)
			}
		}
		if n, sum, both := observed(t, reg, "queue_store_call_seconds", "call", name); n != 9 || sum != 18 || !both {
			t.Errorf("%s: %d observations, sum %v, classic and native: %v", name, n, sum, both)
		}
	}
}

// lines are zones as the watch last saw them.
type lines struct {
	zones []string
	state line.State
}

func (l *lines) Last() iter.Seq2[zone.Settings, line.Stats] {
	return func(yield func(zone.Settings, line.Stats) bool) {
		for _, id := range l.zones {
			yield(zone.Defaults(id), line.Stats{
				State: l.state, EstimateMillis: 90_500, MostInSecond: 12, Totals: line.Totals{Admitted: 7, Left: 8, Swept: 9},
			})
		}
	}
}

func TestGauges(t *testing.T) {
	m, reg := newTest(t)
	l := &lines{zones: []string{"a"}, state: line.State{
		Waiting: 900, Released: 70, Live: 50, InWindow: 15, InMinute: 150, WindowLimit: 60,
	}}
	if err := m.Show(l); err != nil {
		t.Fatal(err)
	}
	want := `
		# HELP queue_burst Extra admissions that a window may have while nobody waits.
		# TYPE queue_burst gauge
		queue_burst{zone="a"} 0
		# HELP queue_estimate_seconds The wait that one who joins now is told.
		# TYPE queue_estimate_seconds gauge
		queue_estimate_seconds{zone="a"} 90.5
		# HELP queue_minute_admissions Admissions in the last 60 s; after a loss, those that may have been lost too.
		# TYPE queue_minute_admissions gauge
		queue_minute_admissions{zone="a"} 150
		# HELP queue_overdue Released visitors who did not poll when their turn came.
		# TYPE queue_overdue gauge
		queue_overdue{zone="a"} 20
		# HELP queue_per_minute The limit: the most admissions in 60 s, as the operator set it.
		# TYPE queue_per_minute gauge
		queue_per_minute{zone="a"} 600
		# HELP queue_released Visitors in the line who may be admitted when they poll.
		# TYPE queue_released gauge
		queue_released{zone="a"} 70
		# HELP queue_waiting Visitors in the line.
		# TYPE queue_waiting gauge
		queue_waiting{zone="a"} 900
		# HELP queue_window_admissions Admissions in the last window; after a loss, those that may have been lost too.
		# TYPE queue_window_admissions gauge
		queue_window_admissions{zone="a"} 15
		# HELP queue_window_limit The most admissions in a window, the burst apart.
		# TYPE queue_window_limit gauge
		queue_window_limit{zone="a"} 60
		# HELP queue_window_seconds The length of the window.
		# TYPE queue_window_seconds gauge
		queue_window_seconds{zone="a"} 6
		# HELP queue_window_use_ratio Admissions in the last window, as a share of its limit, 1 at most; 0 for a limit of 0.
		# TYPE queue_window_use_ratio gauge
		queue_window_use_ratio{zone="a"} 0.25
		# HELP queue_zone_admitted_total Visitors let in, as the store counts them; the same on every server.
		# TYPE queue_zone_admitted_total counter
		queue_zone_admitted_total{zone="a"} 7
		# HELP queue_zone_left_total Visitors who gave their place up, as the store counts them.
		# TYPE queue_zone_left_total counter
		queue_zone_left_total{zone="a"} 8
		# HELP queue_zone_mode 1 for the mode that the zone is in, else 0.
		# TYPE queue_zone_mode gauge
		queue_zone_mode{mode="closed",zone="a"} 0
		queue_zone_mode{mode="open",zone="a"} 0
		queue_zone_mode{mode="queue",zone="a"} 1
		# HELP queue_second_admissions_max The most admissions in any 1,000 ms of the last one to two minutes.
		# TYPE queue_second_admissions_max gauge
		queue_second_admissions_max{zone="a"} 12
		# HELP queue_second_limit The most admissions in any 1,000 ms while there is a line.
		# TYPE queue_second_limit gauge
		queue_second_limit{zone="a"} 13
		# HELP queue_zone_swept_total Visitors removed because they were silent, as the store counts them.
		# TYPE queue_zone_swept_total counter
		queue_zone_swept_total{zone="a"} 9
	`
	names := []string{
		"queue_waiting", "queue_released", "queue_overdue", "queue_window_use_ratio",
		"queue_window_admissions", "queue_window_limit", "queue_window_seconds", "queue_burst",
		"queue_minute_admissions", "queue_second_admissions_max", "queue_second_limit", "queue_per_minute", "queue_estimate_seconds", "queue_zone_mode",
		"queue_zone_admitted_total", "queue_zone_left_total", "queue_zone_swept_total",
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}

	l.state, l.zones = line.State{}, []string{"b"}
	m.Know("b")
	if n := series(t, reg, "queue_waiting", "a"); n != 0 {
		t.Error("a zone that is gone is still shown")
	}
	if got := testutil.ToFloat64(m.joins.WithLabelValues("b", "waiting")); got != 0 {
		t.Errorf("joins = %v", got)
	}
}

func TestReady(t *testing.T) {
	m, reg := newTest(t)
	ready := false
	if err := m.ShowServer(func() bool { return ready }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0", "1"} {
		text := "# HELP queue_ready 1 while this server asks for traffic, as /readyz says; else 0.\n" +
			"# TYPE queue_ready gauge\nqueue_ready " + want + "\n"
		if err := testutil.GatherAndCompare(reg, strings.NewReader(text), "queue_ready"); err != nil {
			t.Error(err)
		}
		ready = true
	}
}

// TestEstimatesOfTenMinutes: a judgement counts at once, and not after ten minutes.
func TestEstimatesOfTenMinutes(t *testing.T) {
	m, _ := newTest(t)
	now := time.Unix(0, 0)
	m.now = func() time.Time { return now }
	m.Know("a")
	check := func(when string, coverage, median float64, of int64) {
		t.Helper()
		gotCoverage, gotMedian, n := m.Estimates("a")
		if math.Abs(gotCoverage-coverage) > 1e-9 || math.Abs(gotMedian-median) > median/20 || n != of {
			t.Errorf("%s: %v held, %v off, of %d; want %v, %v, %d", when, gotCoverage, gotMedian, n, coverage, median, of)
		}
	}
	check("before the first", 0, 0, 0)
	for i := range 4 {
		m.Judged("a", told(0.1*float64(i), estimate.Outcome(min(i, 2))))
	}
	check("four", 0.25, 0.1, 4)
	now = now.Add(9 * time.Minute)
	check("nine minutes later", 0.25, 0.1, 4)
	for range 6 {
		m.Judged("a", told(20, estimate.Held))
	}
	check("six more, who were told far too much", 0.7, 12, 10)
	now = now.Add(time.Minute)
	check("when the first are old", 1, 12, 6)
	for range 7 {
		m.Judged("a", told(0.0005, estimate.Later))
	}
	check("as good as exact", 6.0/13, 0, 13)
	now = now.Add(10 * time.Minute)
	check("when all are old", 0, 0, 0)
	now = now.Add(-time.Hour)
	check("the clock was set back", 0, 0, 0)
	m.Judged("a", told(0.3, estimate.Held))
	check("and again", 1, 0.3, 1)
	if _, _, n := m.Estimates("b"); n != 0 {
		t.Errorf("a zone that is not known: %d", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	m, _ := newTest(t)
	var all sync.WaitGroup
	for i := range 4 {
		zoneID := fmt.Sprintf("zone-%d", i%2)
		all.Go(func() {
			for n := range uint64(500) {
				m.Know(zoneID)
				m.Poll(zoneID, pollOutcomes[int(n)%len(pollOutcomes)])
				m.Judged(zoneID, told(0.1, estimate.Held))
				m.Estimates(zoneID)
				if n%100 == 0 {
					m.Forget(zoneID)
				}
			}
		})
	}
	all.Wait()
	ids := slices.Sorted(maps.Keys(*m.zones.Load()))
	if want := []string{nowhere, "zone-0", "zone-1"}; !slices.Equal(ids, want) {
		t.Errorf("zones = %q, want %q", ids, want)
	}
}

func BenchmarkMeasuredPoll(b *testing.B) {
	m, err := New(prometheus.NewRegistry(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	m.Know("a")
	b.ReportAllocs()
	for b.Loop() {
		m.Called(store.Poll, time.Millisecond, nil)
		m.Poll("a", "waiting")
	}
}
