package zones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// interval is how often the settings are read anew while the store, or a node of it, does not answer: a call that hangs takes up
	// to 400 ms of the second within which a change must be in force everywhere. Else they are read every other time.
	interval = 450 * time.Millisecond
	// freshFor is how old the list of zones may be.
	freshFor = time.Second
	// seeksPerSecond is how often the store is asked for a zone that is not in a fresh list: another server may have
	// made it a moment ago. Requests for invented zones beyond that cost nothing, and a new zone is then unknown until
	// the list is read again.
	seeksPerSecond = 100
	// minGap is the shortest time between two readings of the list for requests that name an unknown zone. While the
	// store is away the list cannot become fresh, and each such request would read it.
	minGap = 100 * time.Millisecond
)

// sharedTimeout bounds a call that many callers share. It is longer than the stores' own time limits, and shorter than
// a visitor's client waits.
const sharedTimeout = 3 * time.Second

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// Know hears which zones this server knows, perhaps more than once, and Forget which one it no longer knows. Neither is called at the
	// same time as the other, nor twice at a time.
	Know(zoneIDs ...string)
	Forget(zoneID string)
	// Called measures a call to the store: how long it took, and how it ended.
	Called(call store.Call, took time.Duration, err error)
	// Judged takes in how good an estimate was that was told to a visitor who has been admitted since.
	Judged(zoneID string, j estimate.Judgement)
	// ClockAhead takes in by how much the zone's clock is ahead of this server's; negative if it is behind.
	ClockAhead(zoneID string, by time.Duration)
	// StoreFailing says whether the latest call to the zone's store failed.
	StoreFailing(zoneID string, failing bool)
	// Count counts one occurrence.
	Count(zoneID string, what Counted)
}

// Counted is what a Meter counts of a zone.
type Counted uint8

const (
	// Restored is a place that the store had lost and put back.
	Restored Counted = iota
	// Lost is a loss of a zone's data that its store has noticed.
	Lost
	// Forgotten is a departure that is remembered no longer, because so many departed lately.
	Forgotten
	// AdmittedLocally is a visitor whom this server let in by itself.
	AdmittedLocally
	// NumCounted is how many there are.
	NumCounted
)

