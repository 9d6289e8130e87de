package guard

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// Join takes a place.
func (g *Guard) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	now := g.millis()
	a, err := g.options.Lines.Join(ctx, zoneID, id, former...)
	if err != nil {
		g.zones.failed(zoneID, err)
		return a, err
	}
	if a.Status == line.Waiting || a.Status == line.Admitted || a.Status == line.AdmittedBefore { // else there is no place
		g.heard(zoneID, g.zones.of(zoneID, now), a.Place, &a, now)
	}
	return a, nil
}

// Poll passes on a poll whose time has come, and answers an early one from memory. A visitor who sends too many early
// polls gets a *RefusedError. So does one who shows the tokens of several places in turn: after one is known to be gone, a
// poll for another goes to the store, and counts as early.
func (g *Guard) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	now := g.millis()
	z := g.zones.of(zoneID, now)
	if z != nil {
		e, early := g.polls.early(z, p, now)
		if early {
			a := e.answer(p, now, z.ahead.Load())
			return a, g.flood(ctx, p, &a)
		}
		if e.another(p) {
			if err := g.flood(ctx, p, &line.Answer{}); err != nil {
				return line.Answer{}, err
			}
		}
		p = e.vouch(z, p)
	}
	a, err := g.options.Lines.Poll(ctx, zoneID, p)
	if err != nil {
		g.zones.failed(zoneID, err)
		return a, err
	}
	g.heard(zoneID, z, p, &a, now)
	return a, nil
}

// Leave gives a place up. A repetition within a second is answered from memory. Whoever gives up several places in turn
// too often gets a *RefusedError.
func (g *Guard) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z := g.zones.of(zoneID, g.millis())
	if z != nil {
		left, another := g.polls.left(z, p, g.millis())
		if left {
			return nil
		}
		if another {
			if err := g.flood(ctx, p, &line.Answer{}); err != nil {
				return err
			}
		}
	}
	if err := g.options.Lines.Leave(ctx, zoneID, p); err != nil {
		g.zones.failed(zoneID, err)
		return err
	}
	if z != nil {
		g.polls.leave(z, p, g.millis())
	}
	return nil
}

// heard remembers the store's answer to a call that began at asked. z is nil if the zone was not known then.
func (g *Guard) heard(zoneID string, z *cachedZone, p line.Place, a *line.Answer, asked int64) {
	if z == nil {
		if z = g.zones.look(zoneID, asked); z == nil {
			return
		}
	}
	z.learn(&a.State, asked)
	g.polls.keep(z, p, a, asked)
}

// millis is this process's monotonic time.
func (g *Guard) millis() int64 {
	if g.options.Now == nil {
		return int64(time.Since(g.epoch) / time.Millisecond) // reads one clock less than time.Now
	}
	return int64(g.options.Now().Sub(g.epoch) / time.Millisecond)
}
