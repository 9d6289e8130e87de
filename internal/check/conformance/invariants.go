package conformance

import (
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// invariants watches a zone from outside and checks its promises. It knows the
// settings and the answers, and a time of its own: true time, which passes when
// the stores' clock goes forward, and stands still when that is set back.
type invariants struct {
	w   *crowd
	now int64 // true time, microseconds

	admitted []int64 // when, in true time, microseconds
	// blindUntil: a loss hid admissions from the stores for which the limits
	// do not account, having been others a minute before.
	blindUntil int64
	changedAt  int64
	rule       zone.Settings
	phantoms   window.Phantoms

	// inside are all admissions. Until unsureUntil nobody can tell how many there are inside, in true time.
	inside      []admitted
	unsureUntil int64

	newest int64 // arrival
	joined int64 // in total

	// dead are places that were used, left, swept or deleted: they must not come back.
	dead map[line.Place]death
	// forgotten: a loss of which no server remembers who had departed just before.
	forgotten bool
	// stood is when the line is known to have stood at the latest loss, in milliseconds of the
	// store's clock.
	stood int64
	// epochs are those of all data that there were.
	epochs map[uint32]bool
}

// death is when a place ended.
type death struct {
	how string
	// idle is the idle timeout that was in force.
	idle int64
	// silent is when one who was swept had been silent for that long, in milliseconds.
	silent int64
}

// seen is what is known of one person.
type seen struct {
	// keeps: was told to wait, and did not leave or fall silent since.
	keeps    bool
	polled   int64 // true time, microseconds
	position int64
	arrived  int64 // as the latest answer had it, microseconds
}

func newInvariants(w *crowd) *invariants {
	return &invariants{w: w, changedAt: -minute.Microseconds() - 1, stood: math.MaxInt64, rule: w.model.settings.InForce(), dead: map[line.Place]death{},
		epochs: map[uint32]bool{w.model.epoch: true},
	}
}

func (w *invariants) passed(d time.Duration) { w.now += d.Microseconds() }

// changed: new settings. The limits hold at once, with the true log; but after
// a loss the store can only assume that they held for the last minute.
func (w *invariants) changed() {
	s := w.w.model.settings.InForce()
	if s.PerMinute != w.rule.PerMinute || s.Mode != w.rule.Mode || s.WindowSeconds != w.rule.WindowSeconds || s.Burst != w.rule.Burst {
		w.changedAt = w.now
	}
	if s.MaxInside > 0 && (w.rule.MaxInside == 0 || s.InsideBy != w.rule.InsideBy) {
		w.unsure()
	}
	w.rule = s
	for _, p := range w.w.people {
		if w.willBeOvertaken(p.token) {
			p.seen.position = 0
		}
	}
}

// willBeOvertaken: with the clock set back, one may have arrived in a time to come, in which
// people will gather for a draw, and some of them will stand before it.
func (w *invariants) willBeOvertaken(p line.Place) bool {
	g := w.w.model.settings.Gate()
	return g.UptoMicros > 0 && w.w.model.now < g.SettlesAtMillis && p.ArrivedAtMicros >= g.FromMicros
}

// answered checks an answer to the person, or to nobody who is known.
func (w *invariants) answered(p *person, a line.Answer) {
	w.noticeLoss()
	if a.Restored {
		w.everybodyMayFallBack()
		w.mayComeBack(place(a.Place))
	}
	if a.Status == line.Admitted {
		w.died("used", place(a.Place))
		w.admitted = append(w.admitted, w.now)
		w.neverOver()
		w.entered(a)
		if joined := w.w.model.totals.Joined; joined == w.joined || a.State.Live > 0 {
			w.even()
		}
	}
	if p == nil {
		return
	}
	s := &p.seen
	if joined := w.w.model.totals.Joined; joined != w.joined {
		w.joined = joined
		// A node that takes over at the very microsecond of the loss cannot know who arrived in the next few.
		if late := a.Place.ArrivedAtMicros - w.newest; late <= 0 && (w.w.model.phantoms.AtMillis == 0 || late <= -lostCalls) {
			w.w.t.Fatalf("arrived at %d, after one at %d", a.Place.ArrivedAtMicros, w.newest)
		}
		w.newest = a.Place.ArrivedAtMicros
		s.position = 0
	}
	switch a.Status {
	case line.Waiting:
		g := w.w.model.settings.Gate()
		anew := g.UptoMicros > 0 && s.arrived < g.FromMicros && a.Place.ArrivedAtMicros/1000 >= g.GatherAtMillis // as all who gather for a draw
		if s.position > 0 && a.Position > s.position && !anew {
			w.w.t.Fatalf("%s fell back from position %d to %d", name(p.id), s.position, a.Position)
		}
		*s = seen{keeps: true, polled: w.now, position: a.Position, arrived: a.Place.ArrivedAtMicros}
		if w.willBeOvertaken(a.Place) {
			s.position = 0
		}
	case line.Gone:
		if s.keeps && w.now-s.polled <= w.rule.IdleTimeout().Microseconds() {
			w.w.t.Fatalf("%s lost the place", name(p.id))
		}
	default:
		*s = seen{}
	}
}

// neverOver: the last admission did not break a limit.
func (w *invariants) neverOver() {
	if w.rule.Mode == zone.ModeOpen || w.now <= w.blindUntil {
		return
	}
	most := window.RatesOf(w.rule).Limit + w.rule.Burst
	if n := w.since(w.rule.Window()); n > most {
		w.w.t.Fatalf("%d admissions in a window of %v, at most %d", n, w.rule.Window(), most)
	}
	if n := w.since(minute); n > w.rule.PerMinute {
		w.w.t.Fatalf("%d admissions in a minute, at most %d", n, w.rule.PerMinute)
	}
}

// even: neither did one from a line, or beside a line, break that of a second.
func (w *invariants) even() {
	most := window.PerSecond(w.rule)
	if w.rule.Mode == zone.ModeOpen || w.now <= w.blindUntil {
		return
	}
	if n := w.since(second); n > most {
		w.w.t.Fatalf("%d admissions in a second in which somebody waits, at most %d", n, most)
	}
}

// since counts the admissions of a closed interval that ends now.
func (w *invariants) since(span time.Duration) (n int64) {
	for _, at := range w.admitted {
		if at >= w.now-span.Microseconds() {
			n++
		}
	}
	return n
}

// unknownTold: the call does not say which position the person was told last. So it may be told a higher one where places
// come back.
func (w *invariants) unknownTold(p *person) {
	if t := w.w.model.totals; t.Returned+t.Restored > 0 {
		p.seen.position = 0
	}
}

func (w *invariants) left(p *person) { p.seen = seen{} }

// mayBeLost: the visitor's place can go.
func (w *invariants) mayBeLost(id line.ID) {
	for _, p := range w.w.people {
		p.seen.keeps = p.seen.keeps && p.id != id
	}
}

// died: these places are no more.
func (w *invariants) died(how string, places ...line.Place) {
	for _, p := range places {
		w.dead[p] = death{how: how}
	}
}

// sweptAway: who was due then was swept.
func (w *invariants) sweptAway(p line.Place, due int64) {
	idle := w.rule.IdleTimeoutSeconds
	w.dead[place(p)] = death{"swept", idle, due + idle*1000}
}

// mayComeBack: no token that is dead stands in the line again (G11). It is excused
// where nobody remembers that it departed lately, or what time it was; and where the
// operator has made the idle timeout longer since it was swept.
func (w *invariants) mayComeBack(p line.Place) {
	d, dead := w.dead[p]
	if dead && !w.forgotten && (d.how != "swept" || d.idle >= w.rule.IdleTimeoutSeconds && d.silent <= w.stood) {
		w.w.t.Fatalf("%s, which arrived at %d, was %s, and came back", name(p.ID), p.ArrivedAtMicros, d.how)
	}
	delete(w.dead, p)
}

// swept: who was silent for longer than the idle timeout may be gone.
func (w *invariants) swept() {
	for _, p := range w.w.people {
		if w.now-p.seen.polled > w.rule.IdleTimeout().Microseconds() {
			p.seen.keeps = false
		}
	}
}

// losing: with nothing remembered and its clock set back, a store cannot know
// that places were newer than what it gives out now.
func (w *invariants) losing(m line.Memory) {
	w.forgotten, w.stood = w.forgotten || m.SeenAtMillis == 0, m.SeenAtMillis
	if w.w.model.anyEpoch {
		// Of two losses in a row, nobody remembers the first: who has not polled in
		// between holds a token of an epoch that is not known any more.
		for _, p := range w.w.people {
			p.seen.keeps = p.seen.keeps && p.token.Epoch == w.w.model.epoch
		}
	}
	if w.w.model.last > max(m.LastArrivalMicros, w.w.raw()) {
		for _, p := range w.w.people {
			p.seen.keeps = false
		}
	}
}

// lost: all data, just now.
func (w *invariants) lost() {
	w.epochs[w.w.model.epoch] = true
	w.newest, w.joined = 0, 0
	w.noticeLoss()
	w.everybodyMayFallBack()
}

// failedOver: what happened lately may be lost. Where places were put back then, which may be of a
// time to come, or the clock hides them, their arrivals are not known any more; nor are those behind a draw that is to come.
func (w *invariants) failedOver(unknown bool) {
	if g := w.w.model.settings.Gate(); unknown || g.UptoMicros > 0 && w.w.model.now < g.SettlesAtMillis {
		w.newest = min(w.newest, w.w.model.last)
		for _, p := range w.w.people {
			p.seen.keeps = p.seen.keeps && p.token.ArrivedAtMicros <= w.newest
		}
	}
	w.joined = w.w.model.totals.Joined
	for _, v := range w.w.model.waiting {
		delete(w.dead, place(v.Place)) // swept or let in, and nobody remembers it
	}
	w.noticeLoss()
	w.everybodyMayFallBack()
}

// anew: the zone was deleted with its line, and another one begins.
func (w *invariants) anew() {
	// With the clock set back to when earlier data began, which nobody remembers,
	// nobody can tell these data from those.
	w.joined, w.forgotten = 0, w.epochs[w.w.model.epoch]
	w.epochs[w.w.model.epoch] = true
	for _, p := range w.w.people {
		p.seen = seen{}
		w.died("deleted", place(p.token))
	}
	w.noticeLoss()
	w.changed()
}

// noticeLoss: the stores and the model began to count on lost admissions.
func (w *invariants) noticeLoss() {
	if w.w.model.phantoms == w.phantoms {
		return
	}
	w.phantoms = w.w.model.phantoms
	if w.rule.Mode == zone.ModeOpen || w.now-w.changedAt <= minute.Microseconds() {
		w.blindUntil = w.now + minute.Microseconds()
	}
}

func (w *invariants) everybodyMayFallBack() {
	for _, p := range w.w.people {
		p.seen.position = 0
	}
}
