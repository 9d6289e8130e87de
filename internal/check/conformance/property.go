package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Property drives the stores and the model with the same random calls, and
// compares every answer. What must hold whatever the rule is (the limits, the
// order, nobody's place lost) is checked apart, by invariants that know nothing
// of the rule. More runs: -rapid.checks, longer ones: -rapid.steps.
func Property(t *testing.T, open ...Open) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		c := newCrowd(t, open...)
		t.Repeat(map[string]func(*rapid.T){
			"a rush":                   c.rush,
			"join":                     c.join,
			"join again":               c.joinAgain,
			"poll":                     c.poll,
			"poll with any token":      c.pollAny,
			"leave":                    c.leave,
			"sweep":                    c.sweep,
			"stats":                    func(*rapid.T) { c.stats() },
			"the record of changes":    func(*rapid.T) { c.changes() },
			"the operator changes":     c.change,
			"the zone is made anew":    c.anew,
			"time goes on":             c.timeGoesOn,
			"time goes back":           c.timeGoesBack,
			"the crowd polls as told":  c.asTold,
			"the crowd polls as told ": c.asTold, // most of what happens
			"the data is lost":         c.lost,
			"a fail-over":              c.failOver,
			"an event":                 c.event,
			"steps that are due":       c.steps,
			"a session goes on":        c.here,
			"a session goes on ":       c.here,
			"a session ends":           c.done,
			"an operator revokes":      c.revoke,
		})
	})
}

// crowd is who comes to the zone, and what they hold.
type crowd struct {
	*fixture
	invariants *invariants
	people     []*person
	// tokens are all that were ever given out.
	tokens []line.Place
}

type person struct {
	id    line.ID
	token line.Place
	// stays is false for one who never polls of its own accord.
	stays   bool
	waiting bool
	due     int64 // microseconds of the store's clock
	seen    seen  // for the invariants
}

func newCrowd(t *rapid.T, open ...Open) *crowd {
	c := &crowd{fixture: newFixture(t, open...)}
	c.put(drawSettings(t, zone.Defaults(c.zoneID)))
	c.invariants = newInvariants(c)
	return c
}

var (
	limits = rapid.SampledFrom([]int64{10, 20, 60, 100, 5, 600, 1, 0, 600_000})
	spans  = rapid.SampledFrom([]int64{6, 1, 10, 60})
	modes  = rapid.SampledFrom([]zone.Mode{zone.ModeQueue, zone.ModeQueue, zone.ModeQueue, zone.ModeClosed, zone.ModeOpen})
)

func drawSettings(t *rapid.T, s zone.Settings) zone.Settings {
	s.PerMinute = limits.Draw(t, "per minute")
	s.WindowSeconds = spans.Draw(t, "window")
	s.Burst = rapid.SampledFrom([]int64{0, 0, 0, 1, 5}).Draw(t, "burst")
	s.MaxPerSecond = rapid.SampledFrom([]zone.PerSecond{zone.PerSecondAuto, zone.PerSecondAuto, zone.PerSecondNone, 1, 3}).Draw(t, "max per second")
	s.IdleTimeoutSeconds = rapid.SampledFrom([]int64{60, 20, 5}).Draw(t, "idle timeout")
	s.KeepPlaceSeconds = rapid.SampledFrom([]int64{0, 15, 60, 900}).Draw(t, "keep place")
	s.PassTTLSeconds = rapid.SampledFrom([]int64{0, 60, 10, 3601}).Draw(t, "pass ttl")
	s.MaxInside = rapid.SampledFrom([]int64{0, 0, 0, 1, 3, 8}).Draw(t, "max inside")
	s.InsideBy = rapid.SampledFrom([]zone.InsideBy{zone.InsideBySession, zone.InsideBySession, zone.InsideByAdmission}).Draw(t, "inside by")
	s.SessionSeconds = rapid.SampledFrom([]int64{60, 90, 600}).Draw(t, "session")
	s.MaxWaiting = rapid.SampledFrom([]int64{0, 0, 3, 15}).Draw(t, "max waiting")
	if s.MaxWaiting > 0 {
		s.KeepPlaceSeconds = 0 // which places are set aside if there is no room for all is left to each store
	}
	s.MaxWaitMinutes = rapid.SampledFrom([]int64{0, 0, 1, 3}).Draw(t, "max wait")
	return s
}

func (c *crowd) change(t *rapid.T) {
	s := c.model.settings
	drawn := drawSettings(t, s)
	switch rapid.SampledFrom([]string{"mode", "limit", "window", "cap", "all"}).Draw(t, "what") {
	case "mode":
		s.Mode = modes.Draw(t, "mode")
		s.SoldOut = zone.Texts{}
		if rapid.IntRange(0, 4).Draw(t, "sold out") == 0 {
			s.SoldOut[zone.DefaultText] = "No seats are left."
		}
	case "limit":
		s.PerMinute = drawn.PerMinute
	case "cap":
		s.MaxInside = drawn.MaxInside
	case "window":
		s.WindowSeconds = drawn.WindowSeconds
	default:
		s = drawn
	}
	c.put(s)
	c.invariants.changed()
}

func (c *crowd) rush(t *rapid.T) {
	for range rapid.IntRange(2, 12).Draw(t, "newcomers") {
		c.join(t)
	}
}

func (c *crowd) join(t *rapid.T) {
	p := &person{
		id:    visitorID(fmt.Sprintf("%c%d", 'a'+len(c.people)%26, len(c.people))),
		stays: rapid.IntRange(0, 3).Draw(t, "leaves at 0") > 0,
	}
	c.people = append(c.people, p)
	c.answered(p, c.fixture.join(p.id))
}

