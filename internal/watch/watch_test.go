package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a full second.
var start = time.Unix(1_800_000_000, 0)

// lines are zones whose totals a test moves.
type lines struct {
	store.Reader

	mu    sync.Mutex
	zones []string
	// settings are those of the only zone, if they are not the usual ones.
	settings *zone.Settings
	listErr  error
	stats    map[string]line.Stats
	errs     map[string]error
	hung     map[string]bool
	asked    []string
	// takes is how long each answer takes.
	takes time.Duration
}

func (l *lines) Zones(context.Context) ([]zone.Settings, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []zone.Settings
	for _, id := range l.zones {
		all = append(all, zone.Defaults(id))
	}
	if l.settings != nil {
		all = []zone.Settings{*l.settings}
	}
	return all, l.listErr
}

func (l *lines) Observe(ctx context.Context, zoneID string) (line.Stats, error) {
	l.mu.Lock()
	l.asked = append(l.asked, zoneID)
	stats, err, hung, takes := l.stats[zoneID], l.errs[zoneID], l.hung[zoneID], l.takes
	l.mu.Unlock()
	if takes > 0 {
		<-time.After(takes)
	}
	if hung {
		<-ctx.Done()
		return line.Stats{}, ctx.Err()
	}
	return stats, err
}

// bench is a watch whose clock and zones a test moves.
type bench struct {
	*Watch
	store *lines
	now   time.Time
}

func newBench(zones ...string) *bench {
	b := &bench{now: start, store: &lines{
		zones: zones, stats: map[string]line.Stats{}, errs: map[string]error{}, hung: map[string]bool{},
	}}
	b.Watch = New(Options{Zones: b.store, Now: func() time.Time { return b.now }})
	return b
}

// second samples, and moves the clock on.
func (b *bench) second(t *testing.T) {
	t.Helper()
	b.runOnce(t.Context())
	b.now = b.now.Add(time.Second)
}

func (b *bench) latest(t *testing.T, zoneID string) Sample {
	t.Helper()
	s, ok := b.Latest(zoneID)
	if !ok {
		t.Fatalf("zone %s has no sample", zoneID)
	}
	return s
}

func TestSample(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	b.store.stats["a"] = line.Stats{
		State: line.State{
			Waiting: 900, Released: 70, Live: 50, InWindow: 15, InMinute: 140, WindowLimit: 60,
		},
		EstimateMillis: 61_000, LowMillis: 52_000, HighMillis: 75_000,
	}
	b.second(t)
	want := Sample{
		At: start.UnixMilli(), Store: StoreOK,
		Waiting: 900, Released: 70, Overdue: 20, InWindow: 15, WindowLimit: 60, InMinute: 140, PerMinute: 600,
		Mode: zone.ModeQueue, Use: 0.25, EstimateMillis: 61_000, EstimateLowMillis: 52_000, EstimateHighMillis: 75_000,
	}
	if got := b.latest(t, "a"); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	last := 0
	for settings, stats := range b.Last() {
		last++
		if !settings.Equal(zone.Defaults("a")) || !reflect.DeepEqual(stats, b.store.stats["a"]) {
			t.Errorf("it was made of %+v and %+v", settings, stats)
		}
	}
	if last != 1 {
		t.Errorf("%d zones were seen", last)
	}
	if _, ok := b.Latest("b"); ok {
		t.Error("a zone that does not exist has a sample")
	}
}

