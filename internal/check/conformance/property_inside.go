package conformance

import (
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// admitted is an admission that was given out, and until when it is inside as the stores were told, in true time.
type admitted struct {
	line.Admission
	until int64 // microseconds
}

// anyAdmission is one that was given out, or sometimes one that never was.
func (c *crowd) anyAdmission(t *rapid.T) line.Admission {
	if len(c.invariants.inside) == 0 {
		t.Skip("nobody was let in yet")
	}
	a := c.invariants.inside[rapid.IntRange(0, len(c.invariants.inside)-1).Draw(t, "admission")].Admission
	if rapid.IntRange(0, 9).Draw(t, "made up at 0") == 0 {
		a.AtMillis--
	}
	return a
}

// here: a server tells that the sessions of some go on, who may have been anywhere.
func (c *crowd) here(t *rapid.T) {
	var told line.SessionReport
	for range rapid.IntRange(1, 4).Draw(t, "sessions") {
		a, left := c.anyAdmission(t), rapid.Int64Range(1, c.model.settings.SessionSeconds*1000).Draw(t, "left")
		for _, in := range c.invariants.inside {
			if in.Admission == a { // no session ends earlier than it was told before
				left = max(left, (in.until-c.invariants.now)/1000+1)
			}
		}
		one := line.Stay{Admission: a, LeftMillis: left, Begins: rapid.Bool().Draw(t, "begins")}
		if rapid.IntRange(0, 3).Draw(t, "moves at 0") == 0 {
			one.AtMillis, one.Begins, one.Moved = one.AtMillis+1, false, true
		}
		told.Stays = append(told.Stays, one)
	}
	if rapid.Bool().Draw(t, "lost") {
		told.LostAtMillis, told.Lost = c.model.healFrom, rapid.Int64Range(0, 12).Draw(t, "supposed")
	}
	reply := c.report(told)
	for i, s := range told.Stays {
		c.invariants.told(s, reply.Statuses[i])
	}
}

// done: a server tells that some are done; one of them may only be named.
func (c *crowd) done(t *rapid.T) {
	var told line.SessionReport
	for range rapid.IntRange(1, 3).Draw(t, "admissions") {
		told.Stays = append(told.Stays, line.Stay{Admission: c.anyAdmission(t), Named: rapid.Bool().Draw(t, "named"), Before: rapid.Bool().Draw(t, "before")})
	}
	told.SinceMillis = c.model.now - rapid.Int64Range(0, 60_000).Draw(t, "since")
	reply := c.report(told)
	for i, s := range told.Stays {
		c.invariants.told(s, reply.Statuses[i])
	}
}

// revoke: an operator revokes one admission, or all; or says that nobody is inside but those who are known.
func (c *crowd) revoke(t *rapid.T) {
	s := c.model.settings
	i := s.InsideState
	switch rapid.SampledFrom([]string{"one", "all", "reset"}).Draw(t, "what") {
	case "one":
		a := c.anyAdmission(t)
		i = i.Revoke(uuid.UUID(a.JTI(c.zoneID)).String())
		c.invariants.told(line.Stay{Admission: a}, line.StayOver)
	case "all":
		i.RevokedUpToMillis = c.model.now + second.Milliseconds()
		if rapid.Bool().Draw(t, "told later") {
			i.RevokedUpToMillis = max(s.InsideState.RevokedUpToMillis, i.RevokedUpToMillis-rapid.Int64Range(0, 90_000).Draw(t, "milliseconds"))
		}
		c.invariants.inside = slices.DeleteFunc(c.invariants.inside, func(in admitted) bool { return in.AtMillis <= i.RevokedUpToMillis })
	default:
		i.ResetAtMillis = c.model.now
		c.invariants.unsure()
	}
	s.InsideState = i
	c.put(s)
	c.invariants.changed()
}

// entered: an admission is inside for the life of its pass, or for a session.
func (w *invariants) entered(a line.Answer) {
	s := w.rule
	length := s.PassTTL()
	if s.InsideBy == zone.InsideByAdmission {
		length = s.Session()
	}
	w.inside = append(w.inside, admitted{line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}, w.now + length.Microseconds()})
	if s.MaxInside == 0 || s.Mode == zone.ModeOpen || w.now < w.unsureUntil {
		return
	}
	n := int64(0)
	for _, in := range w.inside {
		if in.until > w.now {
			n++
		}
	}
	if n > s.MaxInside {
		w.w.t.Fatalf("%d are inside, at most %d", n, s.MaxInside)
	}
}

// told: the stores were told of an admission.
func (w *invariants) told(s line.Stay, status line.StayStatus) {
	stays := status == line.StayInside && s.LeftMillis > 0 && !s.Named
	if s.Moved && stays && w.rule.MaxInside > 0 {
		from := line.Admission{ID: s.ID, AtMillis: s.AtMillis - 1}
		if i := slices.IndexFunc(w.inside, func(in admitted) bool { return in.Admission == from }); i >= 0 {
			w.inside[i].Admission = s.Admission
		}
	}
	if stays && !slices.ContainsFunc(w.inside, func(in admitted) bool { return in.Admission == s.Admission }) {
		w.unsure() // no server has signed a session of one that never was
	}
	for i := range w.inside {
		in := &w.inside[i]
		switch {
		case in.Admission != s.Admission:
		case status == line.StayOver:
			in.until = 0
		case stays && w.rule.MaxInside > 0 && w.rule.InsideBy == zone.InsideBySession:
			if in.until <= w.now { // no server tells of one whose time is over
				w.unsure()
			}
			in.until = max(in.until, w.now+s.LeftMillis*1000)
		}
	}
}

// unsure: what the stores knew of those inside may be lost, and no server remembers it.
func (w *invariants) unsure() {
	w.unsureUntil = w.now + (10 * minute).Microseconds() // the longest session
}
