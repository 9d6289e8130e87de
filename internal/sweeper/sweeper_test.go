package sweeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// batch is one answer of Sweep.
type batch struct {
	line.Sweep
	err error
}

// lines are the zones of a store, of which each sweep comes to what the test says. It writes down what it was asked.
type lines struct {
	*known
	kept       *parts.Store
	mu         sync.Mutex
	batches    map[string][]batch // by zone; {} when there are none left
	asked      []string           // "zone cursor"
	overloaded []string
	owners     map[string]bool
	held       []time.Duration
	onSweep    func(ctx context.Context)
}

// known are zones, under a name that no method has.
type known = zones.Zones

// newLines has zones with this idle timeout, in seconds.
func newLines(t *testing.T, now func() time.Time, idleSeconds int64, ids ...string) *lines {
	t.Helper()
	l := &lines{kept: parts.OpenStore(t, now, nil), batches: map[string][]batch{}, owners: map[string]bool{}}
	l.known = zones.New(zones.Options{Store: l.kept, Now: now})
	for _, id := range ids {
		l.set(t, id, idleSeconds)
	}
	return l
}

func (l *lines) set(t *testing.T, zoneID string, idleSeconds int64) {
	t.Helper()
	z := zone.Defaults(zoneID)
	z.IdleTimeoutSeconds = idleSeconds
	_, err := l.PutZone(t.Context(), z, nil, audit.By{})
	parts.Must(t, err)
}

// fail has the next look at a zone end with this.
func (l *lines) fail(err error) {
	first := true
	l.kept.Do(func(_ context.Context, call string) error {
		if call == "observe" && first {
			first = false
			return err
		}
		return nil
	})
}

func (l *lines) Overloaded() []string { return l.overloaded }

func (l *lines) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	if l.onSweep != nil {
		l.onSweep(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.owners[owner] = append(l.asked, fmt.Sprintf("%s %d", zoneID, cursor)), true
	left := l.batches[zoneID]
	if len(left) == 0 {
		return line.Sweep{}, nil
	}
	l.batches[zoneID] = left[1:]
	return left[0].Sweep, left[0].err
}

func (l *lines) HoldSweeps(_ context.Context, _, owner string, span time.Duration) error {
	l.owners[owner], l.held = true, append(l.held, span)
	return nil
}

// taken returns what was asked since the last time.
func (l *lines) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.asked
	l.asked = nil
	return asked
}

// harness is a sweeper whose clock the test moves.
type harness struct {
	*Sweeper
	*parts.Clock
	store *lines
	log   bytes.Buffer
}

func newHarness(t *testing.T, zones ...string) *harness {
	t.Helper()
	h := &harness{Clock: parts.NewClock()}
	h.store = newLines(t, h.Now, zone.DefaultIdleTimeoutSeconds, zones...)
	s, err := New(Options{
		Zones: h.store, Registerer: prometheus.NewPedanticRegistry(), Now: h.Now,
		Logger: slog.New(slog.NewTextHandler(&h.log, nil)),
	})
	parts.Must(t, err)
	h.Sweeper = s
	t.Cleanup(s.Stop)
	return h
}

// watched is a harness that has watched its zones for an idle timeout.
func watched(t *testing.T, zones ...string) *harness {
	t.Helper()
	h := newHarness(t, zones...)
	h.runOnce(t.Context())
	h.Forward(zone.DefaultIdleTimeoutSeconds * time.Second)
	if asked := h.store.taken(); len(asked) > 0 {
		t.Fatalf("swept at first sight: %q", asked)
	}
	return h
}

