package zones

import (
	"context"
	"errors"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// readByAll is after which time every server has read a change: each reads the list of zones once a second.
const readByAll = 3 * time.Second

// change is what an operator last changed through this server, until all servers have read it. If the store loses
// everything before that, another server may put the zone back as it was.
type change struct {
	was, now zone.Settings
	by       audit.By
	at       time.Time
	// lostAt is the last loss of the store that was heard of at the time of the change.
	lostAt int64
}

// changed remembers a change that the store has taken.
func (r *Zones) changed(z *Zone, was, now zone.Settings, by audit.By) {
	r.mu.Lock()
	defer r.mu.Unlock()
	z.change = &change{was: was, now: now, by: by, at: r.now(), lostAt: z.lostAt.Load()}
}

// sendLost makes the latest change again if the store was just seen to have the settings of before it, and has lost data since.
// A change that was undone without a loss, somebody has taken back.
func (r *Zones) sendLost(ctx context.Context, z *Zone) {
	r.mu.Lock()
	c, is := z.change, *z.stored.Load()
	r.mu.Unlock()
	if c == nil || is.Equal(c.now) && r.now().Sub(c.at) <= readByAll {
		return
	}
	if is.Equal(c.was) && !is.Equal(c.now) {
		o, err := z.observe(ctx, 0)
		if err == nil && o.State.LostAtMillis != c.lostAt {
			if _, err = r.write(ctx, c.now, &c.was, c.by); err == nil {
				r.remember(c.now, false)
				r.log.Warn("the store lost a change, which was made again", "zone", z.id, "by", c.by.Who())
			}
		}
		if err != nil && !errors.Is(err, line.ErrZoneChanged) {
			return // the next reading of the list tries again
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if z.change == c {
		z.change = nil
	}
}
