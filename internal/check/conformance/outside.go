package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Outside drives a store through two servers, each with a gate, and counts who is inside as the shop does: by the sessions that
// began and did not end. It knows nothing of how the store counts, and must never count more than the cap: whatever is lost,
// restarted, renewed, late or repeated. More runs: -rapid.checks.
func Outside(t *testing.T, open Open) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		o := newOutside(t, open)
		t.Repeat(map[string]func(*rapid.T){
			"time goes on":             o.timeGoesOn,
			"time goes on ":            o.timeGoesOn,
			"time goes on  ":           o.timeGoesOn,
			"visitors come":            o.come,
			"a pass is used":           o.usePass,
			"a pass is used ":          o.usePass,
			"a pass is shown again":    o.showAgain,
			"sessions ask for a page":  o.ask,
			"sessions ask for a page ": o.ask,
			"one is done":              o.done,
			"one leaves":               o.leave,
			"late calls":               o.repeat,
			"an operator revokes":      o.revoke,
			"a setting changes":        o.change,
			"it is deleted and made":   o.makeAgain,
			"all is lost":              o.loseAll,
			"a key is lost":            o.loseKey,
			"a fail-over":              o.failOver,
			"a server restarts":        o.restartOne,
			"a server dies with it":    o.dieTogether,
		})
	})
}

// held is the store that servers have, which is another one when all is lost.
type held struct{ store.Store }

// outside is a shop with two gates.
type outside struct {
	t       TB
	clock   *Clock
	harness Harness
	store   *held
	// config are the settings that servers begin with.
	settings, config zone.Settings
	servers          [2]*zones.Zones
	beats            int
	people           []*shopper
	spent            map[[16]byte]bool // by which passes were used, which the store may lose
	next             int
	most             int64
}

// shopper is a visitor, as the shop knows it.
type shopper struct {
	place           line.Place
	waits           bool
	jti             [16]byte
	given, expires  int64 // of the pass, in milliseconds of the true time
	began, until    time.Time
	length          time.Duration
	session, isDone bool
}

func newOutside(t *rapid.T, open Open) *outside {
	o := &outside{t: t, clock: NewClock(), spent: map[[16]byte]bool{}}
	o.harness = open(t, o.clock.Now)
	o.store = &held{o.harness.Store}
	s := zone.Defaults("SHOP")
	s.PerMinute, s.MaxPerSecond, s.WindowSeconds = 600, zone.PerSecondNone, 1
	s.MaxInside = rapid.SampledFrom([]int64{1, 2, 3, 5}).Draw(t, "cap")
	s.SessionSeconds = rapid.SampledFrom([]int64{60, 90, 200}).Draw(t, "session")
	s.PassTTLSeconds = rapid.SampledFrom([]int64{20, 70, 300}).Draw(t, "pass ttl")
	s.InsideBy = rapid.SampledFrom([]zone.InsideBy{zone.InsideBySession, zone.InsideBySession, zone.InsideByAdmission}).Draw(t, "inside by")
	o.settings, o.config, o.most = s, s, s.MaxInside
	if _, err := o.store.PutZone(t.Context(), s, nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
	for i := range o.servers {
		o.restart(i)
	}
	return o
}

// restart has a server begin anew, which knows the zone from its configuration.
func (o *outside) restart(i int) {
	o.servers[i] = zones.New(zones.Options{Store: o.store, Seeds: []zone.Settings{o.config}, Servers: 2, Now: o.clock.Now})
	o.servers[i].RunOnce(o.t.Context())
	o.servers[i].ReportInsideOnce(o.t.Context())
}

// restartOne: it takes longer than the other needs to put back what was lost. What both have forgotten nobody knows.
func (o *outside) restartOne(t *rapid.T) {
	o.pass(second)
	o.restart(rapid.IntRange(0, 1).Draw(t, "server"))
}

func (o *outside) gate(t *rapid.T) *zones.Zone {
	return o.servers[rapid.IntRange(0, 1).Draw(t, "gate")].Known("SHOP")
}

// pass has time pass, in which each server does what it does each second, and those who wait poll.
func (o *outside) pass(d time.Duration) {
	for ; d > 0; d -= 300 * milli {
		o.clock.Add(min(d, 300*milli))
		o.beats++
		for i, s := range o.servers {
			if o.beats%3 == i {
				_, _ = s.Observe(o.t.Context(), "SHOP")
				s.RunOnce(o.t.Context())
			}
			if o.beats%3 == 2-i {
				s.ReportInsideOnce(o.t.Context())
			}
		}
	}
	for _, p := range o.people {
		if p.waits {
			o.answered(p, func(z *zones.Zone) (line.Told, error) { return z.Poll(o.t.Context(), p.place) })
		}
	}
}

func (o *outside) timeGoesOn(t *rapid.T) {
	most := rapid.SampledFrom([]time.Duration{second, 10 * second, 40 * second}).Draw(t, "up to")
	o.pass(time.Duration(rapid.Int64Range(1, most.Milliseconds()).Draw(t, "milliseconds")) * milli)
}

func (o *outside) answered(p *shopper, ask func(*zones.Zone) (line.Told, error)) {
	z := o.servers[o.beats%2].Known("SHOP")
	if z == nil {
		return // while there is no zone
	}
	a, err := ask(z)
	if err != nil {
		return // comes again
	}
	p.waits = a.Status == line.Waiting
	switch a.Status {
	case line.Waiting:
		p.place = a.Place
	case line.Admitted, line.AdmittedBefore:
		p.place, p.given, p.expires = a.Place, a.AdmittedAtMillis-a.AheadMillis, a.ExpiresAtMillis-a.AheadMillis
		p.jti = line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}.JTI("SHOP")
	default:
	}
}

