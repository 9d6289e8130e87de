package embedded

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// deletedLife is how long a deleted zone is remembered: longer than any pass of it is good.
const deletedLife = 400 * 24 * time.Hour

// deleted is what is known of a zone that an operator deleted.
type deleted struct {
	ZoneID   string `json:"zoneId"`
	AtMillis int64  `json:"deletedAtMillis"`
	// Clock, LastArrivalMicros and Phantoms are where a zone of that name goes on if it is made
	// again, with an empty line. Without them, two windows' worth could enter in one window.
	Clock             window.Clock    `json:"clock"`
	LastArrivalMicros int64           `json:"lastArrivalMicros"`
	Phantoms          window.Phantoms `json:"phantoms"`
	// Unknown are those who were inside, of whom nothing else is known any more, and Longest is for how long they can be. over
	// are the admissions that are done.
	Unknown   window.Unknown `json:"unknown,omitzero"`
	Longest   window.Longest `json:"longest,omitzero"`
	over      map[line.Admission]int64
	overOrder []line.Admission
	// Epoch is that of the deleted zone. The next zone of that name gets a greater one.
	Epoch uint32 `json:"epoch,omitempty"`
	// here says that this process deleted the zone. Then what servers remember must not
	// restore it.
	here bool
}

// Zones implements store.Reader.
func (s *Store) Zones(context.Context) ([]zone.Settings, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]zone.Settings, 0, len(s.queues))
	for _, q := range s.queues {
		all = append(all, q.read())
	}
	slices.SortFunc(all, func(a, b zone.Settings) int { return cmp.Compare(a.ZoneID, b.ZoneID) })
	return all, nil
}

// Zone implements store.Reader.
func (s *Store) Zone(_ context.Context, zoneID string) (zone.Settings, error) {
	q, err := s.queue(zoneID)
	if err != nil {
		return zone.Settings{}, err
	}
	return q.read(), nil
}

func (q *zoneQueue) read() zone.Settings {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.settings
}

// change makes one change of zones or policies at a time. If do changed something, it has
// what is in force written.
func (s *Store) change(do func() (changed bool, err error)) error {
	changed, err := func() (bool, error) {
		s.changing.Lock()
		defer s.changing.Unlock()
		return do()
	}()
	if changed {
		s.flush()
	}
	return err
}

// PutZone implements store.Editor. The change is in force at once. NotKept says whether it is
// on the disk.
func (s *Store) PutZone(_ context.Context, settings zone.Settings, was *zone.Settings, by audit.By) (created bool, err error) {
	if err := settings.Validate(); err != nil {
		return false, err
	}
	err = s.change(func() (bool, error) {
		q, exists := s.queues[settings.ZoneID]
		var before *zone.Settings
		if exists {
			before = new(q.read())
		}
		if was != nil && (!exists || !before.Equal(*was)) {
			return false, line.ErrZoneChanged
		}
		changed := !exists || !before.Equal(settings)
		if changed && by.Via != audit.ViaPilot {
			if err := s.note(settings.ZoneID, zone.Change{ZoneID: settings.ZoneID, By: by, Was: before, Now: &settings}); err != nil {
				return false, err
			}
		}
		if exists {
			q.mu.Lock()
			q.tick(s.now().UnixMicro())
			q.set(settings)
			written := s.stays.enqueue(q.in.noted.take())
			q.mu.Unlock()
			s.stays.wait(written)
		} else {
			q = s.made(settings)
		}
		s.enforce(q)
		created = !exists
		return changed, nil
	})
	return created, err
}

// enforce puts a zone into force. The caller holds changing.
func (s *Store) enforce(q *zoneQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := q.settings.ZoneID
	s.queues[id] = q
	delete(s.deleted, id)
}