// TestRates: over the last 60 s, scaled while there are fewer.
func TestRates(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	var total int64
	step := func(perSecond int64) Sample {
		total += perSecond
		b.store.stats["a"] = line.Stats{State: line.State{InMinute: 310}, Totals: line.Totals{
			Joined: 10 * total, Admitted: 5 * total, Left: 2 * total, Swept: total, Restored: 3 * total, Polls: 20 * total,
		}}
		b.Refused = func(string) int64 { return 4 * total }
		b.second(t)
		return b.latest(t, "a")
	}
	total = 1_000_000 // the store has been at it for long
	if s := step(0); s.RateSeconds != 0 || s.JoinsPerMinute != 0 {
		t.Errorf("rates from one reading: %+v", s)
	}
	for second := int64(1); second <= 59; second++ {
		s := step(1)
		if s.RateSeconds != second || s.JoinsPerMinute != 600 || s.AdmittedPerMinute != 300 ||
			s.DeparturesPerMinute != 120 || s.PollsPerSecond != 20 || s.SweptPerMinute != 60 || s.RefusedPerMinute != 240 || s.Restored != 3*second {
			t.Fatalf("after %d s of the same: %+v", second, s)
		}
	}
	for range 60 {
		step(1)
	}
	for second := range int64(60) {
		// Twice as many from now on: the minute fills with them.
		want := float64(600 + 10*(second+1))
		if s := step(2); s.RateSeconds != 60 || s.JoinsPerMinute != want {
			t.Fatalf("%d s after the change: %+v, want %v joins", second+1, s, want)
		}
	}
	if s := step(2); s.AdmittedPerMinute != 310 {
		t.Errorf("%v admitted in a minute, of which the store knows 310", s.AdmittedPerMinute)
	}
}

// TestWaits are those of the last minute only.
func TestWaits(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	waits := make([]int64, window.WaitBuckets)
	waits[window.WaitBucket(600_000)] = 1_000_000 // before anybody watched
	admit := func(n, millis int64) Sample {
		waits[window.WaitBucket(millis)] += n
		b.store.stats["a"] = line.Stats{Waits: slices.Clone(waits)}
		b.second(t)
		return b.latest(t, "a")
	}
	near := func(millis, want int64) bool { return math.Abs(float64(millis-want)) < float64(want)/8 }
	if s := admit(0, 0); s.WaitCount != 0 || s.WaitP50Millis != 0 {
		t.Errorf("of nobody: %+v", s)
	}
	admit(60, 10_000)
	admit(30, 20_000)
	if s := admit(10, 100_000); s.WaitCount != 100 || !near(s.WaitP50Millis, 10_000) || !near(s.WaitP95Millis, 100_000) {
		t.Errorf("of a hundred: %+v", s)
	}
	for range 57 {
		admit(0, 0)
	}
	if s := admit(0, 0); s.WaitCount != 40 || !near(s.WaitP50Millis, 20_000) {
		t.Errorf("61 s after the first: %+v", s)
	}
	waits = make([]int64, 1) // the store has begun anew
	waits[0] = 5
	if s := admit(0, 0); s.WaitCount != 15 || s.WaitP50Millis == 0 {
		t.Errorf("after a loss: %+v", s)
	}
	for range 61 {
		admit(0, 0)
	}
	if s := admit(0, 0); s.WaitCount != 0 || s.WaitP95Millis != 0 {
		t.Errorf("a minute later: %+v", s)
	}
}

// TestCountersThatBeginAnew make no rate negative, and count from there.
func TestCountersThatBeginAnew(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	set := func(joined int64) Sample {
		b.store.stats["a"] = line.Stats{Totals: line.Totals{Joined: joined}}
		b.second(t)
		return b.latest(t, "a")
	}
	set(1000)
	set(1010)
	if s := set(3); s.JoinsPerMinute != 300 { // 10 in 2 s, and then a loss
		t.Errorf("at the loss: %+v", s)
	}
	if s := set(8); s.JoinsPerMinute != 300 { // 15 in 3 s
		t.Errorf("after the loss: %+v", s)
	}
}

// TestGaps: while the store fails there are samples that say so, and since when;
// after more than a minute of that the rates begin anew.
func TestGaps(t *testing.T) {
	t.Parallel()
	b := newBench("a", "b")
	b.store.stats["a"] = line.Stats{State: line.State{Waiting: 7}, Totals: line.Totals{Joined: 10}}
	b.second(t)
	b.second(t)
	since := b.now.UnixMilli()
	b.store.errs["a"] = line.ErrStoreUnavailable
	for range 3 {
		b.second(t)
		want := Sample{At: b.now.UnixMilli() - 1000, Store: StoreFailing, FailingSince: since}
		if s := b.latest(t, "a"); s != want {
			t.Fatalf("got %+v, want %+v", s, want)
		}
		if s := b.latest(t, "b"); !s.Known() {
			t.Fatalf("a zone of another node fails too: %+v", s)
		}
	}
	delete(b.store.errs, "a")
	b.store.stats["a"] = line.Stats{State: line.State{Waiting: 8}, Totals: line.Totals{Joined: 20}}
	b.second(t)
	if s := b.latest(t, "a"); s.Waiting != 8 || s.RateSeconds != 5 || s.JoinsPerMinute != 120 || s.FailingSince != 0 {
		t.Errorf("after a short gap: %+v", s)
	}
	b.store.errs["a"] = line.ErrStoreUnavailable
	for range 61 {
		b.second(t)
	}
	delete(b.store.errs, "a")
	b.second(t)
	if s := b.latest(t, "a"); s.RateSeconds != 0 || s.JoinsPerMinute != 0 {
		t.Errorf("after a gap of a minute: %+v", s)
	}
	if n := len(b.History("a")); n != 68 {
		t.Errorf("%d samples of 68 s", n)
	}
}

