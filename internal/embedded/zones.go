package embedded

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// keepRecord is how long the record of a deleted zone is kept: a year, and some,
// so that last year's event can still be compared.
const keepRecord = 400 * 24 * time.Hour

// deleted is what is known of a zone that an operator deleted.
type deleted struct {
	ZoneID   string `json:"zoneId"`
	AtMillis int64  `json:"deletedAtMillis"`
	// Clock, LastArrivalMicros and Phantoms are where a zone of that name goes
	// on, with an empty line. Without, two windows' worth could enter in one.
	Clock             window.Clock    `json:"clock"`
	LastArrivalMicros int64           `json:"lastArrivalMicros"`
	Phantoms          window.Phantoms `json:"phantoms"`
	// Epoch was that of the deleted zone; the next one of the name gets another.
	Epoch uint32 `json:"epoch,omitempty"`
	// here: by this process, so that the servers' memory must not restore it.
	here bool
}

// Zones implements store.Viewer.
func (s *Store) Zones(context.Context) ([]zone.Settings, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]zone.Settings, 0, len(s.crowds))
	for _, c := range s.crowds {
		all = append(all, c.read())
	}
	slices.SortFunc(all, func(a, b zone.Settings) int { return cmp.Compare(a.ZoneID, b.ZoneID) })
	return all, nil
}

// Zone implements store.Viewer.
func (s *Store) Zone(_ context.Context, zoneID string) (zone.Settings, error) {
	c, err := s.crowd(zoneID)
	if err != nil {
		return zone.Settings{}, err
	}
	return c.read(), nil
}

func (c *crowd) read() zone.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings
}

// Changes implements store.Editor.
func (s *Store) Changes(_ context.Context, zoneID string) ([]zone.Change, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if zoneID != "" {
		return slices.Clone(s.record[zoneID]), nil
	}
	var records [][]zone.Change
	for _, id := range slices.Sorted(maps.Keys(s.record)) {
		records = append(records, s.record[id])
	}
	return zone.NewestFirst(records...), nil
}

// noted is the zone's record with one more change. The caller holds changing.
func (s *Store) noted(zoneID, by string, was, now *zone.Settings) []zone.Change {
	c := zone.Change{AtMillis: s.now().UnixMilli(), ZoneID: zoneID, By: by, Was: was, Now: now}
	old := s.record[zoneID]
	return append([]zone.Change{c}, old[:min(len(old), zone.MaxChanges-1)]...)
}

// PutZone implements store.Editor. The change is in force at once; whether it is kept,
// NotKept tells.
func (s *Store) PutZone(_ context.Context, settings zone.Settings, was *zone.Settings, by string) (created bool, err error) {
	if err := settings.Validate(); err != nil {
		return false, err
	}
	created, changed, err := s.putZone(settings, was, by)
	if changed {
		s.flush()
	}
	return created, err
}

func (s *Store) putZone(settings zone.Settings, was *zone.Settings, by string) (created, changed bool, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	c, exists := s.crowds[settings.ZoneID]
	var before *zone.Settings
	if exists {
		before = new(c.read())
	}
	if was != nil && (!exists || *before != *was) {
		return false, false, line.ErrZoneChanged
	}
	if !exists {
		c = s.made(settings)
	}
	record := s.record[settings.ZoneID]
	if changed = !exists || *before != settings; changed {
		record = s.noted(settings.ZoneID, by, before, &settings)
	}
	if exists {
		c.mu.Lock()
		c.clock = c.clock.Tick(s.now().UnixMicro())
		c.set(settings)
		c.mu.Unlock()
	}
	s.keepCrowd(c, record)
	return !exists, changed, nil
}

// keepCrowd puts a zone into force. The caller holds changing.
func (s *Store) keepCrowd(c *crowd, record []zone.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.settings.ZoneID
	s.crowds[id] = c
	delete(s.deleted, id)
	if len(record) > 0 {
		s.record[id] = record
	}
}

// made is a zone as an operator makes it.
func (s *Store) made(settings zone.Settings) *crowd {
	c := &crowd{epoch: window.Epoch(s.now().UnixMicro())}
	c.set(settings)
	if d, ok := s.deleted[settings.ZoneID]; ok {
		c.epoch = max(c.epoch, d.Epoch+1)
		c.clock = d.Clock.Tick(s.now().UnixMicro())
		// The line that was deleted with the zone stays deleted.
		c.last = max(d.LastArrivalMicros, c.clock.NowMicros)
		c.phantoms = d.Phantoms
	}
	return c
}

// RestoreZone implements store.Healer.
func (s *Store) RestoreZone(_ context.Context, settings zone.Settings, m line.Memory) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	changed, err := s.restoreZone(settings, m)
	if changed {
		s.flush()
	}
	return err
}

func (s *Store) restoreZone(settings zone.Settings, m line.Memory) (changed bool, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.deleted[settings.ZoneID].here {
		return false, line.ErrZoneDeleted
	}
	if _, ok := s.crowds[settings.ZoneID]; ok {
		return false, nil
	}
	c, record := s.restored(settings, m), s.record[settings.ZoneID]
	if m.MadeBy != "" {
		record = s.noted(settings.ZoneID, m.MadeBy, nil, &settings)
	}
	s.keepCrowd(c, record)
	return true, nil
}

func (s *Store) restored(settings zone.Settings, m line.Memory) *crowd {
	c := &crowd{edge: m.EdgeMicros}
	c.set(settings)
	c.clock = c.clock.Tick(s.now().UnixMicro())
	now := c.clock.NowMicros / 1000
	if m.SeenAtMillis == 0 {
		c.epoch = window.Epoch(c.clock.NowMicros)
		c.lose(now, now)
		c.heal.anyEpoch = true
	} else {
		c.epoch = m.Epoch
		c.lose(now, m.SeenAtMillis)
	}
	c.last = max(c.last, m.LastArrivalMicros)
	c.heal.upTo = c.last
	c.heal.freeze = now + window.FreezeMillis
	return c
}

// DeleteZone implements store.Editor. Its id is remembered as deleted until the process
// ends or the zone is made again. Whether the deletion is kept, NotKept tells.
func (s *Store) DeleteZone(_ context.Context, zoneID, by string) error {
	if err := s.deleteZone(zoneID, by); err != nil {
		return err
	}
	s.flush()
	return nil
}

func (s *Store) deleteZone(zoneID, by string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	c, err := s.crowd(zoneID)
	if err != nil {
		return err
	}
	record := s.noted(zoneID, by, new(c.read()), nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.crowds, zoneID)
	s.deleted[zoneID], s.record[zoneID] = c.remains(s.now().UnixMicro()), record
	return nil
}

// remains ends the zone, and are what is known of it then: whoever is on the way to
// it is not let in any more.
func (c *crowd) remains(rawMicros int64) deleted {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	newest := max(c.phantoms.AtMillis, c.log.newest())
	return deleted{
		ZoneID: c.settings.ZoneID, AtMillis: rawMicros / 1000, here: true,
		Clock: c.clock, LastArrivalMicros: c.last, Epoch: c.epoch,
		Phantoms: c.rates.Remains(c.settings.Burst, newest,
			sum(c.since(newest-c.rates.WindowMillis)), sum(c.since(newest-window.MinuteMillis))),
	}
}