// Options of a Zones. Store is required.
type Options struct {
	Store store.Store
	// Seeds are the zones to create when absent, valid and with distinct ids.
	Seeds []zone.Settings
	// SeedFresh has absent seeds begin with an empty window. It is right only for a store that cannot lose a zone
	// while this process runs.
	SeedFresh bool
	// DrawSeeds may be nil: then there are no draws.
	DrawSeeds DrawSeeds
	// Servers is how many servers share the store at most, this one included. Local admission divides the limits by it.
	// A value below 1 counts as 1.
	Servers int64
	// AnswerEarly has polls before their time be answered from memory, and Guard, which is required then, refuses those who
	// send too many of them. Else each poll goes to the store, as load tests and simulations want it.
	AnswerEarly bool
	Guard       *guard.Guard
	// Within bounds a visitor's call. 0 sets no bound: right for a store in this process, whose calls do not wait.
	Within time.Duration
	// Meter may be nil.
	Meter Meter
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Zones remembers the zones of a store, heals the store from memory, and answers visitors in an outage. It alone asks the
// store. Its methods may be called from any number of goroutines.
type Zones struct {
	store     store.Store
	seedFresh bool
	drawSeeds DrawSeeds
	meter     Meter
	log       *slog.Logger
	servers   int64
	deadlines deadlines
	now       func() time.Time
	// wall is the clock by which sessions are signed. It may be set while the server runs.
	wall func() time.Time
	// polls answers polls before their time, and guard refuses who sends too many of them.
	polls *pollCache
	guard *guard.Guard
	// began is when New was called.
	began time.Time

	// zones is replaced, never changed, so that a poll reads it without a lock.
	zones atomic.Pointer[map[string]*Zone]
	// generations counts the generations of all zones.
	generations atomic.Uint32
	// lines is in how many zones people wait, as counted once a second. departed is how many departures are remembered
	// of all zones, as counted twice a second.
	lines, departed atomic.Int64
	// refused, guarded by refusedMu, counts the refused in zones that are not known.
	refusedMu sync.Mutex
	refused   refusals

	// mu guards changes of zones, and the fields down to listErr.
	mu sync.Mutex
	// touched are zones that this server put or deleted while a list was being read. The list may be older than that
	// change, so what it says of these zones is ignored.
	touched map[string]struct{}
	// listedAt is when the store was asked for the latest list that was read completely. triedAt is when the latest
	// try to read the list ended, and listErr its error.
	listedAt, triedAt time.Time
	listErr           error

	reading, seeking background.Shared
	seeks            *rate.Limiter

	background background.Group
}

// New returns the zones of the seeds. Call Start before use and Stop
// after.
func New(o Options) *Zones {
	r := &Zones{
		store: o.Store, seedFresh: o.SeedFresh, drawSeeds: o.DrawSeeds,
		meter: o.Meter, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
		servers: max(1, o.Servers), deadlines: deadlines{within: o.Within}, touched: make(map[string]struct{}),
		seeks: rate.NewLimiter(seeksPerSecond, seeksPerSecond), guard: o.Guard,
	}
	if o.AnswerEarly {
		r.polls = newPollCache()
	}
	if r.meter == nil {
		r.meter = noMeter{}
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.wall = r.now
	r.began = r.now()
	zones := make(map[string]*Zone, len(o.Seeds))
	for _, s := range o.Seeds {
		zones[s.ZoneID] = r.newZone(s, false)
	}
	r.zones.Store(&zones)
	r.meter.Know(slices.Collect(maps.Keys(zones))...)
	return r
}

// Start reads the zones once and creates the seeds that are absent. Until Stop, the background goes on: it reads the
// zones, sends the store the changes that it did not take, probes stores that are away, and judges estimates. If the store is away, Start
// logs that and goes on. It is to be called once.
func (r *Zones) Start(ctx context.Context) {
	r.readAndLog(ctx)
	for _, z := range *r.zones.Load() { // what is over, before the first visitor shows it
		if z.seen.Load() && z.settings.Load().MaxInside > 0 {
			r.reportInside(ctx, z)
		}
	}
	r.background.Start(ctx,
		background.Every(interval, r.reread),
		background.Every(interval, r.recallAll),
		background.Every(sendEvery, r.sendAll),
		background.Every(ProbeEvery, r.probeAll),
		background.Every(reportInsideEvery, r.reportAllInside),
		background.Every(judgeEvery, r.judgeAll))
}

// RunOnce reads the settings of all zones, and tells the store who departed. After Start both are done again and again.
func (r *Zones) RunOnce(ctx context.Context) {
	r.readAndLog(ctx)
	for _, z := range *r.zones.Load() {
		r.recallOrLog(ctx, z)
	}
}

// Stop ends the background reading and waits for it.
func (r *Zones) Stop() { r.background.Stop() }

// Millis is this server's clock: the Unix milliseconds that the wall clock would show if nobody had set it since
// New was called.
func (r *Zones) Millis() int64 {
	return r.began.UnixMilli() + r.now().Sub(r.began).Milliseconds()
}

// millisOf is a time of the wall clock, such as that at which a session ends, on the clock of Millis.
func (r *Zones) millisOf(t time.Time) int64 { return r.Millis() + t.Sub(r.wall()).Milliseconds() }

// Known returns the zone if this server remembers it, else nil. It never asks the store.
func (r *Zones) Known(zoneID string) *Zone {
	return (*r.zones.Load())[zoneID]
}

// Settings are in force in a zone on this server: after each change another pointer. It is nil for a zone that is not known.
func (r *Zones) Settings(zoneID string) *zone.Settings {
	if z := r.Known(zoneID); z != nil {
		return z.Settings()
	}
	return nil
}

// Find returns a zone for a visitor's call. Its error says when to come back, if the store did not answer.
func (r *Zones) Find(ctx context.Context, zoneID string) (*Zone, error) {
	if z := r.Known(zoneID); z != nil {
		z.asked()
		return z, nil
	}
	z, err := r.find(r.deadlines.bound(ctx), zoneID)
	if unanswered(ctx, err) {
		err = r.later(nil, visitor{newcomer: true}, unavailable(err))
	}
	return z, err
}

// find returns a zone that is remembered or that the store has. It asks the store only if the zone is not remembered:
// for the list, if that is no longer fresh, and then for the zone, within seeksPerSecond. All who ask for a zone at the
// same time share one reading, so that a zone which was just made is found for all of them.
func (r *Zones) find(ctx context.Context, zoneID string) (*Zone, error) {
	if z := r.Known(zoneID); z != nil {
		return z, nil
	}
	err := r.freshen(ctx)
	for range 2 { // the first may share a reading that began before the zone was made
		if err == nil && r.Known(zoneID) == nil {
			err = r.seek(ctx, zoneID)
		}
	}
	if z := r.Known(zoneID); z != nil {
		return z, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("zones: %w: %q", line.ErrZoneUnknown, zoneID)
}

// seek takes in a zone that is not remembered, if the store has it, and if it may be asked now. The error is one of a store
// that does not answer.
func (r *Zones) seek(ctx context.Context, zoneID string) error {
	return r.share(ctx, &r.seeking, zoneID, func(ctx context.Context) error {
		if r.Known(zoneID) != nil || !r.seeks.AllowN(r.now(), 1) {
			return nil
		}
		s, err := r.readZone(ctx, zoneID)
		switch {
		case err == nil:
			r.remember(s, false)
		case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
			return nil
		}
		return err
	})
}

// Zones returns the settings of all zones that this server knows, ordered by id. It asks the store only if no list was
// ever read.
func (r *Zones) Zones(ctx context.Context) ([]zone.Settings, error) {
	r.mu.Lock()
	heard := !r.listedAt.IsZero()
	r.mu.Unlock()
	if !heard {
		if err := r.freshen(ctx); err != nil {
			return nil, err
		}
	}
	zones := *r.zones.Load()
	all := make([]zone.Settings, 0, len(zones))
	for _, id := range slices.Sorted(maps.Keys(zones)) {
		all = append(all, *zones[id].settings.Load())
	}
	return all, nil
}

// Zone returns a zone's settings as this server knows them: at most a second old while the store answers, else those
// that were seen last.
//
// Errors: line.ErrZoneUnknown; line.ErrStoreUnavailable when the zone is not
// remembered and the store cannot be asked.
func (r *Zones) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return zone.Settings{}, err
	}
	return *z.settings.Load(), nil
}

// putZone makes a change in the store. A zone that the store has lost is put back first. Else the change would create a
// new zone with an empty window.
func (r *Zones) putZone(ctx context.Context, s zone.Settings, was *zone.Settings, by audit.By) (bool, error) {
	z := r.Known(s.ZoneID)
	var before zone.Settings
	var err error
	if z != nil {
		before = *z.stored.Load()
		_, err = r.present(ctx, z)
		if errors.Is(err, line.ErrZoneDeleted) {
			r.forget(z)
		}
	}
	if z == nil || errors.Is(err, line.ErrZoneDeleted) && was == nil { // the operator makes it anew
		s, err = r.withRevoked(ctx, s)
	}
	if err != nil {
		return false, err
	}
	putBack := uint64(0)
	if z != nil {
		putBack = z.restored.Load()
	}
	created, err := r.write(ctx, s, was, by)
	if errors.Is(err, line.ErrZoneUnknown) && z != nil { // the store has lost a part of it
		if err = r.heal(ctx, z, putBack); err == nil {
			created, err = r.write(ctx, s, was, by)
		}
	}
	if errors.Is(err, line.ErrZoneChanged) {
		if present, readErr := r.readZone(ctx, s.ZoneID); readErr == nil {
			r.remember(present, false)
		}
	}
	if err != nil {
		return false, fmt.Errorf("zones: put zone: %w", err)
	}
	if z != nil && !created {
		r.changed(z, before, s, by) // first: else a change that an operator takes back would look like one that is lost
	}
	r.remember(s, created)
	return created, nil
}

// withRevoked returns the settings of a zone that is made. All admissions of one of that name that was deleted before are revoked:
// passes and sessions of it may still be shown. The time is that of the deletion, as the store's record has it.
func (r *Zones) withRevoked(ctx context.Context, s zone.Settings) (zone.Settings, error) {
	all, err := r.Changes(ctx, s.ZoneID)
	if err == nil && len(all) > 0 && all[0].Now == nil && all[0].Was != nil {
		s.InsideState = s.InsideState.And(all[0].Was.InsideState).And(zone.InsideState{RevokedUpToMillis: all[0].AtMillis})
	}
	return s, err
}

// DeleteZone implements store.Editor. A zone that the store has lost is put back first, so that the store learns of the
// deletion and no other server restores the zone.
func (r *Zones) DeleteZone(ctx context.Context, zoneID string, by audit.By) error {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return err
	}
	_, err = ask(ctx, z, store.DeleteZone, func() (none, error) { return none{}, r.store.DeleteZone(ctx, zoneID, by) })
	if err != nil {
		return fmt.Errorf("zones: delete zone: %w", err)
	}
	r.forget(z)
	return nil
}

