package embedded

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// SweepBatch is how many tokens one call of Sweep examines.
const SweepBatch = 5000

const (
	// rememberEvery bounds how old the remembered edge is after a crash, and how
	// soon what a full disk did not take is written when it has room again.
	rememberEvery = time.Second
	// diskTimeout is how long a change waits for the disk: what is not kept by then
	// is said, within the second in which the change must be answered.
	diskTimeout = 500 * time.Millisecond
)

// Options of a store.
type Options struct {
	// Dir holds zones.json and limits.json. Empty: nothing is kept (tests, the simulator).
	Dir string
	// Logger gets what goes wrong in the background. Nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

var _ store.Store = (*Store)(nil)

// Store is the embedded store: what its methods promise, package store says. None
// blocks for longer than its own work, so the contexts are not consulted.
type Store struct {
	now    func() time.Time
	logger *slog.Logger
	file   *file // nil without a directory
	// journal is nil without a directory.
	journal *journal

	// writing is held by whoever writes zones.json.
	writing sync.Mutex
	// changing is held by what changes zones; it is taken within writing. A change
	// is in force before it is on the disk, and whether or not it gets there.
	changing sync.Mutex

	// mu guards what follows; it is taken within changing.
	mu      sync.RWMutex
	crowds  map[string]*crowd
	deleted map[string]deleted
	// record holds the changes of each zone, deleted ones too, newest first.
	record map[string][]zone.Change

	rules rules

	// asked has the zones and policies written now; what is sent is closed then.
	asked chan chan struct{}
	stop  chan struct{}
	done  chan struct{}
}

// Open loads the zones of a directory, or begins a new one. A zone that is
// loaded was served before, so its window counts as full until one has passed.
// A directory that cannot be written to fails it not: NotKept and the log say so.
func Open(o Options) (*Store, error) {
	s := &Store{
		now: o.Now, logger: o.Logger,
		crowds: make(map[string]*crowd), deleted: make(map[string]deleted), record: make(map[string][]zone.Change),
		asked: make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if o.Dir == "" {
		close(s.done)
		return s, nil
	}
	d, err := openDisk(o.Dir, s.logger)
	if err != nil {
		return nil, err
	}
	if err := s.load(d); err != nil {
		return nil, errors.Join(err, d.close())
	}
	go s.remember()
	return s, nil
}

// load takes in what the directory holds.
func (s *Store) load(d *disk) error {
	s.file = &file{disk: d}
	had, err := s.file.load()
	if err != nil {
		return err
	}
	if err := s.rules.load(d); err != nil {
		return err
	}
	var departed []entryOf
	if s.journal, departed, err = openJournal(d.dir, s.logger, s.now); err != nil {
		return err
	}
	s.take(had, departed)
	// From here on nothing says that the store was closed.
	if s.save() != nil {
		// The file still says so, and may be older than what another run of the
		// server did, which could not write either. So nothing is made of it.
		for i := range had.Zones {
			had.Zones[i].forgetClosing(s.now().UnixMilli())
		}
		s.take(had, departed)
	}
	return nil
}

// Close writes what is to be remembered. The store must not be used after.
func (s *Store) Close() error {
	close(s.stop)
	<-s.done
	if s.file == nil {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return errors.Join(s.file.store(s.keep(true)), s.rules.save(), s.journal.close(), s.file.close())
}

// Ping always succeeds: the store is in this process.
func (s *Store) Ping(context.Context) error { return nil }

func (s *Store) crowd(zoneID string) (*crowd, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c, ok := s.crowds[zoneID]; ok {
		return c, nil
	}
	if s.deleted[zoneID].here {
		return nil, line.ErrZoneDeleted
	}
	return nil, line.ErrZoneUnknown
}

// Join implements store.Visitors.
func (s *Store) Join(_ context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	a, err := s.turn(zoneID, func(c *crowd, t turn) (line.Answer, turn) { return c.join(t, id, former) })
	if err == nil && a.Status == line.Admitted {
		s.depart(zoneID, a.Place.ID, a.State, a.AdmittedAtMillis)
	}
	return a, err
}

// Poll implements store.Visitors.
func (s *Store) Poll(_ context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a, err := s.turn(zoneID, func(c *crowd, t turn) (line.Answer, turn) {
		a, t := c.poll(t, p)
		if a.Status == line.Waiting || a.Status == line.Admitted {
			c.totals.Polls++
		}
		return a, t
	})
	if err == nil && a.Status == line.Admitted {
		s.depart(zoneID, p.ID, a.State, a.AdmittedAtMillis)
	}
	return a, err
}

// Leave implements store.Visitors.
func (s *Store) Leave(_ context.Context, zoneID string, p line.Place) error {
	a, err := s.turn(zoneID, func(c *crowd, t turn) (line.Answer, turn) {
		c.leave(p)
		return line.Answer{}, t
	})
	if err == nil {
		s.depart(zoneID, p.ID, a.State, 0)
	}
	return err
}

func (s *Store) turn(zoneID string, do func(*crowd, turn) (line.Answer, turn)) (line.Answer, error) {
	c, err := s.crowd(zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return line.Answer{}, line.ErrZoneDeleted
	}
	a, t := do(c, c.begin(s.now().UnixMicro()))
	a.State = c.state(t)
	a.Renew()
	return a, nil
}

// Recall implements store.Healer.
func (s *Store) Recall(_ context.Context, zoneID string, departed []line.Departure) error {
	_, err := s.turn(zoneID, func(c *crowd, t turn) (line.Answer, turn) {
		for _, d := range departed {
			c.recall(t, d)
		}
		return line.Answer{}, t
	})
	return err
}

// Stats implements store.Viewer.
func (s *Store) Stats(_ context.Context, zoneID string) (line.Stats, error) {
	c, err := s.crowd(zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.begin(s.now().UnixMicro())
	st := line.Stats{State: c.state(t), Totals: c.totals, Waits: slices.Clone(c.waits)}
	st.EstimateMillis = c.rates.Estimate(c.shows.Expect(st.State.Live, c.rates), st.State.Waiting-st.State.Released, t.room, c.present, c.passed)
	return st, nil
}

// Sweep implements store.Sweeper. It examines SweepBatch places. The owner does not
// matter: a store in the process has one sweeper.
func (s *Store) Sweep(_ context.Context, zoneID, _ string, cursor uint64) (line.Sweep, error) {
	c, err := s.crowd(zoneID)
	if err != nil {
		return line.Sweep{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock = c.clock.Tick(s.now().UnixMicro())
	return c.sweep(c.clock.NowMicros/1000, cursor), nil
}

func (c *crowd) sweep(now int64, cursor uint64) line.Sweep {
	var out line.Sweep
	var idle []line.Place
	last := int64(0)
	c.line.ascend(int64(cursor), func(r *record) bool {
		// Those who arrived in one microsecond are examined together, for
		// the cursor cannot lie between them.
		if out.Examined >= SweepBatch && r.arrived != last {
			out.Next = uint64(last)
			return false
		}
		out.Examined++
		last = r.arrived
		// Polls before the time told may have been answered without the store. Who
		// was told a longer period had the timeout of that time.
		if r.lastPoll()+r.period()+max(c.settings.IdleTimeoutSeconds*1000, 2*r.period()) < now {
			idle = append(idle, r.place())
		}
		return true
	})
	// From the back, where those who stay need not close up a gap each time.
	for _, p := range slices.Backward(idle) {
		c.forget(p)
	}
	out.Removed = int64(len(idle))
	c.totals.Swept += out.Removed
	if out.Next == 0 && c.tidy(now) {
		out.Next = afterLine
	}
	return out
}

// afterLine is the cursor behind the last token, where only tidying is left.
const afterLine = math.MaxInt64 - 1

// tidy gives back what a gone crowd held, and reports whether there is more.
func (c *crowd) tidy(now int64) (more bool) {
	ttl := c.settings.PassTTLSeconds * 1000
	c.ttls = c.ttls.prune(ttl, now)
	more = c.log.trim(now - max(window.MinuteMillis, c.ttls.longest(ttl)))
	if now >= c.heal.until {
		c.heal.gone = nil
	}
	if c.line.len() == 0 {
		c.byID, c.due = nil, nil
	}
	return more
}