func (h *harness) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	if got := h.store.taken(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestRunOnceGoesThroughAllBatchesOfAllZones(t *testing.T) {
	h := watched(t, "a", "b")
	h.store.batches["a"] = []batch{
		{Sweep: line.Sweep{Next: 17, Examined: 5000, Removed: 300}},
		{Sweep: line.Sweep{Next: 9, Examined: 5000, Removed: 0}},
		{Sweep: line.Sweep{Next: 0, Examined: 12, Removed: 5}},
	}
	takes := []time.Duration{2 * time.Millisecond, 7 * time.Millisecond, time.Millisecond, 0}
	h.store.onSweep = func(context.Context) {
		h.Forward(takes[0])
		takes = takes[1:]
	}
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0", "a 17", "a 9", "b 0")
	if len(h.store.owners) != 1 {
		t.Errorf("owners %v, want one", h.store.owners)
	}
	for name, c := range map[string]struct {
		c    prometheus.Collector
		want float64
	}{
		"examined":     {h.metrics.examined, 10_012},
		"removed":      {h.metrics.removed, 305},
		"failures":     {h.metrics.failures, 0},
		"longest call": {h.metrics.longestCall, 0.007},
		"last success": {h.metrics.lastSuccess, float64(h.Now().UnixMilli()) / 1000},
	} {
		if got := testutil.ToFloat64(c.c); got != c.want {
			t.Errorf("%s = %v, want %v", name, got, c.want)
		}
	}
}

func TestBusyZoneIsLeftToTheOther(t *testing.T) {
	h := watched(t, "a", "b")
	h.store.batches["a"] = []batch{
		{Sweep: line.Sweep{Next: 17, Examined: 5000}},
		{Sweep: line.Sweep{Busy: true, Next: 17}},
	}
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0", "a 17", "b 0")
	if got := testutil.ToFloat64(h.metrics.skipped.WithLabelValues(skipBusy)); got != 1 {
		t.Errorf("skipped for busy = %v, want 1", got)
	}
}

func TestAFailureDoesNotStopTheOtherZones(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name   string
		setup  func(f *lines)
		asked  []string
		failed float64
	}{
		{"sweep fails", func(f *lines) { f.batches["a"] = []batch{{err: boom}} }, []string{"a 0", "b 0"}, 1},
		{"second batch fails", func(f *lines) {
			f.batches["a"] = []batch{{Sweep: line.Sweep{Next: 5}}, {err: boom}}
		}, []string{"a 0", "a 5", "b 0"}, 1},
		{"stats fail", func(f *lines) { f.fail(boom) }, []string{"b 0"}, 1},
		{"zone deleted meanwhile", func(f *lines) {
			f.fail(fmt.Errorf("x: %w", line.ErrZoneDeleted))
			f.batches["b"] = []batch{{err: fmt.Errorf("x: %w", line.ErrZoneUnknown)}}
		}, []string{"b 0"}, 0},
		{"no zones to be had", func(f *lines) {
			f.known = zones.New(zones.Options{Store: f.kept})
			f.kept.Fail(boom)
		}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := watched(t, "a", "b")
			h.metrics.lastSuccess.Set(0)
			tt.setup(h.store)
			h.runOnce(t.Context())
			h.wantAsked(t, tt.asked...)
			if got := testutil.ToFloat64(h.metrics.failures); got != tt.failed {
				t.Errorf("failures = %v, want %v", got, tt.failed)
			}
			if succeeded := testutil.ToFloat64(h.metrics.lastSuccess) != 0; succeeded != (tt.failed == 0) {
				t.Errorf("last success set: %v", succeeded)
			}
		})
	}
}

func TestLook(t *testing.T) {
	const idle = 60 * time.Second
	type look struct {
		after time.Duration // of this process's clock, since the look before
		store time.Duration // of the store's clock
		skip  string
		jump  time.Duration
		lost  int64 // the last loss that the store noticed
	}
	tests := []struct {
		name  string
		looks []look
	}{
		{"in step", []look{
			{0, 0, skipUnwatched, 0, 0},
			{30 * time.Second, 30 * time.Second, skipUnwatched, 0, 0},
			{30 * time.Second, 30 * time.Second, "", 0, 0},
			{30 * time.Second, 30 * time.Second, "", 0, 0},
		}},
		{"a little ahead is a slow answer", []look{
			{0, 0, skipUnwatched, 0, 0},
			{idle, idle + maxJump, "", 0, 0},
		}},
		{"a jump forward", []look{
			{0, 0, skipUnwatched, 0, 0},
			{idle, idle, "", 0, 0},
			{30 * time.Second, 91 * time.Second, skipJump, 61 * time.Second, 0},
			{30 * time.Second, 30 * time.Second, skipJump, 0, 0},
			{30 * time.Second, 30 * time.Second, "", 0, 0},
		}},
		{"a second jump begins anew", []look{
			{0, 0, skipUnwatched, 0, 0},
			{idle, idle + 6*time.Second, skipJump, 6 * time.Second, 0},
			{30 * time.Second, 40 * time.Second, skipJump, 10 * time.Second, 0},
			{30 * time.Second, 30 * time.Second, skipJump, 0, 0},
			{30 * time.Second, 30 * time.Second, "", 0, 0},
		}},
		{"a loss: an old copy knows nothing of the latest polls", []look{
			{0, 0, skipUnwatched, 0, 5},
			{idle, idle, "", 0, 5},
			{time.Second, time.Second, skipLoss, 0, 6},
			{idle - 1, idle - 1, skipLoss, 0, 6},
			{1, 1, "", 0, 6},
		}},
		{"backward makes nobody idle", []look{
			{0, 0, skipUnwatched, 0, 0},
			{idle, idle, "", 0, 0},
			{30 * time.Second, -time.Hour, "", 0, 0},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w watch
			now := time.Unix(1_800_000_000, 0)
			store := now.Add(time.Hour) // the two need not agree
			for i, l := range tt.looks {
				now, store = now.Add(l.after), store.Add(l.store)
				skip, jump := w.look(now, store.UnixMilli(), l.lost, idle)
				if skip != l.skip || jump != l.jump {
					t.Errorf("look %d: skip %q, jump %v; want %q, %v", i, skip, jump, l.skip, l.jump)
				}
			}
		})
	}
}

