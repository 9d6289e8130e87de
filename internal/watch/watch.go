package watch

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// every is how often the zones are sampled.
	every = time.Second
	// roundTimeout ends a round before the next begins, callTimeout a call
	// when a visitor's would be given up, too.
	roundTimeout = 900 * time.Millisecond
	callTimeout  = 400 * time.Millisecond
	// workers is how many zones are asked at a time: enough that a dead node's
	// zones do not keep those of others out, few enough to be no load.
	workers = 16
	// restEvery is in how many rounds a zone that rests is asked once.
	restEvery = 5
	// memory is for how long what a limit allowed before it was lowered is no overrun: the minute that is counted, and one round of
	// a zone that rests.
	memory = time.Minute + restEvery*every
	// MaxZones is of how many zones samples are kept. Those that are known first stay. The others are observed, too, but of
	// them there is no sample until some are gone.
	MaxZones = 500
)

// ErrStopped: the watch was stopped, and no further round will come.
var ErrStopped = errors.New("watch: stopped")

// Zones are what is observed: *zones.Zones.
type Zones interface {
	store.Reader
	Observe(ctx context.Context, zoneID string) (line.Stats, error)
}

// Options of a Watch. Zones is required.
type Options struct {
	Zones Zones
	// Rests reports whether a zone may be asked in one of restEvery rounds only, as far as visitors go. May be nil: none may.
	Rests func(zoneID string) bool
	// Refused counts the requests of a zone that this server has refused. May be nil.
	Refused func(zoneID string) int64
	// Exceeded is called for each second in which a zone's log has more admissions than its limit allows. May be nil.
	Exceeded func(zoneID string)
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Watch observes all zones, those that rest less often. Its methods may be called from any goroutine.
type Watch struct {
	Options

	mu    sync.RWMutex
	zones map[string]*track
	// tick counts the complete rounds; next is closed when there is one more.
	tick int64
	next chan struct{}
	// full: the log has said that there are too many zones.
	full bool

	// stop is closed by Stop.
	stop    chan struct{}
	stopped sync.Once
	rounds  background.Group
}

// track is what is kept of one zone.
type track struct {
	// sampled: the zone is one of the first MaxZones.
	sampled bool
	meter   meter
	history history
	// failingSince is 0 while the store answers; Unix milliseconds.
	failingSince int64
	// enterableSince is since when, in each second, somebody waited who might have been admitted, in Unix milliseconds; 0
	// if nobody does now.
	enterableSince int64
	// asked is the round in which the store was asked last.
	asked int64
	// seen is what the latest sample was made of, unless the store is failing.
	seen seen
	// at is when the zone was last heard.
	at time.Time
	// shownAt is when somebody last looked at the samples, in Unix milliseconds.
	shownAt atomic.Int64
	// exceeds: the second before the latest had more admissions than the limit allows.
	exceeds bool
}

// seen is what a sample is made from.
type seen struct {
	settings zone.Settings
	stats    line.Stats
}

// New returns a watch that does not run yet.
func New(o Options) *Watch {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Watch{Options: o, zones: make(map[string]*track), next: make(chan struct{}), stop: make(chan struct{})}
}

// Start samples once, and then in the background at every full second until
// Stop. The rounds have the values of ctx, and end at Stop, not with ctx. To be
// called once.
func (w *Watch) Start(ctx context.Context) {
	w.runOnce(ctx)
	w.rounds.Start(ctx, w.loop)
}

func (w *Watch) loop(ctx context.Context) {
	for {
		now := w.Now()
		wait := time.NewTimer(now.Truncate(every).Add(every).Sub(now))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
			w.runOnce(ctx)
		}
	}
}

// Stop ends the sampling and everybody's Wait, and returns when the round under
// way has ended. It may be called more than once.
func (w *Watch) Stop() {
	w.stopped.Do(func() { close(w.stop) })
	w.rounds.Stop()
}

// Latest returns the newest sample of a zone, at most two seconds old; false for one that is not known or has none yet. In the
// first two seconds that somebody looks at a zone that rested, the figures are up to six seconds old.
func (w *Watch) Latest(zoneID string) (Sample, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if t := w.zones[zoneID]; t != nil {
		t.shownAt.Store(w.Now().UnixMilli())
		if last := t.history.last(); last != nil {
			s := *last
			s.Stalled = t.stalled(&s)
			return s, true
		}
	}
	return Sample{}, false
}

// History returns the samples of the last hour, oldest first, at most one a
// second and 3,600. Seconds in which nothing was read are missing; those of a zone that rested are as the one before.
func (w *Watch) History(zoneID string) []Sample {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if t := w.zones[zoneID]; t != nil {
		t.shownAt.Store(w.Now().UnixMilli())
		return t.history.samples()
	}
	return nil
}