// TestClock: a store whose clock is 10 s ahead, and then does not answer.
func TestClock(t *testing.T) {
	t.Parallel()
	b := newBench("Z")
	if _, ok := b.Clock("Z"); ok {
		t.Error("there is a clock before anybody was asked")
	}
	ahead := start.Add(10 * time.Second)
	b.store.stats["Z"] = line.Stats{State: line.State{NowMillis: ahead.UnixMilli()}}
	b.runOnce(t.Context())
	b.now = b.now.Add(700 * time.Millisecond)
	for range 2 {
		if now, ok := b.Clock("Z"); !ok || !now.Equal(ahead.Add(b.now.Sub(start))) {
			t.Errorf("the store's clock says %v, %v; this one %v", now, ok, b.now)
		}
		b.now = b.now.Add(time.Minute)
		b.store.errs["Z"] = errors.New("away")
		b.runOnce(t.Context())
	}
}

// TestListThatFails: the zones are there, and their store is not.
func TestListThatFails(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	b.second(t)
	b.store.listErr = line.ErrStoreUnavailable
	b.second(t)
	if s := b.latest(t, "a"); s.Known() || s.FailingSince != start.UnixMilli()+1000 {
		t.Errorf("%+v", s)
	}
	for settings := range b.Last() {
		t.Errorf("last seen: %+v", settings)
	}
}

// TestZonesThatAreGone are forgotten, and one of the same name begins anew.
func TestZonesThatAreGone(t *testing.T) {
	t.Parallel()
	b := newBench("a", "b", "c")
	b.second(t)
	b.store.zones = []string{"b", "c"}
	b.store.errs["c"] = fmt.Errorf("zones: %w", line.ErrZoneDeleted)
	b.second(t)
	if got := slices.Collect(maps.Keys(b.zones)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("zones are %v", got)
	}
	if b.History("a") != nil {
		t.Error("a zone that is gone has a history")
	}
	b.store.zones = []string{"a", "b"}
	b.second(t)
	if n := len(b.History("a")); n != 1 {
		t.Errorf("%d samples of a zone that was made anew", n)
	}
}

// TestAnHourIsKept, oldest first, and no more memory than that.
func TestAnHourIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // 7,300 rounds, none of which a busy machine may end too soon
		b := newBench("a")
		for i := range int64(2*Kept + 100) {
			b.store.stats["a"] = line.Stats{State: line.State{Waiting: i}}
			b.second(t)
		}
		all := b.History("a")
		if len(all) != Kept {
			t.Fatalf("%d samples", len(all))
		}
		for i, s := range all {
			if want := int64(Kept + 100 + i); s.Waiting != want || s.At != start.UnixMilli()+1000*want {
				t.Fatalf("sample %d is %+v", i, s)
			}
		}
	})
}

// TestClockThatIsSetBack: the history stays in order.
func TestClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	for range 100 {
		b.second(t)
	}
	b.now = start.Add(50 * time.Second)
	b.second(t)
	all := b.History("a")
	if len(all) != 51 || !slices.IsSortedFunc(all, func(x, y Sample) int { return int(x.At - y.At) }) {
		t.Errorf("%d samples: %+v", len(all), all)
	}
	b.second(t)
	if s := b.latest(t, "a"); s.RateSeconds != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTooManyZones: those that were first stay.
