package registry

import (
	"context"
	"errors"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// readByAll is after which time every server has read a change: each reads the list of zones once a second.
const readByAll = 3 * time.Second

// change is what an operator last changed through this server, until all servers have read it. If the store loses
// everything before that, another server may put the zone back as it was.
type change struct {
	was, now zone.Settings
	by       string
	at       time.Time
	// lostAt is the last loss of the store that was heard of at the time of the change.
	lostAt int64
	// undone: the store has the settings of before.
	undone bool
}

// changed remembers a change that the store has taken.
func (r *Registry) changed(z *Zone, was, now zone.Settings, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	z.change = &change{was: was, now: now, by: by, at: r.now(), lostAt: z.lostAt.Load()}
}

// undoes reports whether settings that the store has are those of before the latest change. Then it is to be found out
// why, and the change stays in force until then. The caller holds mu.
func (z *Zone) undoes(s zone.Settings) bool {
	c := z.change
	switch {
	case c == nil:
	case s.Equal(c.was) && !s.Equal(c.now):
		c.undone = true
		return true
	case !s.Equal(c.now) || z.registry.now().Sub(c.at) > readByAll:
		z.change = nil
	}
	return false
}

// redo writes changes again that the store has lost. A change that was undone without a loss, somebody has taken back.
func (r *Registry) redo(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		r.mu.Lock()
		c := z.change
		undone := c != nil && c.undone
		r.mu.Unlock()
		if !undone {
			continue
		}
		o, err := z.observe(ctx, 0)
		is := c.was
		if err == nil && o.State.LostAtMillis != c.lostAt {
			if _, err = r.write(ctx, c.now, &c.was, c.by); err == nil {
				is = c.now
				r.log.Warn("the store lost a change, which was made again", "zone", z.id, "by", c.by)
			}
		}
		if err != nil && !errors.Is(err, line.ErrZoneChanged) {
			continue // the next reading of the list tries again
		}
		r.mu.Lock()
		if z.change == c {
			z.change = nil
			z.set(is)
		}
		r.mu.Unlock()
	}
}
