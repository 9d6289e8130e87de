package wait

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Bounds of the cache behind State.
const (
	// StateMaxAge is how old a state may be: what the answer's max-age says.
	StateMaxAge = time.Second
	// stateTimeout bounds one refresh, since it is not its caller's alone and
	// does not end with the caller's request.
	stateTimeout = 2 * time.Second
	// stateForgotten is when a zone that nobody asks about leaves the cache.
	stateForgotten = time.Minute
)

// State is what everybody may know of a zone.
type State struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode"`
	// Waiting is how many are in the line.
	Waiting int64 `json:"waiting"`
	// EstimatedWait is that of one who joins now, in milliseconds.
	EstimatedWait int64 `json:"estimatedWait"`
}

// errStateLost is what is left of a refresh that panicked.
var errStateLost = errors.New("wait: state: the refresh did not end")

// states remembers, for each zone that exists, its state for StateMaxAge. A
// crowd that has no cache in front costs one question to the store a second
// and zone, the failing ones included. A name that has not once been found to
// be a zone's is remembered only while the store is being asked, so that
// made-up names fill no memory.
type states struct {
	now   func() time.Time
	mu    sync.Mutex
	zones map[string]*snapshot
	// cleared is when forget last ran.
	cleared time.Time
}

// snapshot is one zone's state, or the failure to get it. All but done is
// written before done is closed and never after.
type snapshot struct {
	done  chan struct{}
	at    time.Time
	state State
	err   error
	// exists: the store has known the zone, now or at an earlier refresh.
	exists bool
}

// State returns the zone's public state, at most StateMaxAge old. It returns a
// *serve.FieldError, an error of the store, or ctx's.
func (s *Service) State(ctx context.Context, zoneID string) (State, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return State{}, err
	}
	snap, mine := s.states.claim(zoneID)
	if mine {
		s.refresh(ctx, zoneID, snap)
	}
	select {
	case <-snap.done:
		if snap.err != nil {
			return State{}, answer.InZone(zoneID, snap.err)
		}
		return snap.state, nil
	case <-ctx.Done():
		return State{}, fmt.Errorf("wait: state: %w", ctx.Err())
	}
}

// refresh fills the snapshot and lets those go who wait for it.
func (s *Service) refresh(ctx context.Context, zoneID string, snap *snapshot) {
	defer s.states.settle(zoneID, snap)
	snap.state, snap.err = s.readState(ctx, zoneID)
	switch {
	case snap.err == nil:
		snap.exists = true
	case errors.Is(snap.err, line.ErrZoneUnknown), errors.Is(snap.err, line.ErrZoneDeleted):
		snap.exists = false
	}
}

// readState asks the store. It outlives the caller's request: others wait for
// the same answer.
func (s *Service) readState(ctx context.Context, zoneID string) (State, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	settings, err := s.store.Zone(ctx, zoneID)
	if err != nil {
		return State{}, fmt.Errorf("wait: state: %w", err)
	}
	stats, err := s.store.Stats(ctx, zoneID)
	if err != nil {
		return State{}, fmt.Errorf("wait: state: %w", err)
	}
	return State{
		ZoneID: zoneID, Mode: settings.Mode,
		Waiting: stats.State.Waiting, EstimatedWait: stats.EstimateMillis,
	}, nil
}

// claim returns the snapshot to wait for and, to one caller at a time, that it
// is this caller's to make.
func (c *states) claim(zoneID string) (snap *snapshot, mine bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.zones[zoneID]
	if known {
		select {
		case <-old.done:
			if now.Sub(old.at) < StateMaxAge {
				return old, false
			}
		default:
			return old, false
		}
	} else {
		c.forget(now)
	}
	snap = &snapshot{done: make(chan struct{}), at: now, err: errStateLost, exists: known && old.exists}
	c.zones[zoneID] = snap
	return snap, true
}

// settle publishes the snapshot, and drops it where no zone of that name has
// been found.
func (c *states) settle(zoneID string, snap *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(snap.done)
	if !snap.exists && c.zones[zoneID] == snap {
		delete(c.zones, zoneID)
	}
}

// forget drops, at most once in stateForgotten, the zones that nobody has
// asked about for as long.
func (c *states) forget(now time.Time) {
	if now.Sub(c.cleared) < stateForgotten {
		return
	}
	c.cleared = now
	for zoneID, snap := range c.zones {
		if now.Sub(snap.at) >= stateForgotten {
			delete(c.zones, zoneID)
		}
	}
}