// Clock returns what the clock of a zone says now, reckoned from the latest answer: it may be off by as long as that
// answer took. While the store is away it goes on by this server's clock. ok is false if there was no answer yet.
func (w *Watch) Clock(zoneID string) (now time.Time, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	t := w.zones[zoneID]
	if t == nil || t.seen.stats.State.NowMillis == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(t.seen.stats.State.NowMillis).Add(w.Now().Sub(t.at)), true
}

// Last returns what the latest samples were made from, all of one round, ordered by zone id. It does not ask the store, so
// it suits callers that ask often, such as the gauges. A zone whose store is failing is left out. The caller must not
// change the Waits.
func (w *Watch) Last() iter.Seq2[zone.Settings, line.Stats] {
	w.mu.RLock()
	all := make([]seen, 0, len(w.zones))
	for _, id := range slices.Sorted(maps.Keys(w.zones)) {
		if t := w.zones[id]; t.failingSince == 0 && t.history.last() != nil {
			all = append(all, t.seen)
		}
	}
	w.mu.RUnlock()
	return func(yield func(zone.Settings, line.Stats) bool) {
		for _, s := range all {
			if !yield(s.settings, s.stats) {
				return
			}
		}
	}
}

// Wait returns when a round newer than after is complete, with its number: 0
// waits for the first, and what Wait returned, for the next. It returns
// ErrStopped, or the error of ctx.
func (w *Watch) Wait(ctx context.Context, after int64) (tick int64, err error) {
	for {
		w.mu.RLock()
		tick, next := w.tick, w.next
		w.mu.RUnlock()
		if tick > after {
			return tick, nil
		}
		select {
		case <-next:
		case <-w.stop:
			return tick, ErrStopped
		case <-ctx.Done():
			return tick, ctx.Err()
		}
	}
}

// result is what was heard of one zone in a round.
type result struct {
	settings zone.Settings
	// group, 1 for failing zones, and before say whose turn it is first: see order.
	group  int
	before int64
	// rests: it is not asked in this round.
	rests bool
	asked bool
	at    time.Time
	stats line.Stats
	err   error
	// refused is what Refused says.
	refused int64
}

// runOnce samples every zone.
func (w *Watch) runOnce(ctx context.Context) {
	at := w.Now()
	limit, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	list, err := w.Zones.Zones(limit)
	results := w.order(list)
	if err == nil {
		w.ask(limit, results)
	}
	if ctx.Err() != nil {
		return // stopped: what failed says nothing of the store
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.keep(at, results)
	} else {
		for _, t := range w.zones {
			t.fail(at)
		}
	}
	w.tick++
	close(w.next)
	w.next = make(chan struct{})
}

// order returns the zones to ask, in order: the failing ones last. Of the others and of these, the zones that were not asked
// for longest come first: a round may not have time for all.
func (w *Watch) order(list []zone.Settings) []result {
	w.mu.RLock()
	defer w.mu.RUnlock()
	results := make([]result, 0, len(list))
	now := w.Now().UnixMilli()
	for i, s := range list {
		r := result{settings: s.InForce()}
		if t := w.zones[s.ZoneID]; t != nil {
			r.rests = w.Rests != nil && (w.tick+int64(i))%restEvery != 0 && t.failingSince == 0 && t.asked > 0 &&
				now-t.shownAt.Load() > restEvery*every.Milliseconds() && w.Rests(s.ZoneID)
			if r.before = t.asked; t.failingSince > 0 {
				r.group = 1
			}
		}
		results = append(results, r)
	}
	slices.SortStableFunc(results, func(a, b result) int {
		return cmp.Or(a.group-b.group, cmp.Compare(a.before, b.before))
	})
	return results
}

// ask asks the store for the state of the zones, until ctx ends.
func (w *Watch) ask(ctx context.Context, results []result) {
	var work errgroup.Group
	work.SetLimit(workers)
	for i := range results {
		work.Go(func() error {
			if ctx.Err() == nil && !results[i].rests {
				w.askOne(ctx, &results[i])
			}
			return nil
		})
	}
	_ = work.Wait() // no call returns an error
}

func (w *Watch) askOne(ctx context.Context, r *result) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r.asked = true
	r.stats, r.err = w.Zones.Observe(ctx, r.settings.ZoneID)
	r.at = w.Now()
	if w.Refused != nil {
		r.refused = w.Refused(r.settings.ZoneID)
	}
}