func TestTooManyZones(t *testing.T) {
	t.Parallel()
	b := newBench("zz")
	b.second(t)
	for i := range MaxZones + 10 {
		b.store.zones = append(b.store.zones, fmt.Sprintf("zone-%04d", i))
	}
	b.second(t)
	b.second(t)
	sampled := 0
	for id, z := range b.zones {
		if _, ok := b.Latest(id); ok {
			sampled++
		}
		if z.at.IsZero() {
			t.Errorf("%s is not observed", id)
		}
	}
	if sampled != MaxZones {
		t.Errorf("there are samples of %d zones", sampled)
	}
	if n := len(b.History("zz")); n != 3 {
		t.Errorf("the first zone has %d samples", n)
	}
}

// TestHungZones do not keep the others from being sampled: once it is known that
// they hang, the others are asked first.
func TestHungZones(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		for i := range 40 {
			id := fmt.Sprintf("hung-%02d", i)
			b.store.zones, b.store.hung[id] = append(b.store.zones, id), true
		}
		b.store.zones = append(b.store.zones, "well")
		began := time.Now()
		b.second(t)
		if took := time.Since(began); took != roundTimeout {
			t.Errorf("the round took %v", took)
		}
		b.second(t)
		b.store.asked = nil
		b.second(t)
		if s := b.latest(t, "well"); !s.Known() {
			t.Errorf("the zone that is well: %+v", s)
		}
		if i := slices.Index(b.store.asked, "well"); i < 0 || i >= workers {
			t.Errorf("it was asked as number %d", i)
		}
		if s := b.latest(t, "hung-39"); s.Known() {
			t.Errorf("a zone that hangs: %+v", s)
		}
	})
}

// TestService samples at every full second, and tells those who wait.
// TestZonesThatCameBack are asked again, though as many of a dead node as a round has time for come
// before them in the list.
func TestZonesThatCameBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 5 * workers {
			names = append(names, fmt.Sprintf("dead-%02d", i))
		}
		b := newBench(append(names, "well")...)
		for _, name := range names {
			b.store.hung[name] = true
		}
		b.store.errs["well"] = errors.New("away for a moment")
		for range 4 {
			b.second(t)
		}
		if s := b.latest(t, "well"); s.Known() {
			t.Fatalf("its store is away: %+v", s)
		}
		b.store.errs["well"] = nil
		for range 3 {
			b.second(t)
		}
		if s := b.latest(t, "well"); !s.Known() {
			t.Errorf("3 s after its store is back: %+v", s)
		}
	})
}

func TestService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lines{zones: []string{"a"}}
		w := New(Options{Zones: l})
		w.Start(t.Context())
		tick := int64(0)
		for range 10 {
			var err error
			if tick, err = w.Wait(t.Context(), tick); err != nil {
				t.Fatal(err)
			}
		}
		if tick != 10 {
			t.Errorf("10 rounds were the %dth", tick)
		}
		all := w.History("a")
		for i, s := range all {
			if i > 0 && s.At != all[i-1].At+1000 {
				t.Errorf("%d is followed by %d", all[i-1].At, s.At)
			}
		}
		if now := time.Now(); now.Nanosecond() != 0 {
			t.Errorf("the last round was at %v", now)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := w.Wait(impatient, tick); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := w.Wait(t.Context(), tick)
			ended <- err
		}()
		synctest.Wait()
		w.Stop()
		w.Stop()
		if err := <-ended; !errors.Is(err, ErrStopped) {
			t.Errorf("got %v", err)
		}
	})
}

