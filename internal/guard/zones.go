package guard

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lookEvery is how old the settings that the cache goes by may be, in milliseconds. The registry reads them from the
// store twice a second.
const lookEvery = 100

// cachedZone is what the guard knows of one zone.
type cachedZone struct {
	id string
	// generation changes with each change of settings that concerns those who wait. No two zones have the same.
	generation atomic.Uint32
	// edge is the furthest edge that answers have told, in microseconds: whoever arrived up to it is released.
	edge atomic.Int64
	// ahead is by how many milliseconds the store's clock is ahead of the guard's. epoch is that of the zone's data.
	ahead atomic.Int64
	epoch atomic.Uint32
	// open: everybody is let in.
	open atomic.Bool
	// looked is when the settings were last looked up, on the guard's clock.
	looked atomic.Int64
	// pace is guarded by the mutex of zones.
	pace pace
}

// pace are the settings that say how long one waits and how often one polls.
type pace struct {
	mode                                zone.Mode
	perMinute, window, burst, idleAfter int64
}

func paceOf(s zone.Settings) pace {
	return pace{s.Mode, s.PerMinute, s.WindowSeconds, s.Burst, s.IdleTimeoutSeconds}
}

// zones are the zones from which answers have come.
type zones struct {
	remembered func(zoneID string) (zone.Settings, bool)
	// all is replaced, never changed; mu guards its replacement.
	all  atomic.Pointer[map[string]*cachedZone]
	mu   sync.Mutex
	last uint32
}

func newZones(remembered func(string) (zone.Settings, bool)) *zones {
	z := &zones{remembered: remembered}
	z.all.Store(&map[string]*cachedZone{})
	return z
}

// of returns what is known of a zone, or nil.
func (s *zones) of(zoneID string, now int64) *cachedZone {
	z := (*s.all.Load())[zoneID]
	if z == nil || now-z.looked.Load() < lookEvery {
		return z
	}
	return s.look(zoneID, now)
}

// look takes in a zone's settings. It returns nil for a zone that the registry
// does not know (any more).
func (s *zones) look(zoneID string, now int64) *cachedZone {
	settings, known := s.remembered(zoneID)
	s.mu.Lock()
	defer s.mu.Unlock()
	z := (*s.all.Load())[zoneID]
	if !known {
		s.drop(z)
		return nil
	}
	if z == nil {
		z = &cachedZone{id: zoneID}
		next := maps.Clone(*s.all.Load())
		next[zoneID] = z
		s.all.Store(&next)
	}
	if p := paceOf(settings); z.generation.Load() == 0 || z.pace != p {
		s.last++
		z.pace = p
		z.open.Store(p.mode == zone.ModeOpen)
		z.generation.Store(s.last)
	}
	z.looked.Store(now)
	return z
}

// drop forgets a zone. The caller holds mu.
func (s *zones) drop(z *cachedZone) {
	if z == nil {
		return
	}
	next := maps.Clone(*s.all.Load())
	delete(next, z.id)
	s.all.Store(&next)
}

// failed takes in an error of the store: a zone that does not exist is forgotten.
func (s *zones) failed(zoneID string, err error) {
	if !errors.Is(err, line.ErrZoneUnknown) && !errors.Is(err, line.ErrZoneDeleted) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop((*s.all.Load())[zoneID])
}

// learn takes in what the answer to a call that began at asked says of the zone.
func (z *cachedZone) learn(s *line.State, asked int64) {
	if s.NowMillis == 0 {
		return // let in without the store
	}
	z.ahead.Store(s.NowMillis - asked)
	z.epoch.Store(s.Epoch)
	for edge := s.EdgeMicros; ; {
		was := z.edge.Load()
		if edge <= was || z.edge.CompareAndSwap(was, edge) {
			return
		}
	}
}