// keep remembers what a round has heard. The caller holds mu.
func (w *Watch) keep(at time.Time, results []result) {
	before, sampled := w.zones, 0
	w.zones = make(map[string]*track, len(results))
	for i := range results {
		if t := before[results[i].settings.ZoneID]; t != nil && t.sampled {
			sampled++
		}
	}
	for i := range results {
		r := &results[i]
		t := before[r.settings.ZoneID]
		if errors.Is(r.err, line.ErrZoneUnknown) || errors.Is(r.err, line.ErrZoneDeleted) {
			continue // gone since the list was read
		}
		if t == nil {
			t = &track{}
		}
		if !t.sampled && sampled < MaxZones {
			t.sampled = true
			sampled++
		}
		w.zones[r.settings.ZoneID] = t
		if r.asked {
			t.asked = w.tick + 1
		}
		switch {
		case r.rests:
			t.rest(at)
		case !r.asked && t.failingSince == 0:
			// The round was too short for it: a gap, and no failure.
		case !r.asked, r.err != nil:
			t.fail(at)
		default:
			was := t.exceeds
			if t.add(at, r); t.exceeds && w.Exceeded != nil {
				w.Exceeded(r.settings.ZoneID)
			}
			if t.exceeds && !was {
				w.Logger.Error("more were admitted than the limit allows", "zone", r.settings.ZoneID,
					"inWindow", r.stats.State.InWindow, "windowLimit", r.stats.State.WindowLimit,
					"inMinute", r.stats.State.InMinute, "perMinute", r.settings.PerMinute)
			}
		}
	}
	if full := sampled >= MaxZones; full != w.full {
		w.full = full
		if full {
			w.Logger.Warn("samples are kept of as many zones as may be: further ones have no rates, no gauges and no history", "zones", MaxZones)
		}
	}
}

func (t *track) fail(at time.Time) {
	second := at.Truncate(every).UnixMilli()
	if t.failingSince == 0 || t.failingSince > second {
		t.failingSince = second
	}
	t.enterableSince = 0
	if !t.sampled {
		return
	}
	t.history.add(Sample{At: second, Store: StoreFailing, FailingSince: t.failingSince})
}

// rest adds a sample that is as the one before.
func (t *track) rest(at time.Time) {
	if last := t.history.last(); last != nil {
		s := *last
		s.At = at.Truncate(every).UnixMilli()
		t.history.add(s)
	}
}

// stalled reports whether nobody comes in, although somebody could.
func (t *track) stalled(latest *Sample) bool {
	return t.enterableSince > 0 && latest.InMinute == 0 && latest.At-t.enterableSince >= span.Milliseconds()
}

func (t *track) add(at time.Time, r *result) {
	now := r.stats.State
	t.failingSince, t.seen, t.at = 0, seen{r.settings, r.stats}, r.at
	if !t.sampled {
		return
	}
	s := Sample{
		At: at.Truncate(every).UnixMilli(), Store: StoreOK,
		Waiting: now.Waiting, Released: now.Released, Overdue: now.Released - now.Live,
		InWindow: now.InWindow, WindowLimit: now.WindowLimit, Burst: r.settings.Burst,
		InMinute: now.InMinute, PerMinute: r.settings.PerMinute, MostInSecond: r.stats.MostInSecond, Mode: r.settings.Mode,
		Use:    Use(now.InWindow, now.WindowLimit),
		Inside: now.Inside, MaxInside: r.settings.MaxInside,
		EstimateMillis: r.stats.EstimateMillis, EstimateLowMillis: r.stats.LowMillis, EstimateHighMillis: r.stats.HighMillis,
	}
	lets := r.settings.PerMinute > 0 && r.settings.Mode != zone.ModeOpen && now.OpensAtMillis == 0 && (s.MaxInside == 0 || s.Inside < s.MaxInside)
	if !lets || s.Waiting <= s.Overdue {
		t.enterableSince = 0
	} else if t.enterableSince == 0 || t.enterableSince > s.At {
		t.enterableSince = s.At
	}
	t.meter.read(r.at, &r.stats, r.refused, &s)
	t.exceeds = t.exceeded(&s)
	t.history.add(s)
}

// exceeded reports whether the second before latest had more admissions than any limit of the minute before it allows. latest is asked
// too, because settings are read before the line. What was set before this server began is not known, so it finds nothing in its first minute.
func (t *track) exceeded(latest *Sample) bool {
	s := t.history.last()
	if s == nil || s.InWindow <= s.WindowLimit+s.Burst && s.InMinute <= s.PerMinute {
		return false
	}
	from := s.At - memory.Milliseconds()
	all := append(t.history.samples(), *latest)
	if all[0].At > from {
		return false
	}
	var inWindow, inMinute int64
	for i := range all {
		if was := &all[i]; was.At >= from {
			if was.Mode == zone.ModeOpen {
				return false
			}
			inWindow, inMinute = max(inWindow, was.WindowLimit+was.Burst), max(inMinute, was.PerMinute)
		}
	}
	return s.InWindow > inWindow || s.InMinute > inMinute
}
