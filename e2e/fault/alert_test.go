package fault

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// quick has the rules' minutes last 6 s, and Prometheus look twice a second.
	quick = 10
	// alertTimeout bounds a wait for an alert that is due in seconds.
	alertTimeout = 60 * time.Second
)

// TestPrometheusSeesWhatVisitorsSaw has a real Prometheus with the project's own
// rules look at two servers, and compares what it has with what visitors were
// told. Then data is lost, and Redis killed: the alerts of that, and no others.
func TestPrometheusSeesWhatVisitorsSaw(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	z := busy("BUSY")
	z.PerMinute, z.WindowSeconds = 1200, 2 // 40 in any 2 s
	z.IdleTimeoutSeconds = 60              // nobody is swept who is late on a busy machine
	g := guard(t, z, quick, serverOptions{redisURL: e.url()}, serverOptions{redisURL: e.url()})
	c := g.crowd
	c.arrive(t.Context(), "BUSY", 40, z.Window())
	await(t, settleTimeout, "the first window fills", func() bool { return c.admitted("BUSY") == 40 })
	c.arrive(t.Context(), "BUSY", 200, time.Second)
	await(t, settleTimeout, "the line moves", func() bool { return c.admitted("BUSY") >= 120 })
	g.servers[0].hold(t, "BUSY")
	g.sees(t, `zone:queue_per_minute:max{zone="BUSY"}`, func(v float64) bool { return v == 0 })
	is := func(want int) func(float64) bool { return func(v float64) bool { return v == float64(want) } }
	in := c.admitted("BUSY")
	g.sees(t, `sum(queue_admissions_total{zone="BUSY"})`, is(in))
	g.sees(t, `max(queue_zone_admitted_total{zone="BUSY"})`, is(in))
	g.sees(t, `sum(queue_joins_total{zone="BUSY", outcome=~"waiting|admitted|admitted_before"})`, func(v float64) bool {
		return 240 <= v && v <= 240+240/repeatsEvery // some join twice
	})
	g.sees(t, `zone:queue_waiting:max{zone="BUSY"}`, is(240-in))
	g.sees(t, `sum(queue_wait_seconds_count{zone="BUSY"})`, is(in))
	waited := c.waited()
	g.sees(t, `sum(queue_wait_seconds_sum{zone="BUSY"})`, func(v float64) bool {
		return math.Abs(v-waited.Seconds()) < 0.001*float64(in)
	})
	// A rate a second, recorded twice a second, adds up to all that were let in,
	// but for what rate makes of the edges.
	g.sees(t, fmt.Sprintf(`sum_over_time(zone:queue_admissions:rate1m{zone="BUSY"}[2m]) * %g`, (look/quick).Seconds()),
		func(v float64) bool { return math.Abs(v-float64(in)) < 0.1*float64(in) })
	if c.admitted("BUSY") != in {
		t.Errorf("%d were let in when the zone was held, %d later", in, c.admitted("BUSY"))
	}

	c.leave()
	answered, left := c.answered("BUSY", time.Time{}), c.waiting("BUSY")
	g.sees(t, `sum({__name__=~"queue_(joins|polls)_total", zone="BUSY", outcome!="error"})`, func(v float64) bool {
		// Whoever left may have done so with a poll under way.
		return float64(answered) <= v && v <= float64(answered+left)
	})
	// The servers' minute is as long as ever, the rules' 2 minutes are 12 s: so
	// after the hold, the minute's count is above a limit that seems old.
	may := []string{"QueueMinuteExceeded"}
	may = append(may, slowMachine...)
	g.fires(t, nil, may)

	const late = 40
	z.ZoneID, z.PerMinute = "LATE", 0
	g.servers[0].put(t, z)
	await(t, settleTimeout, "both servers know the zone", func() bool { return g.servers[1].knows(t.Context(), "LATE") })
	second := &crowd{room: c.room}
	t.Cleanup(second.leave)
	second.arrive(t.Context(), "LATE", late, 0)
	await(t, settleTimeout, "all wait", func() bool { return second.waiting("LATE") == late })
	e.do(t, "FLUSHALL")
	g.awaitAlert(t, alertTimeout, "QueuePlacesRestored")
	g.sees(t, `sum(queue_restored_places_total{zone="LATE"})`, is(late))
	e.Kill()
	g.awaitAlert(t, alertTimeout, "QueueStoreFailing")
	g.awaitAlert(t, alertTimeout, "QueueServerNotReady")
	e.start(t)
	await(t, alertTimeout, "all is well again", func() bool {
		return g.over("QueueStoreFailing") && g.over("QueueServerNotReady")
	})
	g.fires(t, []string{"QueuePlacesRestored", "QueueServerNotReady", "QueueStoreFailing"},
		append(may, "QueueRefusals", "QueueSweepOld"))
}

