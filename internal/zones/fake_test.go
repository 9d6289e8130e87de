package zones

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// fakeStore keeps zones as a store does, answers every visitor the same, and
// counts calls by name.
type fakeStore struct {
	mu       sync.Mutex
	zones    map[string]zone.Settings
	deleted  map[string]bool
	unlisted map[string]bool        // there, but not among Zones until restored
	memory   map[string]line.Memory // as handed to RestoreZone
	departed []line.Departure       // as handed to Recall
	record   []zone.Change          // who changed a zone, the oldest first
	calls    map[string]int
	answer   line.Answer
	away     bool                    // every call fails
	before   func(call, zone string) // runs before the call takes effect, without the lock
	partial  bool                    // Zones returns what it has, and an error
	neverAll bool                    // RestoreZone and PutZone report success and do nothing
	refuses  error                   // what PutZone says instead of changing anything
	stays    []line.Stay             // as handed to Report last, and how many were lost
	lost     int64
	heard    line.State // what Report answers
}

func newFakeStore(zones ...zone.Settings) *fakeStore {
	f := &fakeStore{
		zones: map[string]zone.Settings{}, deleted: map[string]bool{}, unlisted: map[string]bool{},
		memory: map[string]line.Memory{}, calls: map[string]int{},
	}
	for _, s := range zones {
		f.zones[s.ZoneID] = s
	}
	return f
}

