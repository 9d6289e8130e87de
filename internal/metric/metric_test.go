package metric

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// codes are some codes of package problem.
var codes = []string{"invalid_request", "zone_closed", "token_invalid", "token_expired", "store_unavailable", "too_many_requests"}

func newTest(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	return New(reg, Options{Version: "v1.2.3", Revision: "abc", Codes: codes, SiteAnswers: []string{"answered"}}), reg
}

// find returns the series of a metric that have all of these labels: name, value, name, value.
func find(t *testing.T, reg *prometheus.Registry, name string, labels ...string) (found []*dto.Metric) {
	t.Helper()
	families, err := reg.Gather()
	parts.Must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := map[string]string{}
			for _, l := range m.GetLabel() {
				has[l.GetName()] = l.GetValue()
			}
			all := f.GetName() == name
			for i := 0; i < len(labels); i += 2 {
				value, ok := has[labels[i]]
				all = all && ok && value == labels[i+1]
			}
			if all {
				found = append(found, m)
			}
		}
	}
	return found
}

// value returns the value of the one counter or gauge that has these labels.
func value(t *testing.T, reg *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	found := find(t, reg, name, labels...)
	if len(found) != 1 {
		t.Fatalf("%d series %s of %q", len(found), name, labels)
	}
	return found[0].GetCounter().GetValue() + found[0].GetGauge().GetValue()
}

// observed returns the count and the sum of one series of a histogram, which must have
// native buckets besides classic ones.
func observed(t *testing.T, reg *prometheus.Registry, name, label, value string) (n uint64, sum float64) {
	t.Helper()
	found := find(t, reg, name, label, value)
	if len(found) != 1 {
		t.Fatalf("%d series %s{%s=%q}", len(found), name, label, value)
	}
	h := found[0].GetHistogram()
	if len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
		t.Errorf("%s{%s=%q} has not both kinds of buckets", name, label, value)
	}
	return h.GetSampleCount(), h.GetSampleSum()
}