// TestJSON has null for what is not known, and reads back as what it was.
func TestJSON(t *testing.T) {
	t.Parallel()
	full := Sample{
		Inside: 22, MaxInside: 23,
		At: start.UnixMilli(), Store: StoreOK, Waiting: 1, Released: 2, Overdue: 3, InWindow: 4, WindowLimit: 60, Burst: 5,
		InMinute: 6, PerMinute: 600, Mode: zone.ModeClosed, Use: 4.0 / 60, RateSeconds: 60, JoinsPerMinute: 7.1,
		AdmittedPerMinute: 8.2, DeparturesPerMinute: 9.3, SweptPerMinute: 10.4, PollsPerSecond: 11.5, RefusedPerMinute: 12.6, Restored: 12,
		WaitP50Millis: 13, WaitP95Millis: 14, WaitCount: 15, EstimateMillis: 16, EstimateLowMillis: 11, EstimateHighMillis: 21,
	}
	failing := Sample{At: start.UnixMilli(), Store: StoreFailing, FailingSince: start.UnixMilli() - 61_000}
	for _, s := range []Sample{full, failing, {At: start.UnixMilli(), Store: StoreOK, Mode: zone.ModeOpen}} {
		row := NewColumns([]Sample{s}, 1)
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var arrays map[string][]any
		if err := json.Unmarshal(b, &arrays); err != nil {
			t.Fatal(err)
		}
		null, fields := 0, map[string]any{"at": row.Start}
		for name, of := range arrays {
			if fields[name] = of[0]; of[0] == nil {
				null++
			}
		}
		one, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		var got Sample
		if err := json.Unmarshal(one, &got); err != nil || got != s {
			t.Errorf("%s reads as %+v, %v", one, got, err)
		}
		want := map[bool]int{s == full: 1, !s.Known(): 27, s.Known() && s != full: 15}[true]
		if null != want || len(fields) != len(columns) {
			t.Errorf("%d of %d are null, want %d of %d: %s", null, len(fields), want, len(columns), b)
		}
	}
}

// TestStalled: nobody has been admitted for a minute in which somebody could have been.
func TestStalled(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	in := func(seconds int, s line.State) {
		t.Helper()
		for i := range seconds {
			b.store.stats["a"] = line.Stats{State: s}
			b.second(t)
			if b.latest(t, "a").Stalled {
				t.Fatalf("stalled after %d s of %+v", i, s)
			}
		}
	}
	stalls := func() {
		t.Helper()
		in(60, line.State{Waiting: 5, Released: 5, Live: 5})
		b.second(t)
		if !b.latest(t, "a").Stalled {
			t.Error("nobody is let in for a minute, and it is not stalled")
		}
		if all := b.History("a"); len(all) == 0 {
			t.Error("no history")
		}
	}
	in(90, line.State{}) // nobody waits
	stalls()
	in(90, line.State{Waiting: 5, Live: 5, OpensAtMillis: 1}) // people gather
	stalls()
	in(90, line.State{Waiting: 5, Released: 5}) // all absent
	stalls()
	in(90, line.State{Waiting: 5, Live: 5, InMinute: 1})
	b.store.stats["a"] = line.Stats{State: line.State{Waiting: 5, Live: 5}}
	if b.second(t); !b.latest(t, "a").Stalled {
		t.Error("the last was let in a minute ago, and it is not stalled")
	}
	b.store.errs["a"] = line.ErrStoreUnavailable
	b.second(t)
	delete(b.store.errs, "a")
	stalls()
	for _, settings := range []zone.Settings{
		{PerMinute: 0, Mode: zone.ModeQueue}, {PerMinute: 1, Mode: zone.ModeOpen}, {PerMinute: 1, Mode: zone.ModeQueue, MaxInside: 3},
	} {
		settings.ZoneID = "a"
		b.store.settings = &settings
		in(90, line.State{Waiting: 5, Live: 5, Inside: 3})
		b.store.settings = nil
		stalls()
	}
}

// TestExceeded: a second with more admissions than the limit allows is counted, except while what a higher limit allowed still counts.
func TestExceeded(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	counted := 0
	b.Exceeded = func(string) { counted++ }
	in := func(want, seconds int, settings zone.Settings, s line.State) {
		t.Helper()
		settings.ZoneID = "a"
		b.store.settings, b.store.stats["a"], counted = &settings, line.Stats{State: s}, 0
		for range seconds {
			b.second(t)
		}
		if counted != want {
			t.Errorf("%d s with %+v count as %d, want %d", seconds, s, counted, want)
		}
	}
	limit := zone.Settings{PerMinute: 600, Burst: 10, Mode: zone.ModeQueue}
	in(0, 30, limit, line.State{WindowLimit: 60, InWindow: 71}) // nobody knows what the limit was a minute ago
	in(0, 40, limit, line.State{WindowLimit: 60, InWindow: 70, InMinute: 600})
	in(0, 1, limit, line.State{WindowLimit: 60, InWindow: 71})
	in(1, 1, limit, line.State{WindowLimit: 60, InMinute: 601})
	in(1, 1, limit, line.State{WindowLimit: 60, InMinute: 600})
	higher := zone.Settings{PerMinute: 1200, Burst: 10, Mode: zone.ModeQueue}
	in(0, 1, limit, line.State{WindowLimit: 60, InMinute: 700}) // raised between the settings and the line
	in(0, 9, higher, line.State{WindowLimit: 120, InWindow: 130, InMinute: 1200})
	in(5, 71, limit, line.State{WindowLimit: 60, InWindow: 130}) // the last of which the next second will tell
	open := zone.Settings{PerMinute: 1, Mode: zone.ModeOpen}
	in(0, 9, open, line.State{WindowLimit: 1, InWindow: 99, InMinute: 99})
	in(0, 65, limit, line.State{WindowLimit: 60, InMinute: 800})
}