func (o *outside) come(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "visitors") {
		o.next++
		p := &shopper{place: line.Place{ID: visitorID(fmt.Sprint("v", o.next))}}
		o.people = append(o.people, p)
		o.answered(p, func(z *zones.Zone) (line.Told, error) { return z.Join(o.t.Context(), p.place.ID) })
	}
}

// any draws one of those who are so.
func (o *outside) any(t *rapid.T, is func(*shopper) bool) *shopper {
	some := slices.DeleteFunc(slices.Clone(o.people), func(p *shopper) bool { return !is(p) })
	if len(some) == 0 {
		t.Skip("nobody")
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(t, "who")]
}

// begins has a gate take a pass, as package site does.
func (o *outside) begins(gate *zones.Zone, p *shopper) {
	now, s := o.clock.Now(), gate.Settings()
	length, ends := s.Session(), time.UnixMilli(p.expires)
	if s.InsideBy == zone.InsideByAdmission {
		length = min(length, time.UnixMilli(p.given).Add(length).Sub(now))
		ends = now.Add(min(length, ends.Sub(now)))
	}
	if o.spent[p.jti] || gate.Over(p.jti) || !now.Add(zones.ToldWithin).Before(ends) {
		return
	}
	o.spent[p.jti] = true
	if over, err := gate.Begin(o.t.Context(), p.jti, now.Add(length)); over || err != nil {
		o.spent[p.jti] = over // else the same browser comes again
		return
	}
	p.session, p.isDone, p.began, p.length, p.until = true, false, now, length, now.Add(length)
	o.count()
}

func (o *outside) usePass(t *rapid.T) {
	o.begins(o.gate(t), o.any(t, func(p *shopper) bool { return p.expires > 0 && !p.session }))
}

// showAgain: a pass whose session is over, which a store that lost that it was spent takes once more.
func (o *outside) showAgain(t *rapid.T) {
	o.begins(o.gate(t), o.any(t, func(p *shopper) bool { return p.session && !p.isDone && !p.until.After(o.clock.Now()) }))
}

func (p *shopper) inside(now time.Time) bool { return p.session && !p.isDone && p.until.After(now) }

// count is what the shop sees.
func (o *outside) count() {
	n := int64(0)
	for _, p := range o.people {
		if p.inside(o.clock.Now()) {
			n++
		}
	}
	if n > o.most {
		o.t.Fatalf("the shop serves %d, at most %d may be inside", n, o.most)
	}
}

// ask has some sessions ask for pages, each at any gate, which renews those of which half is over.
func (o *outside) ask(t *rapid.T) {
	gate, now := o.gate(t), o.clock.Now()
	for _, p := range o.people {
		if !p.inside(now) || rapid.IntRange(0, 3).Draw(t, "asks not at 0") == 0 {
			continue
		}
		if over, _ := gate.Here(p.jti, p.until); over {
			p.isDone = true
		} else if p.until.Sub(now) <= p.length/2 && gate.MayRenew(p.jti, p.until) {
			length := gate.Settings().Session()
			if over, err := gate.Begin(o.t.Context(), p.jti, now.Add(length)); !over && err == nil {
				p.length, p.until = length, now.Add(length)
			}
		}
	}
	o.count()
}

func (o *outside) done(t *rapid.T) {
	gate, p := o.gate(t), o.any(t, func(p *shopper) bool { return p.inside(o.clock.Now()) })
	gate.Here(p.jti, p.until)
	if rapid.Bool().Draw(t, "by the backend") {
		_, _ = gate.Done(o.t.Context(), p.jti, false)
	} else {
		gate.End(p.jti)
	}
	p.isDone = true
}

// leave: one who was admitted gives the slot back, perhaps before the pass is used; or one leaves the line.
func (o *outside) leave(t *rapid.T) {
	p := o.any(t, func(p *shopper) bool { return p.waits || p.expires > 0 && !p.isDone })
	if err := o.gate(t).Leave(o.t.Context(), p.place); err == nil {
		p.isDone, p.waits = true, false
	}
}

// repeat: calls of those who are over come late, and again.
func (o *outside) repeat(t *rapid.T) {
	gate, p := o.gate(t), o.any(t, func(p *shopper) bool { return p.isDone && p.expires > 0 })
	switch rapid.SampledFrom([]string{"leave", "done", "named", "pass"}).Draw(t, "call") {
	case "leave":
		_ = gate.Leave(o.t.Context(), p.place)
	case "done":
		_, _ = gate.Done(o.t.Context(), p.jti, false)
	case "named":
		_, _ = gate.Done(o.t.Context(), p.jti, true)
	default:
		if !p.session {
			o.begins(gate, p)
		}
	}
}