func TestSeriesAreThereFromTheStartAndGoWithTheZone(t *testing.T) {
	m, reg := newTest(t)
	want := map[string]int{
		"queue_joins_total": len(answer.Outcomes()) + 1, "queue_polls_total": len(answer.Outcomes()) + 1,
		"queue_refusals_total": len(codes) + 1, "queue_admissions_total": 1,
		"queue_local_admissions_total": 1, "queue_store_failing": 1, "queue_clock_ahead_seconds": 1,
		"queue_departures_forgotten_total": 1, "queue_losses_total": 1, "queue_limit_exceeded_seconds_total": 1,
		"queue_restored_places_total": 1, "queue_wait_seconds": 1, "queue_estimate_error_ratio": 1,
		"queue_estimate_ranges_total": 3, "queue_estimate_range_width_ratio": 1,
	}
	count := func(zoneID string) map[string]int {
		got := map[string]int{}
		for name := range want {
			if n := len(find(t, reg, name, "zone", zoneID)); n > 0 {
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
	if got := value(t, reg, "queue_joins_total", "zone", "a", "outcome", "waiting"); got != 1 {
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

// TestCounts: each method counts in the series of its zone, or of no zone, once.
func TestCounts(t *testing.T) {
	m, reg := newTest(t)
	m.Know("a")
	for name, tt := range map[string]struct {
		count  func()
		metric string
		labels []string
	}{
		"join":                         {func() { m.Join("a", "full") }, "queue_joins_total", []string{"zone", "a", "outcome", "full"}},
		"join in no zone":              {func() { m.Join("invented", "error") }, "queue_joins_total", []string{"zone", nowhere, "outcome", "error"}},
		"join with an unknown outcome": {func() { m.Join("a", "surprise") }, "queue_joins_total", []string{"zone", "a", "outcome", other}},
		"poll":                         {func() { m.Poll("a", "gone") }, "queue_polls_total", []string{"zone", "a", "outcome", "gone"}},
		"refusal":                      {func() { m.Refuse("a", "zone_closed") }, "queue_refusals_total", []string{"zone", "a", "code", "zone_closed"}},
		"refusal with a code of HTTP":  {func() { m.Refuse("", "uri_too_long") }, "queue_refusals_total", []string{"zone", nowhere, "code", other}},
		"place put back":               {func() { m.Count("a", zones.Restored) }, "queue_restored_places_total", []string{"zone", "a"}},
		"data lost":                    {func() { m.Count("a", zones.Lost) }, "queue_losses_total", []string{"zone", "a"}},
		"departure forgotten":          {func() { m.Count("a", zones.Forgotten) }, "queue_departures_forgotten_total", []string{"zone", "a"}},
		"admission by the server":      {func() { m.Count("a", zones.AdmittedLocally) }, "queue_local_admissions_total", []string{"zone", "a"}},
		"admission":                    {func() { m.Admit("a", 90*time.Second) }, "queue_admissions_total", []string{"zone", "a"}},
		"limit exceeded":               {func() { m.Exceeded("a") }, "queue_limit_exceeded_seconds_total", []string{"zone", "a"}},
		"clock":                        {func() { m.ClockAhead("a", time.Second) }, "queue_clock_ahead_seconds", []string{"zone", "a"}},
		"store fails":                  {func() { m.StoreFailing("a", true) }, "queue_store_failing", []string{"zone", "a"}},
	} {
		tt.count()
		if got := value(t, reg, tt.metric, tt.labels...); got != 1 {
			t.Errorf("%s: %v, want 1", name, got)
		}
	}
	if n, sum := observed(t, reg, "queue_wait_seconds", "zone", "a"); n != 1 || sum != 90 {
		t.Errorf("wait: %d observations, sum %v", n, sum)
	}
	m.StoreFailing("a", false)
	if got := value(t, reg, "queue_store_failing", "zone", "a"); got != 0 {
		t.Errorf("the store answers, and failing is %v", got)
	}
}

func TestNamesAndHelp(t *testing.T) {
	_, reg := newTest(t)
	problems, err := testutil.GatherAndLint(reg)
	parts.Must(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "queue_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
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
	if n, sum := observed(t, reg, "queue_estimate_error_ratio", "zone", "a"); n != 5 || sum != 4 {
		t.Errorf("%d errors, sum %v", n, sum)
	}
	if n, sum := observed(t, reg, "queue_estimate_range_width_ratio", "zone", "a"); n != 4 || sum != 2 {
		t.Errorf("%d widths, sum %v", n, sum)
	}
	for outcome, want := range map[string]float64{"held": 2, "sooner": 1, "later": 1} {
		if got := value(t, reg, "queue_estimate_ranges_total", "zone", "a", "outcome", outcome); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}

// TestCallsAreMeasured: each kind of call has its series from the start. An answer of the store
// is no failure, even if it is not the one that was wanted.
func TestCallsAreMeasured(t *testing.T) {
	m, reg := newTest(t)
	if n := len(find(t, reg, "queue_store_call_failures_total")); n != len(store.Calls) {
		t.Errorf("%d kinds of call from the start, want %d", n, len(store.Calls))
	}
	for call, name := range store.Calls {
		for err, fails := range map[error]float64{
			nil: 0, context.Canceled: 0, line.ErrZoneUnknown: 0, line.ErrZoneDeleted: 0, line.ErrZoneChanged: 0,
			line.ErrFormat: 0, line.ErrSecrets: 0, line.ErrStoreUnavailable: 1, errors.New("surprise"): 1,
		} {
			before := value(t, reg, "queue_store_call_failures_total", "call", name)
			if err != nil {
				err = fmt.Errorf("wrapped: %w", err)
			}
			m.Called(store.Call(call), 2*time.Second, err)
			if got := value(t, reg, "queue_store_call_failures_total", "call", name) - before; got != fails {
				t.Errorf("%s: %v counts as %v failures", name, err, got)
			}
		}
		if n, sum := observed(t, reg, "queue_store_call_seconds", "call", name); n != 9 || sum != 18 {
			t.Errorf("%s: %d observations, sum %v", name, n, sum)
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
			s := zone.Defaults(id)
			s.MaxInside = 50
			yield(s, line.Stats{
				State: l.state, EstimateMillis: 90_500, MostInSecond: 12, Totals: line.Totals{Admitted: 7, Left: 8, Swept: 9},
			})
		}
	}
}

func (*lines) Idle(string, time.Duration) (sessions, idle int64) { return 30, 3 }

func TestGauges(t *testing.T) {
	m, reg := newTest(t)
	l := &lines{zones: []string{"a"}, state: line.State{
		Waiting: 900, Released: 70, Live: 50, InWindow: 15, InMinute: 150, WindowLimit: 60, Inside: 40, InsideLost: 4,
	}}
	m.Show(l.Last, l.Idle)
	for name, want := range map[string]float64{
		"queue_waiting": 900, "queue_released": 70, "queue_overdue": 20, "queue_window_admissions": 15, "queue_window_limit": 60,
		"queue_minute_admissions": 150, "queue_second_admissions_max": 12,
		"queue_second_limit": 13, "queue_inside": 40, "queue_inside_unknown": 4, "queue_inside_limit": 50, "queue_sessions": 30, "queue_sessions_idle": 3, "queue_per_minute": 600, "queue_burst": 0, "queue_estimate_seconds": 90.5,
		"queue_zone_admitted_total": 7, "queue_zone_left_total": 8, "queue_zone_swept_total": 9,
		"queue_event_holding": 0,
	} {
		if got := value(t, reg, name, "zone", "a"); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for mode, want := range map[string]float64{"queue": 1, "open": 0, "closed": 0} {
		if got := value(t, reg, "queue_zone_mode", "zone", "a", "mode", mode); got != want {
			t.Errorf("mode %s = %v", mode, got)
		}
	}
	l.zones = []string{"b"}
	if n := len(find(t, reg, "queue_waiting", "zone", "a")); n != 0 {
		t.Error("a zone that is gone is still shown")
	}
}

func TestReady(t *testing.T) {
	m, reg := newTest(t)
	ready := false
	m.ShowServer(func() bool { return ready })
	for _, want := range []float64{0, 1} {
		if got := value(t, reg, "queue_ready"); got != want {
			t.Errorf("ready is %v, want %v", got, want)
		}
		ready = true
	}
}

func TestConcurrentUse(t *testing.T) {
	m, _ := newTest(t)
	outcomes := answer.Outcomes()
	var all sync.WaitGroup
	for i := range 4 {
		zoneID := fmt.Sprintf("zone-%d", i%2)
		all.Go(func() {
			for n := range uint64(500) {
				m.Know(zoneID)
				m.Poll(zoneID, outcomes[int(n)%len(outcomes)])
				m.Judged(zoneID, told(0.1, estimate.Held))
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
