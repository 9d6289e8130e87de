package sweeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/robfig/cron/v3"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// DefaultEvery is half the default idle timeout: a silent visitor is gone 1.5
	// idle timeouts after the time at which it was told to poll, at the latest.
	DefaultEvery = 30 * time.Second
	// MinEvery is the shortest period that cron's schedule knows.
	MinEvery = time.Second
)

// Zones are what is swept: *zones.Zones.
type Zones interface {
	store.Reader
	store.Sweeper
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	// Overloaded returns the zones whose store could not answer all who asked, since it was last asked.
	Overloaded() []string
}

// Options of a Sweeper. Zones and Registerer are required.
type Options struct {
	Zones      Zones
	Registerer prometheus.Registerer
	// Every is the period, at least MinEvery and in whole seconds: cron rounds
	// down. DefaultEvery when 0.
	Every time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now. Its times must have a monotonic reading, or
	// be moved by a test.
	Now func() time.Time
}

// Sweeper sweeps all zones on a schedule.
type Sweeper struct {
	zones   Zones
	log     *slog.Logger
	now     func() time.Time
	metrics *metrics
	cron    *cron.Cron
	every   time.Duration
	// owner names this process in the leases of the store.
	owner string
	// watches are the zones that were seen in the latest run. Runs do not
	// overlap, so they need no lock.
	watches map[string]*watch
	// overloads are the times at which this server or the store of a zone was overloaded.
	overloads  overloads
	looks      sync.Mutex
	looked     time.Time // the last time at which this server checked whether it keeps up; looks guards it
	background background.Group
}

