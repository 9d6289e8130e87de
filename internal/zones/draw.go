package zones

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// DrawSeeds knows the seeds of draws.
type DrawSeeds interface {
	// Seed returns the seed of a draw; ok is false for one that is not known.
	Seed(zoneID string, d event.Draw) (seed event.Seed, ok bool)
}

// draw is a draw whose seed this server knows.
type draw struct {
	event.Draw
	zoneID string
	seed   event.Seed
}

// score returns the place, in microseconds, that the draw gives to the visitor with the id.
func (d *draw) score(id line.ID) int64 {
	return d.Score(d.seed, event.TicketOf(d.zoneID, d.Event, id))
}

// drawsOf returns the draws of the settings whose seeds are known.
func drawsOf(s zone.Settings, seeds DrawSeeds) *[]draw {
	var all []draw
	for _, d := range s.EventState.Draws {
		if seeds == nil {
			break
		}
		if seed, known := seeds.Seed(s.ZoneID, d); known {
			all = append(all, draw{d, s.ZoneID, seed})
		}
	}
	return &all
}

// drawnNow returns what the current draw gives to a visitor who joins; the zero value if there is no draw now, or its
// seed is not known.
func (z *Zone) drawnNow(id line.ID) event.Drawn {
	if all, now := *z.draws.Load(), z.settings.Load().EventState.Draw(); now != nil && len(all) > 0 && all[len(all)-1].Nonce == now.Nonce {
		d := &all[len(all)-1]
		return d.Drawn(d.seed, event.TicketOf(d.zoneID, d.Event, id))
	}
	return event.Drawn{}
}

// placed returns the place with its score, if a draw has given it one; or gives it one now, as people gather whom it precedes.
func (z *Zone) placed(p line.Place) line.Place {
	if g := z.settings.Load().Gate(); g.DrawOpenAt(z.zones.Millis() + z.ahead.Load()) {
		return z.gathered(p, g)
	}
	all := *z.draws.Load()
	for i := range all {
		if all[i].Holds(p.ArrivedAtMicros) {
			p.ScoreMicros = all[i].score(p.ID)
		}
	}
	return p
}

// gathered returns the place with the score that the draw gives it for which people gather, whether it is of before or not.
func (z *Zone) gathered(p line.Place, g event.Gate) line.Place {
	if d := z.drawnNow(p.ID); g.SameDraw(d) {
		p.ScoreMicros = d.ScoreMicros
	}
	return p
}

// Drew returns where a draw has placed the visitor with the place, and by which ticket; 0 if none has.
func (z *Zone) Drew(p line.Place) (scoreMicros int64, t event.Ticket) {
	for _, d := range *z.draws.Load() {
		if d.Holds(p.ArrivedAtMicros) {
			t = event.TicketOf(d.zoneID, d.Event, p.ID)
			scoreMicros = d.Score(d.seed, t)
		}
	}
	return scoreMicros, t
}

// drawn makes a call that may need a draw's seed. If the store answers that people gather for a draw of which this
// server has not heard, or not yet by its clock, drawn reads the zone and makes the call once more, as again.
func (z *Zone) drawn(ctx context.Context, call store.Call, do func(again bool) (line.Answer, error)) (line.Answer, error) {
	a, err := ask(ctx, z, call, func() (line.Answer, error) { return do(false) })
	if err != nil || a.Status != line.Undrawn {
		return a, err
	}
	is, err := z.zones.readZone(ctx, z.id)
	if err == nil {
		z.zones.remember(is, false)
		a, err = ask(ctx, z, call, func() (line.Answer, error) { return do(true) })
	}
	if err == nil && a.Status == line.Undrawn {
		err = fmt.Errorf("zones: people gather for a draw whose seed is not known: %w", line.ErrStoreUnavailable)
	}
	return a, err
}

// Drawn implements store.Drawer.
func (r *Zones) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	return measured(r, store.Drawn, func() ([]line.Place, error) { return r.store.Drawn(ctx, zoneID, after, fromMicros, uptoMicros) })
}

// DrawnAside implements store.Drawer.
func (r *Zones) DrawnAside(ctx context.Context, zoneID string, sinceMillis, fromMicros, uptoMicros int64) ([]line.Place, error) {
	return measured(r, store.Drawn, func() ([]line.Place, error) {
		return r.store.DrawnAside(ctx, zoneID, sinceMillis, fromMicros, uptoMicros)
	})
}

// KeepDraw implements store.Drawer.
func (r *Zones) KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (written bool, err error) {
	return measured(r, store.KeepDraw, func() (bool, error) { return r.store.KeepDraw(ctx, zoneID, nonce, list) })
}

// Draw implements store.Drawer.
func (r *Zones) Draw(ctx context.Context, zoneID, nonce string) ([]byte, error) {
	return measured(r, store.Draw, func() ([]byte, error) { return r.store.Draw(ctx, zoneID, nonce) })
}
