package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// noon is when the tests begin: at noon UTC.
var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

func commit(string) (nonce, commitment string) { return "nonce", "commitment" }

// sale is an event for which people gather from so long after noon on. It opens an hour later, closes two hours and
// ends three hours later.
func sale(gathers time.Duration, order event.Order) event.Event {
	at := func(in time.Duration) string { return noon.Add(gathers + in).Format(time.RFC3339) }
	return event.Event{
		Name: "sale", Order: order, PreQueueAt: at(0), OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour), EndsAt: at(3 * time.Hour),
	}
}

// announced is the state a second after noon, in which people gather in 30 minutes.
func announced(t *testing.T, order event.Order) (event.Event, event.State, time.Time) {
	t.Helper()
	e, now := sale(30*time.Minute, order), noon.Add(time.Second)
	s, ok := event.State{}.Announce([]event.Event{e}, now, commit)
	if !ok || !s.Now.Fixed {
		t.Fatalf("it is not fixed: %+v", s.Now)
	}
	return e, s, now
}

// do returns the state after a change of an operator.
func do(t *testing.T, next event.State, fault string) event.State {
	t.Helper()
	if fault != "" {
		t.Fatal(fault)
	}
	return next
}

// TestFixed: until an hour before the first step the list has the say, and from then on it has none.
func TestFixed(t *testing.T) {
	t.Parallel()
	e := sale(2*time.Hour, event.OrderDraw)
	s, ok := event.State{}.Announce([]event.Event{e}, noon, commit)
	if !ok || s.Now.Fixed || s.Draw() != nil || s.Gate().GatherAtMillis != noon.Add(2*time.Hour).UnixMilli() {
		t.Fatalf("two hours before: %+v", s)
	}
	if _, fault := s.Hold(event.StepOpens, noon); fault != "sale is not fixed until 2027-01-01T13:00:00Z: until then, change it in the events of the zone" {
		t.Errorf("held two hours before: %q", fault)
	}
	if _, ok := s.Announce([]event.Event{e}, noon.Add(time.Minute), commit); ok {
		t.Error("what has not changed is announced anew")
	}
	early := event.Event{Name: "early", OpensAt: noon.Add(90 * time.Minute).Format(time.RFC3339)}
	other := e
	other.Texts.Before = map[string]string{"default": "Soon."}
	for name, list := range map[string][]event.Event{"": nil, "early": {e, early}, "sale": {other}} {
		next, ok := s.Announce(list, noon.Add(time.Minute), commit)
		is := ""
		if next.Now != nil {
			is = next.Now.Event.Name
		}
		if !ok || is != name || s.Refuses("Z", list) != "" || name == "sale" && next.Now.Event.Texts.Before == nil {
			t.Errorf("with another list %q is next, want %q", is, name)
		}
	}

	s, ok = s.Announce([]event.Event{e}, noon.Add(time.Hour), commit)
	if d := s.Draw(); !ok || !s.Now.Fixed || d == nil || d.Commitment != "commitment" {
		t.Fatalf("an hour before: %+v", s)
	}
	moved, gone := e, []event.Event{early}
	moved.ClosesAt = ""
	for name, list := range map[string][]event.Event{"the same": {e, early}, "moved": {moved}, "another text": {other}, "taken off": gone, "none": nil} {
		for _, state := range []event.State{s, s.Made(event.StepPreQueue), s.Made(event.StepCloses)} {
			got := state.Refuses("Z", list)
			if name == "the same" && got != "" || name != "the same" && !strings.Contains(got, "to cancel it: queue-server events cancel Z sale") {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if next, ok := s.Announce(nil, noon.Add(time.Hour), commit); ok {
		t.Errorf("a list has taken it off: %+v", next)
	}
	s.Now.EndsAtMillis = 0
	if s = s.Made(event.StepCloses); s.Refuses("Z", nil) != "" {
		t.Error("it has no further step, and the list cannot drop it")
	}
	if s, ok = s.Announce(nil, noon.Add(6*time.Hour), commit); !ok || s.Now != nil || len(s.Done) != 1 {
		t.Errorf("it was dropped: %+v", s)
	}
}

// TestListFault: what a new list may not have.
func TestListFault(t *testing.T) {
	t.Parallel()
	e, s, now := announced(t, event.OrderArrival)
	at := func(name string, opens time.Duration) event.Event {
		return event.Event{Name: name, OpensAt: noon.Add(opens).Format(time.RFC3339)}
	}
	past := at("past", -time.Hour)
	was := []event.Event{e, past}
	for want, list := range map[string][]event.Event{
		"": {e, past, at("late", 4*time.Hour)},
		`"early" is in the past: it opens at 2027-01-01T11:00:00Z`: {e, at("early", -time.Hour)},
		`"past" is in the past`: {e, at("past", -30*time.Minute)},
		`"soon" begins at 2027-01-01T12:01:00Z, and "sale", which is fixed, is not over until 2027-01-01T15:30:00Z`: {e, at("soon", time.Minute)},
	} {
		if got := s.ListFault(was, list, now); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	over := s.Over(was, now)
	if got := over.ListFault([]event.Event{past}, was, now); got != `"sale" was cancelled: list it for another time, or under another name` {
		t.Errorf("listed anew: %q", got)
	}
	if _, again := over.Announce(was, now, commit); again {
		t.Error("it was cancelled, and is announced once more")
	}
	if next, ok := over.Announce([]event.Event{sale(time.Hour, "")}, now, commit); !ok || next.Now.Event.Name != "sale" {
		t.Error("it is listed for another time, and is not announced")
	}
}

// TestHeldStepsHaveNoTime: what is held comes at no time, and no newcomer may stand behind that.
func TestHeldStepsHaveNoTime(t *testing.T) {
	t.Parallel()
	e, s, now := announced(t, event.OrderDraw)
	want := *s.Draw()
	for _, step := range []event.Step{event.StepPreQueue, event.StepOpens} {
		held, fault := s.Hold(step, now)
		if got := *held.Draw(); fault != "" || got.FromMicros != want.FromMicros || got.UptoMicros != want.UptoMicros {
			t.Errorf("%s is held (%q): the draw lies between %d and %d, want %d and %d", step, fault, got.FromMicros, got.UptoMicros, want.FromMicros, want.UptoMicros)
		}
	}
	next, fault := s.Hold(event.StepEnds, now)
	both, fault2 := do(t, next, fault).Hold(event.StepOpens, now)
	if _, again := both.Hold(event.StepEnds, now); fault2 != "" || both.Now.Held != event.StepOpens || again != "ends is held already" {
		t.Errorf("two steps are held (%q, %q): %+v", fault2, again, both.Now)
	}
	next, fault = both.Move(event.StepOpens, noon.Add(2*time.Hour), now)
	if moved := do(t, next, fault); moved.Now.Held != event.StepEnds || moved.Now.EndsAtMillis != event.Never {
		t.Errorf("one of two steps is moved: %+v", moved.Now)
	}
	held, _ := s.Hold(event.StepOpens, now)
	moved, fault := held.Move(event.StepPreQueue, noon.Add(40*time.Minute), now)
	if got := *moved.Draw(); fault != "" || got.SettlesAtMillis != event.Never || got.UptoMicros > noon.Add(2*time.Hour).UnixMicro() {
		t.Errorf("the opening is held and people gather later (%q): %+v", fault, got)
	}
	list := []event.Event{e}
	if over := s.Over(list, now); len(over.Draws) != 0 || over.Gate().Behind(1) != 1 {
		t.Errorf("nobody came into the draw, and it leaves %+v", over.Draws)
	}
	if over := s.Over(list, noon.Add(time.Hour)); over.Gate().Behind(1) != want.UptoMicros {
		t.Errorf("newcomers do not stand behind those who were drawn: %+v", over.Draws)
	}
}

// TestWhatIsDueIsNotHeld: a store has opened by itself, whether or not that is recorded.
func TestWhatIsDueIsNotHeld(t *testing.T) {
	t.Parallel()
	_, s, _ := announced(t, event.OrderDraw)
	s = s.Made(event.StepPreQueue)
	opens := noon.Add(90 * time.Minute)
	for in, may := range map[time.Duration]bool{-time.Millisecond: true, 0: false} {
		if _, fault := s.Hold(event.StepOpens, opens.Add(in)); (fault == "") != may {
			t.Errorf("after %v: %q", in, fault)
		}
	}
}

// TestLateAnnouncement: nobody came into a draw before it was announced. If nobody can gather any more, there is none.
func TestLateAnnouncement(t *testing.T) {
	t.Parallel()
	list := []event.Event{sale(30*time.Minute, event.OrderDraw)}
	for in, draws := range map[time.Duration]bool{40 * time.Minute: true, 89*time.Minute + 45*time.Second: false} {
		late := noon.Add(in)
		s, ok := event.State{}.Announce(list, late, commit)
		d := s.Draw()
		if !ok || (d != nil) != draws || draws && (d.GathersAtMillis <= late.UnixMilli() || d.Holds(late.UnixMicro())) {
			t.Errorf("after %v: %+v", in, d)
		}
	}
	// The servers were away from before it was fixed until after the opening.
	known, _ := event.State{}.Announce([]event.Event{sale(2*time.Hour, event.OrderDraw)}, noon, commit)
	s, ok := known.Announce([]event.Event{sale(2*time.Hour, event.OrderDraw)}, noon.Add(4*time.Hour), commit)
	if step, at := s.Now.Next(); !ok || !s.Now.Fixed || step != event.StepOpens || at != noon.Add(3*time.Hour).UnixMilli() || s.Draw() != nil {
		t.Errorf("it is not made up for: %+v", s.Now)
	}
}

// TestOpen: at once, or when those who gathered have heard of it.
func TestOpen(t *testing.T) {
	t.Parallel()
	const notice = event.DefaultDrawClosesSeconds * time.Second
	for name, tt := range map[string]struct {
		order   event.Order
		before  func(s event.State) (event.State, string)
		now, in time.Duration
		fault   string
	}{
		"nobody gathers yet":              {event.OrderArrival, nil, time.Minute, 2 * time.Second, ""},
		"the gathering is held":           {event.OrderArrival, func(s event.State) (event.State, string) { return s.Hold(event.StepPreQueue, noon) }, time.Minute, 2 * time.Second, ""},
		"nobody gathers for the draw yet": {event.OrderDraw, nil, time.Minute, 0, "nobody has gathered for the draw yet: move preQueue first"},
		"people gather":                   {event.OrderDraw, nil, 40 * time.Minute, notice + 4*time.Second, ""},
		"people gather, and it is held": {
			event.OrderDraw, func(s event.State) (event.State, string) { return s.Hold(event.StepOpens, noon) }, 2 * time.Hour, notice + 4*time.Second,
			"closes would not be after opens",
		},
		"it is repeated": {
			event.OrderDraw, func(s event.State) (event.State, string) { return s.Open(noon.Add(40 * time.Minute)) },
			40*time.Minute + 3*time.Second, notice + time.Second, "",
		},
		"nobody gathers yet, and it is repeated": {
			event.OrderArrival, func(s event.State) (event.State, string) { return s.Open(noon.Add(time.Minute)) },
			time.Minute + time.Second, time.Second, "",
		},
		"the draw has closed": {event.OrderDraw, nil, 89*time.Minute + 40*time.Second, 20 * time.Second, ""},
		"the draw has closed, and it is held": {
			event.OrderDraw, func(s event.State) (event.State, string) {
				return s.Hold(event.StepOpens, noon.Add(89*time.Minute+40*time.Second))
			}, 95 * time.Minute, 2 * time.Second, "",
		},
		"it is open": {event.OrderDraw, nil, 90 * time.Minute, 0, "opens was made already"},
	} {
		_, s, _ := announced(t, tt.order)
		if tt.before != nil {
			next, fault := tt.before(s)
			s = do(t, next, fault)
		}
		now := noon.Add(tt.now)
		if name == "people gather, and it is held" { // the closing has to be moved first
			if _, fault := s.Open(now.Add(30 * time.Minute)); fault != tt.fault {
				t.Errorf("%s: %q, want %q", name, fault, tt.fault)
			}
			next, fault := s.Move(event.StepCloses, noon.Add(3*time.Hour), noon.Add(time.Minute))
			s, tt.fault = do(t, next, fault), ""
		}
		next, fault := s.Open(now)
		if fault != tt.fault || fault == "" && next.Now.OpensAtMillis != now.Add(tt.in).UnixMilli() {
			t.Errorf("%s: opens at %d (%q), want %d (%q)", name, next.Now.OpensAtMillis, fault, now.Add(tt.in).UnixMilli(), tt.fault)
		}
		if fault == "" && next.Now.SettlesAtMillis > next.Now.OpensAtMillis {
			t.Errorf("%s: people settle at %d", name, next.Now.SettlesAtMillis)
		}
	}
}

// TestMovedOverAnother: a step that is moved is refused where another event would never take place; not for one that is
// missed already.
func TestMovedOverAnother(t *testing.T) {
	t.Parallel()
	for other, want := range map[time.Duration]string{
		6*time.Hour + time.Second: "", 6 * time.Hour: `"sale" would be under way until 2027-01-01T18:00:00Z, and "late", which opens at`,
		105 * time.Minute: "", -time.Hour: "",
	} {
		e, s, _ := announced(t, event.OrderArrival)
		list := []event.Event{e, {Name: "late", OpensAt: noon.Add(other).Format(time.RFC3339)}}
		s = s.Made(event.StepPreQueue).Made(event.StepOpens)
		now := noon.Add(2 * time.Hour)
		next, fault := s.Move(event.StepEnds, noon.Add(6*time.Hour), now)
		next = do(t, next, fault)
		if got := next.Misses(list, s, now); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", other, got, want)
		}
		ends := time.UnixMilli(next.Now.EndsAtMillis)
		if _, comes := next.Over(list, ends).Announce(list, ends, commit); comes != (other == 6*time.Hour+time.Second) {
			t.Errorf("%v: afterwards it comes: %v", other, comes)
		}
	}
}

// TestDrawOfAZoneMadeAnew: the same list gives another draw another range, so that a store tells them apart.
func TestDrawOfAZoneMadeAnew(t *testing.T) {
	t.Parallel()
	e, _, now := announced(t, event.OrderDraw)
	ranges := make(map[int64]bool)
	for _, nonce := range []string{"0d9f", "77e2"} {
		s, _ := event.State{}.Announce([]event.Event{e}, now, func(string) (string, string) { return nonce, "commitment" })
		d := s.Draw()
		if d.FromMicros/1000 != d.GathersAtMillis {
			t.Errorf("people gather at %d, and the range begins at %d", d.GathersAtMillis, d.FromMicros)
		}
		ranges[d.FromMicros] = true
	}
	if len(ranges) != 2 {
		t.Errorf("two draws have the same range: %v", ranges)
	}
}

// TestCancelledDrawHoldsNobodyWhoComesLater: where the opening was held past the time at which the
// draw would have closed, and the event then cancelled, newcomers are not among those who were drawn.
func TestCancelledDrawHoldsNobodyWhoComesLater(t *testing.T) {
	t.Parallel()
	e, s, _ := announced(t, event.OrderDraw)
	held, fault := s.Made(event.StepPreQueue).Hold(event.StepOpens, noon.Add(time.Hour))
	cancelled := noon.Add(3 * time.Hour)
	over := do(t, held, fault).Over([]event.Event{e}, cancelled)
	for after, drawn := range map[time.Duration]bool{-time.Minute: true, time.Minute: false, 24 * time.Hour: false} {
		arrives := cancelled.Add(after).UnixMicro()
		if d := over.Draws[0]; d.Holds(over.Gate().Behind(arrives)) != drawn {
			t.Errorf("%v after: drawn %v, want %v; the draw settles at %d", after, !drawn, drawn, d.SettlesAtMillis)
		}
	}
}

// TestLate: a step that nobody makes, and one that an operator holds past its time.
func TestLate(t *testing.T) {
	t.Parallel()
	e, s, now := announced(t, event.OrderArrival)
	opens := noon.Add(90 * time.Minute)
	at := func(d time.Duration) int64 { return opens.Add(d).UnixMilli() }
	var none event.State
	if none.LateMillis(at(0)) != 0 || none.HeldMillis(at(0)) != 0 {
		t.Error("nothing is late")
	}
	next, fault := s.Hold(event.StepOpens, now)
	s, held := s.Made(event.StepPreQueue), do(t, next, fault)
	for d, want := range map[time.Duration]int64{-time.Second: 0, time.Minute: 60_000} {
		if got := s.LateMillis(at(d)); got != want || s.HeldMillis(at(d)) != 0 {
			t.Errorf("%v after the opening: %d ms late, want %d", d, got, want)
		}
		if got := held.HeldMillis(at(d)); got != want {
			t.Errorf("%v after the opening: held for %d ms, want %d", d, got, want)
		}
	}
	for step, want := range map[event.Step]int64{event.StepPreQueue: at(-time.Hour), event.StepOpens: at(0), event.StepEnds: at(2 * time.Hour)} {
		if got := held.Now.ListedAt(step); got != want {
			t.Errorf("%s is listed at %d, want %d", step, got, want)
		}
	}
	open := s.Made(event.StepCloses)
	open.Now.EndsAtMillis = 0
	if got := open.LateMillis(at(5 * time.Hour)); got != 0 {
		t.Errorf("without a further step: %d ms late", got)
	}
	other := e
	other.Name = "dusk"
	if got := s.Of(other, now); s.Of(e, now) != s.Now || got == nil || got.OpensAtMillis != at(0) || s.Of(other, opens) != nil {
		t.Errorf("another event: %+v", got)
	}
}