// fakeCall counts a call, and makes it under the lock unless the store is away.
func fakeCall[T any](f *fakeStore, name, zoneID string, do func() (T, error)) (answer T, err error) {
	if f.before != nil {
		f.before(name, zoneID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
	if f.away {
		return answer, fmt.Errorf("fake: %w", line.ErrStoreUnavailable)
	}
	return do()
}

// nothing is what a call does that only has to be counted.
func nothing[T any]() (answer T, err error) { return answer, nil }

func (f *fakeStore) known(zoneID string) error {
	switch _, ok := f.zones[zoneID]; {
	case ok:
		return nil
	case f.deleted[zoneID]:
		return fmt.Errorf("fake: %w", line.ErrZoneDeleted)
	}
	return fmt.Errorf("fake: %w", line.ErrZoneUnknown)
}

func (f *fakeStore) tell(name, zoneID string) (line.Answer, error) {
	return fakeCall(f, name, zoneID, func() (line.Answer, error) {
		if err := f.known(zoneID); err != nil {
			return line.Answer{}, err
		}
		return f.answer, nil
	})
}

func (f *fakeStore) Join(_ context.Context, zoneID string, _ line.ID) (line.Answer, error) {
	return f.tell("Join", zoneID)
}

func (f *fakeStore) JoinDrawn(_ context.Context, zoneID string, drawn event.Drawn, _ line.ID) (line.Answer, error) {
	a, err := f.tell("JoinDrawn", zoneID)
	a.Place.ScoreMicros = drawn.ScoreMicros
	return a, err
}

func (f *fakeStore) Drawn(_ context.Context, zoneID string, _ line.Place, _, _ int64) ([]line.Place, error) {
	return fakeCall(f, "Drawn", zoneID, nothing[[]line.Place])
}

func (f *fakeStore) DrawnAside(_ context.Context, zoneID string, _, _, _ int64) ([]line.Place, error) {
	return fakeCall(f, "DrawnAside", zoneID, nothing[[]line.Place])
}

func (f *fakeStore) KeepDraw(_ context.Context, zoneID, _ string, _ []byte) (bool, error) {
	return fakeCall(f, "KeepDraw", zoneID, nothing[bool])
}

func (f *fakeStore) Draw(_ context.Context, zoneID, _ string) ([]byte, error) {
	return fakeCall(f, "Draw", zoneID, nothing[[]byte])
}

func (f *fakeStore) KeepMinutes(_ context.Context, zoneID string, _ time.Duration, _ []store.Minute) error {
	_, err := fakeCall(f, "KeepMinutes", zoneID, nothing[none])
	return err
}

func (f *fakeStore) Share(_ context.Context, zoneID string, _ int64, _ string, _ []byte) ([][]byte, error) {
	return fakeCall(f, "Share", zoneID, nothing[[][]byte])
}

func (f *fakeStore) Minutes(_ context.Context, zoneID string, _, _ int64) ([]store.Minute, error) {
	return fakeCall(f, "Minutes", zoneID, nothing[[]store.Minute])
}

func (f *fakeStore) Spend(context.Context, string, string, time.Duration) (bool, error) {
	return fakeCall(f, "Spend", "", nothing[bool])
}

func (f *fakeStore) Visit(context.Context, string, store.Visit) (store.Visit, error) {
	return fakeCall(f, "Visit", "", nothing[store.Visit])
}

func (f *fakeStore) Poll(_ context.Context, zoneID string, _ line.Place) (line.Answer, error) {
	return f.tell("Poll", zoneID)
}

func (f *fakeStore) Leave(_ context.Context, zoneID string, _ line.Place) error {
	_, err := f.tell("Leave", zoneID)
	return err
}

func (f *fakeStore) Report(_ context.Context, zoneID string, t line.SessionReport) (line.SessionReply, error) {
	return fakeCall(f, "report", zoneID, func() (line.SessionReply, error) {
		f.stays, f.lost = t.Stays, t.Lost
		return line.SessionReply{State: f.heard, Statuses: slices.Repeat([]line.StayStatus{line.StayInside}, len(t.Stays))}, nil
	})
}

func (f *fakeStore) Observe(_ context.Context, zoneID string, _ int) (line.Observation, error) {
	a, err := f.tell("Observe", zoneID)
	return line.Observation{Stats: line.Stats{State: a.State}}, err
}

func (f *fakeStore) HoldSweeps(_ context.Context, zoneID, _ string, _ time.Duration) error {
	_, err := f.tell("HoldSweeps", zoneID)
	return err
}

func (f *fakeStore) Sweep(_ context.Context, zoneID, _ string, _ uint64) (line.Sweep, error) {
	_, err := f.tell("Sweep", zoneID)
	return line.Sweep{}, err
}

func (f *fakeStore) Recall(_ context.Context, zoneID string, departed []line.Departure) error {
	_, err := fakeCall(f, "Recall", zoneID, func() (none, error) {
		f.departed = append(f.departed, departed...)
		return none{}, nil
	})
	return err
}

func (f *fakeStore) Zones(context.Context) ([]zone.Settings, error) {
	return fakeCall(f, "Zones", "", func() ([]zone.Settings, error) {
		all := slices.Collect(maps.Values(f.zones))
		all = slices.DeleteFunc(all, func(s zone.Settings) bool { return f.unlisted[s.ZoneID] })
		if f.partial {
			return all, fmt.Errorf("fake: one node: %w", line.ErrStoreUnavailable)
		}
		return all, nil
	})
}

func (f *fakeStore) Zone(_ context.Context, zoneID string) (zone.Settings, error) {
	return fakeCall(f, "Zone", zoneID, func() (zone.Settings, error) { return f.zones[zoneID], f.known(zoneID) })
}

func (f *fakeStore) PutZone(_ context.Context, s zone.Settings, was *zone.Settings, by audit.By) (bool, error) {
	return fakeCall(f, "PutZone", s.ZoneID, func() (bool, error) {
		present, ok := f.zones[s.ZoneID]
		switch {
		case f.refuses != nil || f.neverAll:
			return false, f.refuses
		case was != nil && (!ok || !present.Equal(*was)):
			return false, fmt.Errorf("fake: %w", line.ErrZoneChanged)
		}
		f.zones[s.ZoneID] = s
		f.note(s.ZoneID, by)
		delete(f.deleted, s.ZoneID)
		return !ok, nil
	})
}

func (f *fakeStore) RestoreZone(_ context.Context, s zone.Settings, m line.Memory) error {
	_, err := fakeCall(f, "RestoreZone", s.ZoneID, func() (none, error) {
		_, ok := f.zones[s.ZoneID]
		switch {
		case f.neverAll:
			return none{}, nil
		case f.deleted[s.ZoneID]:
			return none{}, fmt.Errorf("fake: %w", line.ErrZoneDeleted)
		case !ok:
			f.zones[s.ZoneID], f.memory[s.ZoneID] = s, m
			if m.MadeBy != "" {
				f.note(s.ZoneID, audit.By{Name: m.MadeBy})
			}
		}
		delete(f.unlisted, s.ZoneID)
		return none{}, nil
	})
	return err
}

func (f *fakeStore) DeleteZone(_ context.Context, zoneID string, by audit.By) error {
	_, err := fakeCall(f, "DeleteZone", zoneID, func() (none, error) {
		if err := f.known(zoneID); err != nil {
			return none{}, err
		}
		delete(f.zones, zoneID)
		f.deleted[zoneID] = true
		f.note(zoneID, by)
		return none{}, nil
	})
	return err
}

// note writes into the record who changed a zone.
func (f *fakeStore) note(zoneID string, by audit.By) {
	f.record = append(f.record, zone.Change{ZoneID: zoneID, By: by})
}

func (f *fakeStore) Changes(_ context.Context, zoneID string) ([]zone.Change, error) {
	return fakeCall(f, "Changes", zoneID, func() ([]zone.Change, error) { return f.record, nil })
}

func (f *fakeStore) Record(context.Context, string, int) (audit.Page, error) {
	return audit.Page{}, nil
}

func (f *fakeStore) Verify(context.Context, string) (p audit.Page, c audit.Check, err error) {
	return p, c, nil
}

func (f *fakeStore) Recorded(context.Context) ([]string, error) { return nil, nil }

func (f *fakeStore) Ping(context.Context) error {
	_, err := fakeCall(f, "Ping", "", nothing[none])
	return err
}

// do changes the store as another server, or an accident, would.
func (f *fakeStore) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// lose empties the store.
func (f *fakeStore) lose() { f.do(func() { clear(f.zones); clear(f.deleted) }) }

// counted returns the calls since the last time, and forgets them.
func (f *fakeStore) counted() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = map[string]int{}
	return calls
}

// wantCalls compares the calls since the last comparison.
func (f *fakeStore) wantCalls(t *testing.T, want map[string]int) {
	t.Helper()
	if got := f.counted(); !maps.Equal(got, want) {
		t.Errorf("calls = %v, want %v", got, want)
	}
}

// watched is a Meter that knows what it was told.
type watched struct {
	noMeter
	mu     sync.Mutex
	zones  map[string]bool
	called map[store.Call]tally
	counts [NumCounted]int
	judged []estimate.Judgement
	ahead  time.Duration
}

type tally struct {
	calls, failures int
	took            time.Duration
}

func (w *watched) Called(call store.Call, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.called == nil {
		w.called = map[store.Call]tally{}
	}
	n := w.called[call]
	n.calls, n.took = n.calls+1, n.took+took
	if err != nil && !errors.Is(err, line.ErrZoneUnknown) {
		n.failures++
	}
	w.called[call] = n
}

func (w *watched) Count(_ string, what Counted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

func (w *watched) Judged(_ string, j estimate.Judgement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judged = append(w.judged, j)
}

func (w *watched) ClockAhead(_ string, by time.Duration) { w.ahead = by }

func (w *watched) Know(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.zones == nil {
		w.zones = map[string]bool{}
	}
	for _, id := range ids {
		w.zones[id] = true
	}
}

func (w *watched) Forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.zones, id)
}

func (w *watched) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.zones))
}

func settings(id string, perMinute int64) zone.Settings {
	s := zone.Defaults(id)
	s.PerMinute = perMinute
	return s
}

// What tests look at and do, of a zone by its name.

func (r *Zones) tellOnce(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		r.recallOrLog(ctx, z)
	}
}

func (r *Zones) depart(zoneID string, d line.Departure) {
	if z := r.Known(zoneID); z != nil {
		z.departed(&line.Answer{Place: d.Place, AdmittedAtMillis: d.AdmittedAtMillis}, true)
	}
}

func (r *Zones) departedBefore(zoneID string, p line.Place) (line.Departure, bool) {
	if z := r.Known(zoneID); z != nil {
		d, ended := z.departures.find(p)
		return d.Departure, ended
	}
	return line.Departure{}, false
}

func (r *Zones) inForce(zoneID string) (zone.Settings, bool) {
	if z := r.Known(zoneID); z != nil {
		return z.remembered()
	}
	return zone.Settings{}, false
}

func (f *fakeStore) FindVisitor(_ context.Context, zoneID string, _ line.Admission) (line.Found, error) {
	return fakeCall(f, "FindVisitor", zoneID, nothing[line.Found])
}