// read reads the settings that the store has, when they are put back.
func (o *outside) read(t *rapid.T) {
	var err error
	for range 5 {
		if o.settings, err = o.store.Zone(o.t.Context(), "SHOP"); err == nil {
			return
		}
		o.pass(second)
	}
	t.Fatal(err)
}

func (o *outside) put(t *rapid.T) {
	var err error
	for range 5 { // a server that has just begun waits whether another puts the zone back
		if _, err = o.servers[0].PutZone(o.t.Context(), o.settings, nil, audit.By{Name: "Ada"}); err == nil {
			return
		}
		o.pass(second)
	}
	t.Fatal(err)
}

func (o *outside) revoke(t *rapid.T) {
	o.read(t)
	if rapid.Bool().Draw(t, "all") {
		upto := o.servers[0].KnownInside("SHOP").NowMillis + 1_000
		for range rapid.IntRange(0, 2).Draw(t, "the store is told later") {
			o.pass(second)
			o.come(t)
			if p := o.people[len(o.people)-1]; p.expires > 0 && !p.session {
				o.begins(o.gate(t), p)
			}
		}
		o.read(t)
		o.settings.InsideState.RevokedUpToMillis = max(upto, o.settings.InsideState.RevokedUpToMillis)
		o.put(t)
		for _, p := range o.people {
			a, _ := line.AdmissionOf("SHOP", p.jti)
			p.isDone = p.isDone || p.expires > 0 && a.AtMillis <= upto
		}
		o.pass(second)
		return
	}
	p := o.any(t, func(p *shopper) bool { return p.inside(o.clock.Now()) })
	o.settings.InsideState = o.settings.InsideState.Revoke(uuid.UUID(p.jti).String())
	o.put(t)
	p.isDone = true
}

func (o *outside) change(t *rapid.T) {
	o.read(t)
	o.settings.SessionSeconds = rapid.SampledFrom([]int64{60, 90, 200}).Draw(t, "session")
	o.settings.PassTTLSeconds = rapid.SampledFrom([]int64{20, 70, 300}).Draw(t, "pass ttl")
	o.settings.InsideBy = rapid.SampledFrom([]zone.InsideBy{zone.InsideBySession, zone.InsideByAdmission}).Draw(t, "inside by")
	o.settings.PerMinute = rapid.SampledFrom([]int64{600, 60}).Draw(t, "per minute")
	o.put(t)
	o.pass(second) // all servers know it by then
}

// makeAgain: an operator deletes the zone and makes it again, when servers have told what the store lost before. Sessions and passes are
// good as before.
func (o *outside) makeAgain(t *rapid.T) {
	o.pass(second)
	if err := o.servers[0].DeleteZone(o.t.Context(), "SHOP", audit.By{Name: "Ada"}); err != nil {
		return // the store was lost, and is put back
	}
	if rapid.Bool().Draw(t, "the others see that it is gone") {
		o.pass(second)
	}
	o.settings.InsideState = zone.InsideState{}
	o.put(t)
	o.pass(second)
}

func (o *outside) loseAll(*rapid.T) {
	o.store.Store = o.harness.Lose(o.t)
	clear(o.spent)
}

// dieTogether: all is lost, and a server with it. What only that server knew nobody knows any more.
func (o *outside) dieTogether(t *rapid.T) {
	o.pass(second)
	o.loseAll(t)
	o.restart(rapid.IntRange(0, 1).Draw(t, "server"))
}

func (o *outside) loseKey(t *rapid.T) {
	if o.harness.LoseKey == nil {
		t.Skip("a store that loses all or nothing")
	}
	o.harness.LoseKey(o.t, "SHOP", rapid.SampledFrom([]string{"zone", "line", "live", "due", "log", "inside", "over"}).Draw(t, "key"))
}

// failOver: what happened in the last second is lost.
func (o *outside) failOver(t *rapid.T) {
	if o.harness.Mark == nil {
		t.Skip("a store that loses all or nothing")
	}
	rewind := o.harness.Mark(o.t)
	for range rapid.IntRange(1, 3).Draw(t, "lost calls") {
		switch rapid.SampledFrom([]string{"come", "use", "ask", "done", "time"}).Draw(t, "lost") {
		case "come":
			o.come(t)
		case "ask":
			o.ask(t)
		case "use":
			if len(o.people) > 0 {
				o.begins(o.gate(t), o.people[len(o.people)-1])
			}
		case "done":
			for _, p := range o.people {
				if p.inside(o.clock.Now()) {
					_, _ = o.servers[0].Known("SHOP").Done(o.t.Context(), p.jti, false)
					p.isDone = true
					break
				}
			}
		default:
			o.pass(300 * milli)
		}
	}
	rewind(o.t)
	o.pass(second)
}