// New returns a sweeper that does not run yet.
func New(o Options) (*Sweeper, error) {
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Every < MinEvery {
		return nil, fmt.Errorf("sweeper: period %v, must be at least %v", o.Every, MinEvery)
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	m.period.Set(o.Every.Seconds())
	s := &Sweeper{
		zones: o.Zones, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now, metrics: m, every: o.Every,
		owner: uuid.NewString(), watches: make(map[string]*watch),
	}
	if s.now == nil {
		s.now = time.Now
	}
	l := cronLogger{s.log}
	// In this order: the other way round, a run that panics never gives back
	// the token that SkipIfStillRunning took, and no run follows.
	s.cron = cron.New(cron.WithLogger(l),
		cron.WithChain(cron.SkipIfStillRunning(l), cron.Recover(l)))
	return s, nil
}

// Start begins to sweep, the first time one period from now. The runs have the
// values of ctx, and end at Stop, not with ctx. To be called once.
func (s *Sweeper) Start(ctx context.Context) {
	s.looked = s.now()
	s.background.Start(ctx, s.schedule, background.Every(lookEvery, func(context.Context) { s.look() }))
}

// schedule has runs made until the context ends, and waits for the one in flight.
func (s *Sweeper) schedule(ctx context.Context) {
	s.cron.Schedule(cron.Every(s.every), cron.FuncJob(func() { s.tick(ctx) }))
	s.cron.Start()
	<-ctx.Done()
	<-s.cron.Stop().Done()
}

// Stop ends the sweeping: no further run begins, and the one in flight ends
// after the batch it is in. Stop waits for it. It may be called more than once,
// and need not be called for a sweeper that was not started.
func (s *Sweeper) Stop() { s.background.Stop() }

// tick makes a run. It looks first: in a process that stood still, nobody could poll, and the run may come before the look that is due.
func (s *Sweeper) tick(ctx context.Context) {
	s.look()
	s.runOnce(ctx)
}

// run is the tally of one run.
type run struct {
	longest time.Duration
	failed  bool
}

// runOnce sweeps every zone that may be swept.
func (s *Sweeper) runOnce(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	begun := s.now()
	var r run
	s.sweepAll(ctx, &r)
	ended := s.now()
	s.metrics.seconds.Observe(ended.Sub(begun).Seconds())
	s.metrics.longestCall.Set(r.longest.Seconds())
	if !r.failed && ctx.Err() == nil {
		s.metrics.lastSuccess.Set(float64(ended.UnixMilli()) / 1000)
	}
}

func (s *Sweeper) sweepAll(ctx context.Context, r *run) {
	zones, err := s.zones.Zones(ctx)
	if err != nil {
		// No zone was looked at; the next look begins anew.
		clear(s.watches)
		s.failed(ctx, r, "", err)
		return
	}
	before := s.watches
	s.watches = make(map[string]*watch, len(zones))
	for _, z := range zones {
		if ctx.Err() != nil {
			return
		}
		w := before[z.ZoneID]
		if w == nil {
			w = &watch{}
		}
		if s.mayBeSwept(ctx, r, z, w) {
			s.sweepZone(ctx, r, z.ZoneID)
		}
	}
}

// mayBeSwept looks at the zone's clock just before a sweep. Only a zone whose store answers stays watched.
func (s *Sweeper) mayBeSwept(ctx context.Context, r *run, z zone.Settings, w *watch) bool {
	stats, err := s.zones.Stats(ctx, z.ZoneID)
	if err != nil {
		s.failed(ctx, r, z.ZoneID, err)
		return false
	}
	skip, jump := w.look(s.now(), stats.State.NowMillis, stats.State.LostAtMillis, z.IdleTimeout())
	s.watches[z.ZoneID] = w
	if jump > 0 {
		s.log.WarnContext(ctx, "the store's clock jumped forward: nobody is swept for one idle timeout",
			"zone", z.ZoneID, "jump", jump, "idleTimeout", z.IdleTimeout())
	}
	idle, now := z.IdleTimeout(), s.now()
	overloaded, longest := s.overloads.within(now, z.ZoneID, idle) > idle/mostOverloaded, max(leastHeld, mostHeld*idle)
	if held := w.hold(now, overloaded, longest); skip == "" && held > 0 {
		skip = skipOverload
		// Other servers do not know that visitors could not get through to this one.
		if err := s.zones.HoldSweeps(ctx, z.ZoneID, s.owner, min(held, idle+s.every)); err != nil {
			s.failed(ctx, r, z.ZoneID, err)
		}
	}
	if skip == "" {
		return true
	}
	s.metrics.skipped.WithLabelValues(skip).Inc()
	return false
}

// sweepZone sweeps one zone, batch by batch.
func (s *Sweeper) sweepZone(ctx context.Context, r *run, zoneID string) {
	removed := int64(0)
	for cursor := uint64(0); ctx.Err() == nil; {
		begun := s.now()
		batch, err := s.zones.Sweep(ctx, zoneID, s.owner, cursor)
		r.longest = max(r.longest, s.now().Sub(begun))
		if err != nil {
			s.failed(ctx, r, zoneID, err)
			break
		}
		if batch.Busy {
			s.metrics.skipped.WithLabelValues(skipBusy).Inc()
			break
		}
		removed += batch.Removed
		s.metrics.examined.Add(float64(batch.Examined))
		s.metrics.removed.Add(float64(batch.Removed))
		if cursor = batch.Next; cursor == 0 {
			break
		}
	}
	if removed > 0 {
		s.log.DebugContext(ctx, "swept", "zone", zoneID, "removed", removed)
	}
}

// failed records that a zone, or all with "", could not be swept. A zone that
// was deleted meanwhile and a run that was stopped have not failed.
func (s *Sweeper) failed(ctx context.Context, r *run, zoneID string, err error) {
	if ctx.Err() != nil || errors.Is(err, line.ErrZoneUnknown) || errors.Is(err, line.ErrZoneDeleted) {
		return
	}
	r.failed = true
	s.metrics.failures.Inc()
	s.log.WarnContext(ctx, "sweep failed", "zone", zoneID, "error", err)
}

// cronLogger has cron write to slog. What cron calls information (each wake-up,
// each run) is for debugging here.
type cronLogger struct{ log *slog.Logger }

func (l cronLogger) Info(msg string, kv ...any) {
	l.log.Debug("sweeper: cron", append([]any{"event", msg}, kv...)...)
}

func (l cronLogger) Error(err error, msg string, kv ...any) {
	l.log.Error("sweeper: a run failed", append([]any{"error", err, "event", msg}, kv...)...)
}
