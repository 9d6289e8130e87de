package guard

import (
	"context"
	"errors"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Join takes a place.
func (g *Guard) Join(ctx context.Context, zoneID string, id line.ID) (line.Told, error) {
	z, err := g.options.Lines.Find(ctx, zoneID)
	if err != nil {
		return line.Told{}, err
	}
	now := g.options.Lines.Millis()
	a, err := z.Join(ctx, id)
	if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted || a.Status == line.AdmittedBefore) { // else there is no place
		g.polls.keep(z, a.Place, &a, now)
	}
	return a, err
}

// Poll passes on a poll whose time has come, and answers an early one from memory. A visitor who sends too many early
// polls gets a *RefusedError. So does one who shows the tokens of several places in turn: after one is known to be gone, a
// poll for another goes to the store, and counts as early.
func (g *Guard) Poll(ctx context.Context, zoneID string, p line.Place) (line.Told, error) {
	z, err := g.options.Lines.Find(ctx, zoneID)
	if err != nil {
		return line.Told{}, err
	}
	now := g.options.Lines.Millis()
	e, early := g.polls.early(z, p, now)
	if p.ArrivedAtMicros == line.AnyArrival && e.kind == waiting {
		p.ArrivedAtMicros = e.place
		p = e.vouch(z, p)
	}
	if early {
		a := e.answer(p, now, z.AheadMillis())
		return a, g.flood(ctx, p, &a)
	}
	if e.another(p) {
		if err := g.flood(ctx, p, &line.Told{}); err != nil {
			return line.Told{}, err
		}
	}
	a, err := z.Poll(ctx, e.vouch(z, p))
	if err == nil {
		g.polls.keep(z, p, &a, now)
		return a, nil
	}
	if later := new(zones.LaterError); errors.As(err, &later) && later.Behind {
		if a, ok := g.polls.late(z, p, g.options.Lines.Millis(), later.RetryMillis); ok {
			return a, nil
		}
	}
	return a, err
}

// Leave gives a place up. A repetition within a second is answered from memory. Whoever gives up several places in turn
// too often gets a *RefusedError.
func (g *Guard) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z, err := g.options.Lines.Find(ctx, zoneID)
	if err != nil {
		return err
	}
	left, another := g.polls.left(z, p, g.options.Lines.Millis())
	if left {
		return nil
	}
	if another {
		if err := g.flood(ctx, p, &line.Told{}); err != nil {
			return err
		}
	}
	if err := z.Leave(ctx, p); err != nil {
		return err
	}
	g.polls.leave(z, p, g.options.Lines.Millis())
	return nil
}