// made returns a new zone, as an operator makes it.
func (s *Store) made(settings zone.Settings) *zoneQueue {
	now := s.now()
	q := &zoneQueue{epoch: window.Epoch(now.UnixMicro()), clockSet: s.clockSet(now)}
	if d, ok := s.deleted[settings.ZoneID]; ok {
		q.epoch = max(q.epoch, d.Epoch+1)
		q.clock = d.Clock.Tick(s.now().UnixMicro())
		// No token of the deleted line has an arrival that is newer, so none looks like a loss.
		q.last = max(d.LastArrivalMicros, q.clock.NowMicros)
		q.phantoms = d.Phantoms
		q.in.unknown, q.in.longest, q.in.over, q.in.overOrder = d.Unknown, d.Longest, d.over, d.overOrder
	}
	q.set(settings)
	return q
}

// RestoreZone implements store.Healer.
func (s *Store) RestoreZone(_ context.Context, settings zone.Settings, m line.Memory) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	return s.change(func() (bool, error) {
		_, err := s.queue(settings.ZoneID)
		if !errors.Is(err, line.ErrZoneUnknown) {
			return false, err
		}
		if m.MadeBy != "" {
			by := audit.By{Name: m.MadeBy, Via: audit.ViaFile}
			if err := s.note(settings.ZoneID, zone.Change{ZoneID: settings.ZoneID, By: by, Now: &settings}); err != nil {
				return false, err
			}
		}
		s.enforce(s.restored(settings, m))
		return true, nil
	})
}

func (s *Store) restored(settings zone.Settings, m line.Memory) *zoneQueue {
	q := &zoneQueue{edge: m.EdgeMicros}
	now := q.tick(s.now().UnixMicro())
	q.set(settings)
	q.in.longest = q.in.longest.Change(now, m.LongestMillis, longestOf(settings))
	if m.SeenAtMillis == 0 {
		q.epoch = window.Epoch(q.clock.NowMicros)
		q.lose(now, now, m.LastArrivalMicros)
		q.heal.anyEpoch = true
	} else {
		q.epoch = m.Epoch
		q.lose(now, m.SeenAtMillis, m.LastArrivalMicros)
	}
	q.heal.freeze = now + window.FreezeMillis
	if q.capped() {
		most := m.Inside
		if m.SeenAtMillis == 0 {
			most = max(most, settings.MaxInside)
		}
		q.in.unknown = q.in.unknown.Raise(most)
	}
	return q
}

// DeleteZone implements store.Editor. The id is remembered as deleted until the process
// ends or the zone is made again. NotKept says whether the deletion is on the disk.
func (s *Store) DeleteZone(_ context.Context, zoneID string, by audit.By) error {
	return s.change(func() (bool, error) {
		q, err := s.queue(zoneID)
		if err != nil {
			return false, err
		}
		if err := s.note(zoneID, zone.Change{ZoneID: zoneID, By: by, Was: new(q.read())}); err != nil {
			return false, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.queues, zoneID)
		s.deleted[zoneID] = q.remains(s.now().UnixMicro())
		return true, nil
	})
}

// remains ends the zone, and returns what is known of it then. A call that has found the
// zone already, and waits for its lock, lets nobody in.
func (q *zoneQueue) remains(rawMicros int64) deleted {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	now := q.tick(rawMicros)
	newest, minute := max(q.phantoms.AtMillis, q.log.newest()), now-window.MinuteMillis
	longest, unknown := int64(0), window.Unknown{}
	if q.capped() {
		longest = q.longest(now)
	}
	if n := int64(len(q.in.ends)) + q.in.unknown.Count; n > 0 {
		unknown = window.Lose(n, now, longest)
	}
	return deleted{
		Unknown: unknown, Longest: window.Longest{}.Change(now, longest, 0), over: q.in.over, overOrder: q.in.overOrder,
		ZoneID: q.settings.ZoneID, AtMillis: rawMicros / 1000, here: true,
		Clock: q.clock, LastArrivalMicros: q.last, Epoch: q.epoch,
		Phantoms: q.rates.Remains(q.settings.Burst, newest,
			q.admittedSince(max(newest-q.rates.WindowMillis, minute)), q.admittedSince(minute)),
	}
}
