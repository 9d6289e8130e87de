package door

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Lines is what the rooms ask, and what this package asks for them.
type Lines interface {
	Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error)
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)
	Leave(ctx context.Context, zoneID string, p line.Place) error
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
}

// Join takes a place.
func (d *Door) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	now := d.millis()
	a, err := d.lines.Join(ctx, zoneID, id, former...)
	if err != nil {
		d.zones.failed(zoneID, err)
		return a, err
	}
	switch a.Status {
	case line.Waiting, line.Admitted, line.AdmittedBefore:
		d.heard(zoneID, d.zones.of(zoneID, now), a.Place, &a, now)
	default: // has no place
	}
	return a, nil
}

// Poll passes a poll on whose time has come, and answers others from memory. It
// returns a *RefusedError to a flood of those.
func (d *Door) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	now := d.millis()
	z := d.zones.of(zoneID, now)
	if z != nil {
		e, early := d.memory.early(z, p, now)
		if early {
			a := e.answer(p, now)
			return a, d.flood(ctx, p, &a)
		}
		p = e.vouch(z, p)
	}
	a, err := d.lines.Poll(ctx, zoneID, p)
	if err != nil {
		d.zones.failed(zoneID, err)
		return a, err
	}
	d.heard(zoneID, z, p, &a, now)
	return a, nil
}

// Leave gives a place up. Repeated at once, it is answered from memory.
func (d *Door) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z := d.zones.of(zoneID, d.millis())
	if z != nil && d.memory.left(z, p, d.millis()) {
		return nil
	}
	if err := d.lines.Leave(ctx, zoneID, p); err != nil {
		d.zones.failed(zoneID, err)
		return err
	}
	if z != nil {
		d.memory.leave(z, p, d.millis())
	}
	return nil
}

// Stats describes a zone's line.
func (d *Door) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	return d.lines.Stats(ctx, zoneID)
}

// Zone returns a zone's settings.
func (d *Door) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return d.lines.Zone(ctx, zoneID)
}

// heard remembers an answer of the store to one who was there at a time; z is nil for
// a zone that was not known then.
func (d *Door) heard(zoneID string, z *zoneMemory, p line.Place, a *line.Answer, asked int64) {
	if z == nil {
		if z = d.zones.look(zoneID, asked); z == nil {
			return
		}
	}
	z.learn(&a.State, asked)
	d.memory.keep(z, p, a, asked)
}

// millis is this process's monotonic time.
func (d *Door) millis() int64 {
	if d.now == nil {
		return int64(time.Since(d.epoch) / time.Millisecond) // reads one clock less than time.Now
	}
	return int64(d.now().Sub(d.epoch) / time.Millisecond)
}
