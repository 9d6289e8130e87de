package zones

import (
	"context"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// Join is store.Visitors.Join for this zone; while the store is away, this server admits or refuses.
func (z *Zone) Join(ctx context.Context, id line.ID) (line.Told, error) {
	began := z.zones.Millis()
	a, err := z.zones.visit(ctx, z, visitor{place: line.Place{ID: id}, newcomer: true}, func(ctx context.Context) (line.Told, error) {
		return z.join(ctx, id)
	})
	if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted || a.Status == line.AdmittedBefore) { // else there is no place
		z.zones.polls.keep(z, a.Place, &a, began)
	}
	return a, err
}

func (z *Zone) join(ctx context.Context, id line.ID) (line.Told, error) {
	if a, ok := z.admittedHere(line.Place{ID: id}); ok {
		return a, nil
	}
	if !z.seen.Load() {
		// The caller went by what the configuration says, which may not name the invitation that an operator set.
		return line.Told{}, fmt.Errorf("zones: the zone was not read from the store yet: %w", line.ErrStoreUnavailable)
	}
	r := z.zones
	var drawn event.Drawn
	a, err := z.drawn(ctx, store.Join, func(bool) (line.Answer, error) {
		if drawn = z.drawnNow(id); drawn == (event.Drawn{}) {
			return r.store.Join(ctx, z.id, id)
		}
		return r.store.JoinDrawn(ctx, z.id, drawn, id)
	})
	if err != nil {
		return line.Told{}, err
	}
	told := z.setEstimate(a, drawn.ScoreMicros)
	z.answered(&told)
	return told, nil
}

// Poll is store.Visitors.Poll for this zone; while the store is away, this server admits or refuses. A poll that comes before
// its time is answered from memory. A visitor who sends too many of these gets a *guard.RefusedError. So does one who shows
// the tokens of several places in turn: after one is known to be gone, a poll for another goes to the store, and counts as
// early.
func (z *Zone) Poll(ctx context.Context, p line.Place) (line.Told, error) {
	r := z.zones
	now := r.Millis()
	known, early := r.polls.early(z, p, now)
	if p.ArrivedAtMicros == line.AnyArrival && known.kind == waiting {
		p.ArrivedAtMicros = known.place
		p = known.vouch(z, p)
	}
	if early {
		a := known.answer(p, now, z.ahead.Load())
		return a, r.guard.Flood(ctx, p.ID, a.PeriodMillis)
	}
	if known.another(p) {
		if err := r.guard.Flood(ctx, p.ID, 0); err != nil {
			return line.Told{}, err
		}
	}
	shown := known.vouch(z, p)
	a, err := r.visit(ctx, z, visitor{place: shown}, func(ctx context.Context) (line.Told, error) { return z.poll(ctx, shown) })
	if err == nil {
		r.polls.keep(z, p, &a, now)
		return a, nil
	}
	if later := new(LaterError); errors.As(err, &later) && later.Behind {
		if a, ok := r.polls.late(z, p, r.Millis(), later.RetryMillis); ok {
			return a, nil
		}
	}
	return a, err
}

func (z *Zone) poll(ctx context.Context, p line.Place) (line.Told, error) {
	if a, ok := z.admittedHere(p); ok {
		return a, nil
	}
	if _, ended := z.departures.find(p); ended {
		p.DueMillis = 0 // the token no longer shows that its visitor was in the line lately
	}
	a, err := z.drawn(ctx, store.Poll, func(again bool) (line.Answer, error) {
		shown := z.placed(p)
		if again {
			shown = z.gathered(p, z.settings.Load().Gate())
		}
		return z.zones.store.Poll(ctx, z.id, shown)
	})
	if err != nil {
		return line.Told{}, err
	}
	told := z.setEstimate(a, 0)
	z.answered(&told)
	z.repeatAdmission(&told, p)
	return told, nil
}

// admittedHere returns the admission of a visitor whom this server let in without the store, while the pass is good: every
// repeated call gets the same.
func (z *Zone) admittedHere(p line.Place) (a line.Told, ok bool) {
	if z.outside.Load() == 0 {
		return line.Told{}, false
	}
	if d, ended := z.departures.find(p); ended && d.local {
		return d.admission(p, z.zones.Millis()+z.ahead.Load())
	}
	return line.Told{}, false
}

// Leave is store.Visitors.Leave for this zone. While the store is away it fails: only the store can do it. A repetition within
// a second is answered from memory. Whoever gives up several places in turn too often gets a *guard.RefusedError.
func (z *Zone) Leave(ctx context.Context, p line.Place) error {
	r := z.zones
	left, another := r.polls.left(z, p, r.Millis())
	if left {
		return nil
	}
	if another {
		if err := r.guard.Flood(ctx, p.ID, 0); err != nil {
			return err
		}
	}
	if err := z.leave(ctx, p); err != nil {
		return err
	}
	r.polls.leave(z, p, r.Millis())
	return nil
}

// leave asks the store. A departure that is remembered already is not remembered once more: repeated calls must not push the
// departures of others out.
func (z *Zone) leave(ctx context.Context, p line.Place) error {
	d, ended := z.departures.find(p)
	if ended && d.token == p.ArrivedAtMicros && p.AdmittedAtMillis == 0 {
		p.AdmittedAtMillis = d.AdmittedAtMillis // the visitor has not heard of the admission
	}
	bounded := z.zones.deadlines.bound(ctx)
	_, err := ask(bounded, z, store.Leave, func() (none, error) { return none{}, z.zones.store.Leave(bounded, z.id, p) })
	if unanswered(ctx, err) {
		return z.zones.later(z, visitor{place: p}, unavailable(err))
	}
	if err == nil && !ended {
		z.departed(&line.Answer{Place: p}, false)
	}
	if err == nil && p.AdmittedAtMillis > 0 && z.settings.Load().MaxInside > 0 {
		z.end(line.Admission{ID: p.ID, AtMillis: p.AdmittedAtMillis}.JTI(z.id), false)
	}
	return err
}