// Changes implements store.Editor.
func (r *Zones) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	all, err := measured(r, store.Changes, func() ([]zone.Change, error) { return r.store.Changes(ctx, zoneID) })
	if err != nil {
		return nil, fmt.Errorf("zones: changes: %w", err)
	}
	return all, nil
}

// AllChanges returns all of a zone's record, the newest first, where Changes returns the latest.
func (r *Zones) AllChanges(ctx context.Context, zoneID string) ([]zone.Change, error) {
	p, err := audit.ReadWhole(func(skip int) (audit.Page, error) { return r.Record(ctx, zoneID, skip) })
	if err != nil {
		return nil, err
	}
	return store.ChangesOf(zoneID, p)
}

// Record implements store.Editor.
func (r *Zones) Record(ctx context.Context, name string, skip int) (audit.Page, error) {
	p, err := measured(r, store.Changes, func() (audit.Page, error) { return r.store.Record(ctx, name, skip) })
	if err != nil {
		return audit.Page{}, fmt.Errorf("zones: record: %w", err)
	}
	return p, nil
}

// Verify implements store.Editor.
func (r *Zones) Verify(ctx context.Context, name string) (p audit.Page, c audit.Check, err error) {
	_, err = measured(r, store.Changes, func() (none, error) {
		p, c, err = r.store.Verify(ctx, name)
		return none{}, err
	})
	if err != nil {
		return p, c, fmt.Errorf("zones: verify: %w", err)
	}
	return p, c, nil
}

