package embedded

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// SweepBatch is how many places one call of Sweep examines, and all that arrived in the same
// microsecond as the last.
const SweepBatch = 5000

const (
	// rememberEvery bounds how old the remembered edge is after a crash, and how soon
	// after a full disk has room again all is written.
	rememberEvery = time.Second
	// diskTimeout is how long a change waits for the disk. The answer then says that
	// the change is not kept, within the second that a change may take.
	diskTimeout = 500 * time.Millisecond
)

// Options are the options of a store.
type Options struct {
	// Dir is the data directory: zones.json, changes.json, the journals and the draws. If it is empty, nothing is kept, as in tests and the simulator.
	Dir string
	// Logger gets errors of the background. It defaults to slog.Default().
	Logger *slog.Logger
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
	// Sealer seals the records of changes. It defaults to one that no other process can check.
	Sealer *audit.Sealer
}

var _ store.Store = (*Store)(nil)

// Store is the embedded store. Package store says what its methods promise. None waits
// for anything but its own work and, for a change, up to diskTimeout for the disk. So no
// context is consulted.
type Store struct {
	now    func() time.Time
	logger *slog.Logger
	// disk, journal and files are nil without a directory.
	disk                          *disk
	journal, stays, asides, added *journal
	zonesFile, recordFile         *file
	sealer                        *audit.Sealer

	spends spends

	// writing is held while files are written.
	writing sync.Mutex
	// addedBytes is how much the journal added has, and rewriteRecord has changes.json written anew. Both are guarded by writing.
	addedBytes    int
	rewriteRecord bool
	// changing is held while zones or policies change; it is taken within writing. A change is
	// in force before it is on the disk, even if it cannot be written.
	changing sync.Mutex

	// mu guards queues, deleted, records and documents; it is taken within changing.
	mu      sync.RWMutex
	queues  map[string]*zoneQueue
	deleted map[string]deleted
	// records are those of changes, by their names, also of deleted zones.
	records map[string]changeRecord
	// documents are those of line.Documents, by their names.
	documents map[string]line.Document
	// unwritten are the lines of the journal added that are not written. It is guarded by changing.
	unwritten []byte
	// clockSet is by how many microseconds the clock was set forward since the store was opened.
	clockSet func(now time.Time) int64

	// draws has the lists of draws, as bytes by drawName, in a store without a directory.
	draws sync.Map
	// history is held while minutes are read or written. minutes has them, by minutesName, in a store without a directory.
	history sync.Mutex
	minutes map[string][]store.Minute

	// asked makes remember write zones and policies now, and then close the channel that was
	// sent.
	asked chan chan struct{}
	stop  chan struct{}
	done  chan struct{}
}

// Open loads the zones of a directory, or makes the directory. A zone that is
// loaded was served before, so its window counts as full until one window has passed.
// A directory that cannot be written to is no error: NotKept and the log say so.
// The error is ErrInUse, line.ErrFormat for a file of a newer version, or says which
// file cannot be read.
func Open(o Options) (*Store, error) {
	s := &Store{
		now: o.Now, logger: o.Logger, sealer: o.Sealer,
		queues: make(map[string]*zoneQueue), minutes: make(map[string][]store.Minute), deleted: make(map[string]deleted), records: make(map[string]changeRecord),
		documents: make(map[string]line.Document),
		asked:     make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	opened := time.Now()
	s.clockSet = func(now time.Time) int64 {
		// Sub goes by the monotonic readings, if now has one.
		return now.UnixMicro() - opened.UnixMicro() - now.Sub(opened).Microseconds()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.sealer == nil {
		s.sealer = audit.NewSealer(audit.Options{})
	}
	if o.Dir == "" {
		close(s.done)
		return s, nil
	}
	var err error
	if s.disk, err = openDisk(o.Dir, s.logger); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.disk.close())
	}
	go s.remember()
	return s, nil
}