// TestColumns: a row for each second, null where nothing is known.
func TestColumns(t *testing.T) {
	t.Parallel()
	b := newBench("a")
	sample := func(waiting int64) {
		b.store.stats["a"] = line.Stats{State: line.State{Waiting: waiting}}
		b.second(t)
	}
	sample(1)
	sample(2)
	b.now = b.now.Add(2 * time.Second) // two rounds were missed
	b.store.errs["a"] = line.ErrStoreUnavailable
	sample(0)
	delete(b.store.errs, "a")
	sample(3)
	type columns struct {
		Store          []*string  `json:"store"`
		FailingSince   []*int64   `json:"failingSince"`
		Waiting        []*int64   `json:"waiting"`
		JoinsPerMinute []*float64 `json:"joinsPerMinute"`
	}
	for _, tt := range []struct {
		seconds, rows int
		first         int64
	}{{3600, 6, 1}, {6, 6, 1}, {5, 5, 2}, {1, 1, 3}, {0, 0, 0}} {
		c := NewColumns(b.History("a"), tt.seconds)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got columns
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if c.Len() != tt.rows || len(got.Waiting) != tt.rows || len(got.JoinsPerMinute) != tt.rows {
			t.Fatalf("%d seconds: %d rows: %s", tt.seconds, c.Len(), text)
		}
		if tt.rows > 0 && (*got.Waiting[0] != tt.first || c.Start != start.UnixMilli()+int64(6-tt.rows)*1000) {
			t.Errorf("%d seconds begin at %d with %s", tt.seconds, c.Start, text)
		}
		if tt.rows < 6 {
			continue
		}
		if got.Store[2] != nil || *got.Store[4] != StoreFailing || got.Waiting[4] != nil || *got.Waiting[5] != 3 ||
			*got.FailingSince[4] != start.UnixMilli()+4000 || got.JoinsPerMinute[0] != nil || got.JoinsPerMinute[1] == nil {
			t.Errorf("%s", text)
		}
	}
	if text, err := json.Marshal(NewColumns(nil, 60)); err != nil || !strings.Contains(string(text), `"waiting":[]`) {
		t.Errorf("of nothing: %s, %v", text, err)
	}
}

// TestZonesThatRest are asked in one of five rounds, each zone in its own, unless somebody looks at them or they fail. Meanwhile the samples
// go on.
func TestZonesThatRest(t *testing.T) {
	t.Parallel()
	b := newBench("a", "b", "c", "d", "e", "fails", "shown", "visited")
	b.Rests = func(zoneID string) bool { return zoneID != "visited" }
	b.store.errs["fails"] = line.ErrStoreUnavailable
	b.second(t)
	b.store.asked = nil
	for range 10 {
		_, _ = b.Latest("shown")
		b.second(t)
	}
	asked := map[string]int{}
	for _, id := range b.store.asked {
		asked[id]++
	}
	want := map[string]int{"a": 2, "b": 2, "c": 2, "d": 2, "e": 2, "fails": 10, "shown": 10, "visited": 10}
	if !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	if samples := b.History("a"); len(samples) != 11 || samples[10].At != start.Add(10*time.Second).UnixMilli() || !samples[10].Known() {
		t.Errorf("%d samples of one that rests: %+v", len(samples), samples)
	}
}