// slowMachine are alerts that a machine busy with a dozen experiments raises by itself,
// and rightly so: calls take long, or longer than the 400 ms that they may.
var slowMachine = []string{"QueueScriptSlow", "QueueStoreErrors"}

// guarded is a room with a crowd, and a Prometheus that looks on.
type guarded struct {
	*tower
	servers []*server
	crowd   *crowd
}

// guard starts servers with a zone, and a Prometheus beside them.
func guard(t testing.TB, z zone.Settings, scale int, options ...serverOptions) *guarded {
	t.Helper()
	g := &guarded{}
	for _, o := range options {
		g.servers = append(g.servers, startServer(t, o))
	}
	for i, s := range g.servers {
		if i == 0 || options[i].redisURL != options[0].redisURL {
			s.put(t, z) // into each store
		}
	}
	await(t, settleTimeout, "every server knows the zone", func() bool {
		return !slices.ContainsFunc(g.servers, func(s *server) bool { return !s.knows(t.Context(), z.ZoneID) })
	})
	web := newBalancer(g.servers...)
	g.crowd = &crowd{room: web}
	t.Cleanup(func() {
		g.crowd.leave()
		web.close()
	})
	g.tower = watchtower(t, scale, g.servers...)
	return g
}

// sees waits until the value of an expression is as it ought to be.
func (g *guarded) sees(t testing.TB, expr string, ought func(float64) bool) {
	t.Helper()
	last := math.NaN()
	if !soon(t.Context(), settleTimeout, func() bool {
		last = g.value(t.Context(), expr)
		return ought(last)
	}) {
		t.Errorf("%s is %v", expr, last)
	}
}

// over reports whether an alert has fired and ended.
func (w *tower) over(name string) bool {
	all := w.alerts(name)
	return len(all) > 0 && !slices.ContainsFunc(all, func(h heard) bool { return !h.over })
}

// fires fails the test unless exactly these alerts have fired, each of them once,
// and perhaps some of those that may; and all of them said something.
func (w *tower) fires(t testing.TB, must, may []string) {
	t.Helper()
	names, odd := w.fired()
	for _, name := range must {
		if !slices.Contains(names, name) {
			t.Errorf("%s has not fired", name)
		}
	}
	for _, name := range names {
		wanted := slices.Contains(must, name)
		if !wanted && !slices.Contains(may, name) {
			t.Errorf("%s has fired: %v", name, w.alerts(name))
		}
		for _, h := range w.alerts(name) {
			if wanted && len(h.starts) != 1 {
				t.Errorf("%v has fired %d times: %v", h.labels, len(h.starts), h.starts)
			}
			if s := h.annotations["summary"]; s == "" || strings.ContainsAny(s, "{}<>") || strings.Contains(s, "%!") {
				t.Errorf("%s says %q", name, s)
			}
		}
	}
	if len(odd) > 0 {
		t.Errorf("prometheus sent what is no list of alerts: %q", odd)
	}
}

// waited is how long those who were let in had waited, together.
func (c *crowd) waited() (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.visitors {
		if v.admitted != 0 {
			sum += time.Duration(v.admitted*1000-v.arrived) * time.Microsecond
		}
	}
	return sum
}

// alertRow is one alert that was seen firing.
type alertRow struct {
	alert, fault string
	// after is how long after the fault began Prometheus told of it.
	after   time.Duration
	summary string
}

// alertTable has a row for each alert that fired on purpose.
var alertTable struct {
	mu   sync.Mutex
	rows []alertRow
}

func noteAlert(r alertRow) {
	alertTable.mu.Lock()
	defer alertTable.mu.Unlock()
	alertTable.rows = append(alertTable.rows, r)
}

// writeAlerts writes the table, if it is wanted.
func writeAlerts(file string, scale int) error {
	if file == "" {
		return nil
	}
	alertTable.mu.Lock()
	defer alertTable.mu.Unlock()
	slices.SortFunc(alertTable.rows, func(a, b alertRow) int { return cmp.Compare(a.alert, b.alert) })
	var b strings.Builder
	after := "told of after"
	if scale != 1 {
		after = fmt.Sprintf("told of after (rules %d times faster)", scale)
	}
	fmt.Fprintf(&b, "| alert | fault | %s | what it said |\n| --- | --- | ---: | --- |\n", after)
	for _, r := range alertTable.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.alert, r.fault, seconds(r.after), r.summary)
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}