func TestClockJumpIsLoggedOnceAndConcernsItsZoneOnly(t *testing.T) {
	h := watched(t, "a", "b")
	h.store.set(t, "b", 5)
	h.store.kept.Say(func(s *line.State) { s.NowMillis += time.Minute.Milliseconds() })
	for range 3 {
		h.runOnce(t.Context())
		h.Forward(30 * time.Second)
	}
	// b's idle timeout is shorter, so it is swept sooner.
	h.wantAsked(t, "b 0", "a 0", "b 0")
	if n := strings.Count(h.log.String(), "jumped forward"); n != 2 {
		t.Errorf("logged %d times, want once for each zone:\n%s", n, h.log.String())
	}
	if got := testutil.ToFloat64(h.metrics.skipped.WithLabelValues(skipJump)); got != 3 {
		t.Errorf("skipped for a jump = %v, want 3", got)
	}
}

func TestAZoneThatCouldNotBeLookedAtIsWatchedAnew(t *testing.T) {
	h := watched(t, "a")
	h.store.fail(errors.New("away"))
	h.runOnce(t.Context())
	h.Forward(time.Hour)
	h.runOnce(t.Context())
	h.wantAsked(t)
	h.Forward(zone.DefaultIdleTimeoutSeconds * time.Second)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")
}

func TestWatchesOfGoneZonesAreForgotten(t *testing.T) {
	h := watched(t, "a", "b")
	parts.Must(t, h.store.DeleteZone(t.Context(), "a", audit.By{}))
	h.runOnce(t.Context())
	if got := slices.Collect(maps.Keys(h.watches)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("watches %q, want b's only", got)
	}
}

func TestRunOnceEndsBetweenBatchesWhenStopped(t *testing.T) {
	h := watched(t, "a", "b")
	h.metrics.lastSuccess.Set(0)
	ctx, cancel := context.WithCancel(t.Context())
	h.store.batches["a"] = []batch{{Sweep: line.Sweep{Next: 5, Removed: 2}}, {Sweep: line.Sweep{Next: 6}}}
	h.store.onSweep = func(context.Context) { cancel() }
	h.runOnce(ctx)
	h.wantAsked(t, "a 0")
	if got := testutil.ToFloat64(h.metrics.removed); got != 2 {
		t.Errorf("removed = %v, want 2: the batch that was under way counts", got)
	}
	if testutil.ToFloat64(h.metrics.lastSuccess) != 0 {
		t.Error("a run that was stopped counts as a success")
	}
	h.runOnce(ctx)
	h.wantAsked(t)
}

// scheduled returns a sweeper that, once started, sweeps every second of the
// bubble's clock, and its store.
func scheduled(t *testing.T) (*Sweeper, *lines) {
	t.Helper()
	l := newLines(t, time.Now, zone.MinIdleTimeoutSeconds, "a")
	s, err := New(Options{Zones: l, Registerer: prometheus.NewRegistry(), Every: time.Second})
	parts.Must(t, err)
	t.Cleanup(s.Stop)
	return s, l
}

// elapse lets the bubble's clock run.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestScheduleGoesOnAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := scheduled(t)
		runs := 0
		f.kept.Do(func(context.Context, string) error {
			if runs++; runs == 1 {
				panic("boom")
			}
			return nil
		})
		s.Start(t.Context())
		elapse(10 * time.Second)
		if runs < 9 {
			t.Errorf("%d runs in 10 s, want one a second", runs)
		}
	})
}

func TestRunsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := scheduled(t)
		release := make(chan struct{})
		f.onSweep = func(context.Context) { <-release }
		s.Start(t.Context())
		elapse(20 * time.Second)
		close(release)
		synctest.Wait()
		if got := f.taken(); len(got) != 1 {
			t.Errorf("%d sweeps while the first was under way, want 1", len(got))
		}
		elapse(2 * time.Second)
		if got := f.taken(); len(got) == 0 {
			t.Error("no sweep after the long one")
		}
	})
}

func TestStopWaitsForTheRunInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := scheduled(t)
		begun := make(chan struct{})
		ended := false
		f.batches["a"] = []batch{{Sweep: line.Sweep{Next: 1}}, {Sweep: line.Sweep{Next: 2}}}
		f.onSweep = func(ctx context.Context) {
			close(begun)
			<-ctx.Done()
			<-time.After(time.Second) // the store takes its time
			ended = true
		}
		s.Start(t.Context())
		<-begun
		s.Stop()
		if !ended {
			t.Error("Stop returned before the batch under way did")
		}
		if got := f.taken(); !slices.Equal(got, []string{"a 0"}) {
			t.Errorf("asked %q, want no batch after Stop", got)
		}
	})
}

func TestNewRefusesAPeriodThatCronDoesNotKnow(t *testing.T) {
	_, err := New(Options{Registerer: prometheus.NewRegistry(), Every: 900 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "at least 1s") {
		t.Errorf("New = %v", err)
	}
}

// TestWhoCannotGetThroughIsNotIdle: a server that was overloaded for more than a quarter of the
// idle timeout sweeps nobody, and keeps others from it, until that is long enough ago.
func TestWhoCannotGetThroughIsNotIdle(t *testing.T) {
	h := watched(t, "a")
	h.looked = h.Now()
	looks := func(n int, every time.Duration) {
		for range n {
			h.Forward(every)
			h.look()
		}
	}
	seconds := func(n int) { looks(n, lookEvery) }
	const idle = zone.DefaultIdleTimeoutSeconds
	looks(idle/mostOverloaded/3, 3*time.Second)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0") // three quarters of the time everybody got through

	looks(1, lookEvery+slow+1)
	h.runOnce(t.Context())
	h.wantAsked(t)
	if got := testutil.ToFloat64(h.metrics.skipped.WithLabelValues(skipOverload)); got != 1 {
		t.Errorf("skipped for overload = %v, want 1", got)
	}
	if want := idle*time.Second + DefaultEvery; !slices.Equal(h.store.held, []time.Duration{want}) {
		t.Errorf("others were held for %v, want %v", h.store.held, want)
	}
	seconds(idle)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")

	// A look that is late by less is none.
	looks(idle, lookEvery+slow)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")

	// A process that stood still was overloaded, also if it sweeps before it looks.
	h.Forward(idle * time.Second / 3)
	h.tick(t.Context())
	h.wantAsked(t)

	// Or the store did not answer, which the server itself had the time for.
	seconds(idle)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")
	h.store.overloaded = []string{"a"}
	seconds(idle/mostOverloaded + 1)
	h.runOnce(t.Context())
	h.wantAsked(t)

	// That holds for two idle timeouts, and then no more; and for another zone never.
	for range 3 {
		seconds(idle / 2)
		h.runOnce(t.Context())
		h.wantAsked(t)
	}
	seconds(idle / 2)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")
	h.store.overloaded = []string{"b"}
	seconds(idle)
	h.runOnce(t.Context())
	h.wantAsked(t, "a 0")

	h.store.overloaded = nil
	h.Forward(2 * longestMemory)
	h.overloads.add(h.Now(), time.Second, "a")
	if n := len(h.overloads.spans); n != 1 {
		t.Errorf("%d overloads are remembered, want 1", n)
	}
}

// TestAShortIdleTimeoutOutlastsAnOverload: the store answers the sweeper, but for 48 s after it lost all it leaves most polls
// of a zone with an idle timeout of 15 s unanswered. Nobody is swept before all had the time to get through.
func TestAShortIdleTimeoutOutlastsAnOverload(t *testing.T) {
	h := watched(t, "a")
	const idle, outage = 15, 48
	h.store.set(t, "a", idle)
	h.looked = h.Now()
	h.store.overloaded = []string{"a"}
	second := func() {
		h.Forward(lookEvery)
		h.tick(t.Context())
	}
	for range idle/mostOverloaded + 1 {
		second()
	}
	h.store.taken()
	for range outage {
		second()
	}
	h.store.overloaded = nil
	for range idle - idle/mostOverloaded - 1 {
		second()
	}
	h.wantAsked(t)
	second()
	h.wantAsked(t, "a 0")
}