func (c *crowd) joinAgain(t *rapid.T) {
	p := c.somebody(t)
	c.apart(p.id)
	c.invariants.unknownTold(p)
	c.answered(p, c.fixture.join(p.id))
}

func (c *crowd) poll(t *rapid.T) { c.pollOf(c.somebody(t)) }

func (c *crowd) pollOf(p *person) {
	c.apart(p.id)
	c.answered(p, c.fixture.poll(p.token))
}

// pollAny shows a token that may be older than the one that its owner has by
// now, and may be one of lost data.
func (c *crowd) pollAny(t *rapid.T) {
	token := c.anyToken(t)
	c.apart(token.ID)
	a := c.fixture.poll(token)
	for _, p := range c.people {
		// A token of an earlier place may be refused, or be told where it would stand.
		earlier := a.Status == line.Gone && token != p.token ||
			a.Status == line.Waiting && !a.Restored && place(a.Place) != place(p.token)
		if p.id == token.ID && !earlier {
			if token != p.token {
				c.invariants.unknownTold(p)
			}
			c.answered(p, a)
			return
		}
	}
	c.invariants.answered(nil, a)
}

func (c *crowd) leave(t *rapid.T) {
	token := c.anyToken(t)
	c.invariants.died("left", place(token))
	stood := c.model.find(token.ID)
	c.fixture.leave(token)
	if stood != nil && stood.ArrivedAtMicros != token.ArrivedAtMicros {
		if c.model.find(token.ID) != stood {
			t.Fatalf("%s left a place by the token of another one", name(token.ID))
		}
		if token.ArrivedAtMicros > stood.ArrivedAtMicros {
			// The clock was set back since that token. After a fail-over, a server that tells of the departure seems to mean the later place.
			c.invariants.mayBeLost(token.ID)
		}
		return
	}
	for _, in := range c.invariants.inside {
		if in.ID == token.ID && c.model.isOver(in.Admission) {
			c.invariants.told(line.Stay{Admission: in.Admission}, line.StayOver)
		}
	}
	for _, p := range c.people {
		if p.id == token.ID {
			p.waiting = false
			c.invariants.left(p)
		}
	}
}

func (c *crowd) sweep(*rapid.T) {
	before := slices.Clone(c.model.waiting)
	c.fixture.sweep()
	for _, v := range before {
		if c.model.find(v.ID) == nil {
			c.invariants.sweptAway(v.Place, v.due)
		}
	}
	c.invariants.swept()
}

func (c *crowd) timeGoesOn(t *rapid.T) {
	most := rapid.SampledFrom([]time.Duration{milli, second, 20 * second, 5 * minute}).Draw(t, "up to")
	c.pass(time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "microseconds")) * time.Microsecond)
}

func (c *crowd) timeGoesBack(t *rapid.T) {
	most := rapid.SampledFrom([]time.Duration{milli, second, 10 * minute}).Draw(t, "up to")
	c.clock.Add(-time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "microseconds")) * time.Microsecond)
}

// asTold: for a while, everybody who stays polls when told to.
func (c *crowd) asTold(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{250 * milli, 50 * milli, second}).Draw(t, "step")
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		c.pass(step)
		for _, p := range c.people {
			if p.waiting && p.stays && c.raw() >= p.due {
				c.pollOf(p)
			}
		}
	}
}

func (c *crowd) lost(t *rapid.T) {
	var m line.Memory
	if rapid.Bool().Draw(t, "remembered") {
		m = c.memory()
	}
	c.pass(second) // what begins anew is told apart by the second
	c.invariants.losing(m)
	c.lose(m)
	if m.SeenAtMillis > 0 {
		c.recall(c.departed...)
	} else {
		c.departed = nil
	}
	c.invariants.lost()
}

func (c *crowd) anew(t *rapid.T) {
	s := c.model.settings
	c.delete("somebody")
	c.timeGoesOn(t)
	if rapid.Bool().Draw(t, "with other settings") {
		s = drawSettings(t, s)
	}
	c.put(s)
	c.invariants.anew()
}

func (c *crowd) pass(d time.Duration) {
	c.clock.Add(d)
	c.invariants.passed(d)
}

func (c *crowd) somebody(t *rapid.T) *person {
	if len(c.people) == 0 {
		t.Skip("nobody came yet")
	}
	return c.people[rapid.IntRange(0, len(c.people)-1).Draw(t, "who")]
}

func (c *crowd) anyToken(t *rapid.T) line.Place {
	if len(c.tokens) == 0 {
		t.Skip("no token was given out yet")
	}
	return c.tokens[rapid.IntRange(0, len(c.tokens)-1).Draw(t, "token")]
}

// apart lets a millisecond pass if that visitor was admitted within this one. Redis's log has one entry for a visitor and a
// millisecond, the model's has two.
func (c *crowd) apart(id line.ID) {
	if slices.ContainsFunc(c.model.log, func(e admission) bool { return e.id == id && e.at == c.model.now }) {
		c.pass(milli)
	}
}

// answered hands a person the answer.
func (c *crowd) answered(p *person, a line.Answer) {
	c.invariants.answered(p, a)
	if got, ok := token(a); ok && got != p.token {
		p.token = got
		c.tokens = append(c.tokens, got)
	}
	p.waiting = a.Status == line.Waiting
	p.due = c.raw() + a.PeriodMillis*1000
}