// Recorded implements store.Editor.
func (r *Zones) Recorded(ctx context.Context) ([]string, error) {
	names, err := measured(r, store.Changes, func() ([]string, error) { return r.store.Recorded(ctx) })
	if err != nil {
		return nil, fmt.Errorf("zones: records: %w", err)
	}
	return names, nil
}

// remember takes in the settings that the store is known to have. created: this server has just made the zone.
func (r *Zones) remember(s zone.Settings, created bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched[s.ZoneID] = struct{}{}
	if z := r.Known(s.ZoneID); z != nil && !created {
		z.set(s)
		return
	}
	// A zone that was just created gets a memory of its own: what is
	// remembered under its name belongs to a line that is no more.
	r.add(s)
}

// add remembers zones that were not known. The caller holds mu.
func (r *Zones) add(news ...zone.Settings) {
	if len(news) == 0 {
		return
	}
	zones := maps.Clone(*r.zones.Load())
	ids := make([]string, 0, len(news))
	for _, s := range news {
		zones[s.ZoneID] = r.newZone(s, true)
		ids = append(ids, s.ZoneID)
	}
	r.zones.Store(&zones)
	r.meter.Know(ids...)
}

// forget drops a zone, unless another of the same name has taken its place.
func (r *Zones) forget(z *Zone) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := z.id
	r.touched[id] = struct{}{}
	if r.Known(id) != z {
		return
	}
	zones := maps.Clone(*r.zones.Load())
	delete(zones, id)
	r.zones.Store(&zones)
	r.meter.Forget(id)
}

type noMeter struct{}

func (noMeter) Know(...string)                          {}
func (noMeter) Forget(string)                           {}
func (noMeter) Called(store.Call, time.Duration, error) {}
func (noMeter) Judged(string, estimate.Judgement)       {}
func (noMeter) ClockAhead(string, time.Duration)        {}
func (noMeter) StoreFailing(string, bool)               {}
func (noMeter) Count(string, Counted)                   {}