// load reads the files of the directory.
func (s *Store) load() error {
	s.zonesFile = &file{disk: s.disk, name: zonesName, format: zonesFormat, of: "zones"}
	s.recordFile = &file{disk: s.disk, name: recordName, format: recordFormat, of: "record of changes"}
	var had contents
	err := s.zonesFile.load(func(b []byte) (err error) {
		had, err = readZones(b)
		return err
	})
	if err == nil {
		err = s.recordFile.load(s.readRecord)
	}
	if err == nil {
		maps.Copy(s.documents, had.Documents)
		err = (&file{disk: s.disk, name: oldPoliciesName, format: 1, of: "policies"}).load(s.readOldPolicies)
	}
	if err != nil {
		return err
	}
	var departures, spent, stays, asides, added []string
	if s.added, added, err = openJournal(s.disk, addedPrefix, s.now); err != nil {
		return err
	}
	s.takeAdded(added)
	s.rewriteRecord = true // what was dropped goes, and the texts of old entries stay as they are from now on
	if s.journal, departures, err = openJournal(s.disk, departuresPrefix, s.now); err != nil {
		return err
	}
	if s.spends.journal, spent, err = openJournal(s.disk, spentPrefix, s.now); err != nil {
		return err
	}
	if s.stays, stays, err = openJournal(s.disk, staysPrefix, s.now); err != nil {
		return err
	}
	if s.asides, asides, err = openJournal(s.disk, asidePrefix, s.now); err != nil {
		return err
	}
	s.spends.take(spent)
	departed, inside, silent := entriesOf(departures), entriesOf(stays), entriesOf(asides)
	s.take(had, departed, inside, silent)
	s.dropOldRecords()
	if s.save() == nil {
		_ = os.Remove(filepath.Join(s.disk.dir, oldPoliciesName)) // left behind, it is older than zones.json
	} else {
		// Another run of the server may have come after the file, which could not write either. So only
		// visitors who were due less than an idle timeout ago get their places back.
		for i := range had.Zones {
			m := &had.Zones[i].Memory
			m.SeenAtMillis = max(m.SeenAtMillis, s.now().UnixMilli())
		}
		s.take(had, departed, inside, silent)
	}
	return nil
}

// Close writes what a restart needs. The store must not be used afterwards. An error says
// what could not be written.
func (s *Store) Close() error {
	close(s.stop)
	<-s.done
	if s.disk == nil {
		return nil
	}
	return errors.Join(s.save(), s.journal.close(), s.stays.close(), s.asides.close(), s.spends.journal.close(), s.added.close(), s.disk.close())
}

// Ping always succeeds: the store is in this process.
func (s *Store) Ping(context.Context) error { return nil }

func (s *Store) queue(zoneID string) (*zoneQueue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q, ok := s.queues[zoneID]; ok {
		return q, nil
	}
	if s.deleted[zoneID].here {
		return nil, line.ErrZoneDeleted
	}
	return nil, line.ErrZoneUnknown
}

// Join implements store.Visitors.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	return s.JoinDrawn(ctx, zoneID, event.Drawn{}, id)
}

// JoinDrawn implements store.Drawer.
func (s *Store) JoinDrawn(_ context.Context, zoneID string, drawn event.Drawn, id line.ID) (line.Answer, error) {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) line.Answer { return q.join(t, drawn, id) })
	if err == nil && a.Status == line.Admitted {
		s.depart(zoneID, &a)
	}
	return a, err
}

// Poll implements store.Visitors.
func (s *Store) Poll(_ context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) line.Answer {
		a := q.poll(t, p)
		if a.Status == line.Waiting || a.Status == line.Admitted {
			q.totals.Polls++
		}
		return a
	})
	if err == nil && a.Status == line.Admitted {
		s.depart(zoneID, &a)
	}
	return a, err
}

// Leave implements store.Visitors.
func (s *Store) Leave(_ context.Context, zoneID string, p line.Place) error {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) line.Answer {
		q.leave(t, p)
		return line.Answer{Place: p}
	})
	if err == nil {
		a.State.LastArrivalMicros = p.ArrivedAtMicros // a later place of the visitor stays
		s.depart(zoneID, &a)
	}
	return err
}

// transact makes one operation on a zone under the zone's lock. The answer's State is the
// zone's after it. The error is line.ErrZoneUnknown or line.ErrZoneDeleted.
func (s *Store) transact(zoneID string, do func(*zoneQueue, *transaction) line.Answer) (line.Answer, error) {
	q, err := s.queue(zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	var asides, stays <-chan struct{}
	a, err := func() (a line.Answer, err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.ended {
			return a, line.ErrZoneDeleted
		}
		now := s.now()
		t := q.begin(now.UnixMicro(), s.clockSet(now))
		a = do(q, t)
		a.State = q.state(t)
		a.Renew()
		asides, stays = s.asides.enqueue(q.aside.noted.take()), s.stays.enqueue(q.in.noted.take())
		return a, nil
	}()
	s.asides.wait(asides)
	s.stays.wait(stays)
	return a, err
}

// Recall implements store.Healer.
func (s *Store) Recall(_ context.Context, zoneID string, departed []line.Departure) error {
	_, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) (none line.Answer) {
		for _, d := range departed {
			q.recall(t, d)
		}
		return none
	})
	return err
}

// Sweep implements store.Sweeper. It examines SweepBatch places. The owner is ignored: a
// store in the process has one sweeper.
func (s *Store) Sweep(_ context.Context, zoneID, _ string, cursor uint64) (line.Sweep, error) {
	q, err := s.queue(zoneID)
	if err != nil {
		return line.Sweep{}, err
	}
	q.mu.Lock()
	swept := q.sweep(q.tick(s.now().UnixMicro()), cursor)
	asides := s.asides.enqueue(q.aside.noted.take())
	q.mu.Unlock()
	s.asides.wait(asides)
	return swept, nil
}

// HoldSweeps implements store.Sweeper. It holds nothing: a store in the process has one
// sweeper.
func (s *Store) HoldSweeps(_ context.Context, zoneID, _ string, _ time.Duration) error {
	_, err := s.queue(zoneID)
	return err
}

func (q *zoneQueue) sweep(now int64, cursor uint64) line.Sweep {
	q.turnAside(now)
	var out line.Sweep
	var idle []line.Place
	last := int64(0)
	q.line.ascend(int64(cursor), func(r *record) bool {
		// Places of one microsecond are examined in one call, since the cursor
		// cannot lie between them.
		if out.Examined >= SweepBatch && r.arrived != last {
			out.Next = uint64(last)
			return false
		}
		out.Examined++
		last = r.arrived
		// Idle counts from the time that was told: the store may not have seen a poll before it. A
		// period of more than half the timeout was told under a longer timeout: the visitor has twice
		// the period instead. The last poll may have been lost, so none counts as missed before the
		// latest loss.
		missed := max(r.lastPoll()+r.period(), q.heal.from)
		if missed+max(q.settings.IdleTimeoutSeconds*1000, 2*r.period()) < now {
			p := r.place()
			p.ArrivedAtMicros, _ = q.arrival(p.ID)
			idle = append(idle, p)
		}
		return true
	})
	// The last ones are removed first: then fewer records have to move up.
	for _, p := range slices.Backward(idle) {
		q.setAside(now, p)
		q.forget(p)
	}
	out.Removed = int64(len(idle))
	q.totals.Swept += out.Removed
	if out.Next == 0 && q.tidy(now) {
		out.Next = afterLine
	}
	return out
}

// afterLine is the cursor after the last place, where only tidying is left.
const afterLine = math.MaxInt64 - 1

// tidy gives back the memory of visitors who have departed, and reports whether there is more.
func (q *zoneQueue) tidy(now int64) (more bool) {
	more = q.log.trim(now)
	more = q.forgetOver(now) || more
	if now >= q.heal.until {
		q.heal.gone = nil
	}
	if q.line.len() == 0 {
		q.byID, q.arrived = nil, nil
	}
	return more
}
