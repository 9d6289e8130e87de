package event_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// listed is an event from 13:00 on, which opens at 14:00, closes at 15:00 and ends at 16:00, and its
// state at 12:00.
func listed(t *testing.T, order event.Order, recurs string) (e event.Event, s event.State, noon time.Time) {
	t.Helper()
	noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(in time.Duration) string { return noon.Add(in).Format(time.RFC3339) }
	e = event.Event{
		Name: "sale", Order: order, Recurs: recurs,
		PreQueueAt: at(time.Hour), OpensAt: at(2 * time.Hour), ClosesAt: at(3 * time.Hour), EndsAt: at(4 * time.Hour),
	}
	s, ok := event.State{}.Announce([]event.Event{e}, noon, func(string) (string, string) { return "nonce", "commitment" })
	if !ok {
		t.Fatal("there is no event")
	}
	return e, s, noon
}

// TestTextKeepsTimes: who mends a text of an event changes none of its times, whatever was
// done to them: least of all does an opening that was put off come at once.
func TestTextKeepsTimes(t *testing.T) {
	t.Parallel()
	changes := map[string]func(event.State, time.Time) (event.State, string){
		"nothing": func(s event.State, _ time.Time) (event.State, string) { return s, "" },
		"moved": func(s event.State, now time.Time) (event.State, string) {
			s, fault := s.Move(event.StepCloses, time.UnixMilli(s.Now.EndsAtMillis).Add(-time.Minute), now)
			if fault != "" {
				return s, fault
			}
			return s.Move(event.StepOpens, time.UnixMilli(s.Now.OpensAtMillis).Add(time.Hour), now)
		},
		"held": func(s event.State, now time.Time) (event.State, string) { return s.Hold(event.StepOpens, now) },
		"skipped": func(s event.State, now time.Time) (event.State, string) {
			s, _, fault := s.Skip(event.StepCloses, now)
			return s, fault
		},
	}
	for name, change := range changes {
		for _, order := range []event.Order{event.OrderArrival, event.OrderDraw} {
			for _, recurs := range []string{"", "0 14 * * *"} {
				for gathers, changedAfter := range map[bool]time.Duration{false: 0, true: 90 * time.Minute} {
					e, s, noon := listed(t, order, recurs)
					if gathers {
						s = s.Made(event.StepPreQueue)
					}
					s, fault := change(s, noon.Add(changedAfter))
					if fault != "" {
						t.Fatalf("%s: %s", name, fault)
					}
					want := *s.Now
					e.Texts.Before = map[string]string{"default": "Soon."}
					// At 14:10 if the opening was put off, else a second later.
					now := noon.Add(changedAfter + time.Second)
					if gathers && (name == "moved" || name == "held") {
						now = noon.Add(130 * time.Minute)
					}
					next, _, ok := s.Listed([]event.Event{e}, now)
					got := *next.Now
					if text := got.Event.Texts.Before["default"]; !ok || text != "Soon." {
						t.Fatalf("%s: the text is %q", name, text)
					}
					for _, step := range event.Steps {
						was, _ := want.Step(step)
						if is, _ := got.Step(step); is != was {
							t.Errorf("%s, %s, recurs %q, gathering %v: %s was at %d, and is at %d", name, order, recurs, gathers, step, was, is)
						}
					}
					if got.SettlesAtMillis != want.SettlesAtMillis || got.ListedMillis != want.ListedMillis {
						t.Errorf("%s, %s, recurs %q, gathering %v: settles at %d, listed at %d, want %d and %d", name, order, recurs, gathers,
							got.SettlesAtMillis, got.ListedMillis, want.SettlesAtMillis, want.ListedMillis)
					}
				}
			}
		}
	}
}

// TestListChangesWhatItSays: a new time in the list is that of its step, and of no other.
func TestListChangesWhatItSays(t *testing.T) {
	t.Parallel()
	e, s, noon := listed(t, event.OrderDraw, "")
	now := noon.Add(90 * time.Minute)
	s, fault := s.Made(event.StepPreQueue).Move(event.StepOpens, noon.Add(150*time.Minute), now)
	if fault != "" {
		t.Fatal(fault)
	}
	e.EndsAt = noon.Add(5 * time.Hour).Format(time.RFC3339)
	next, _, _ := s.Listed([]event.Event{e}, now)
	if p := next.Now; p.OpensAtMillis != s.Now.OpensAtMillis || p.EndsAtMillis != noon.Add(5*time.Hour).UnixMilli() {
		t.Errorf("opens at %d and ends at %d", p.OpensAtMillis, p.EndsAtMillis)
	}
	e.OpensAt = now.Add(10 * time.Second).Format(time.RFC3339)
	next, _, _ = next.Listed([]event.Event{e}, now)
	if p := next.Now; p.OpensAtMillis != now.Add(10*time.Second).UnixMilli() {
		t.Errorf("opens at %d", p.OpensAtMillis)
	}
	if d := next.Draw(); !d.Holds(now.UnixMicro()) {
		t.Errorf("who has joined by now is not drawn any more: the draw settled at %d", d.SettlesAtMillis)
	}
}

// TestGatheringBeginsInTheTimeToCome: who came before stands by arrival, also where a new list
// says that people gathered by then.
func TestGatheringBeginsInTheTimeToCome(t *testing.T) {
	t.Parallel()
	e, s, noon := listed(t, event.OrderDraw, "")
	now := noon.Add(30 * time.Minute)
	e.PreQueueAt = noon.Add(10 * time.Minute).Format(time.RFC3339)
	next, _, _ := s.Listed([]event.Event{e}, now)
	if d := next.Draw(); d.Holds(now.UnixMicro()) || next.Gate().Holds(now.UnixMilli()) || !d.Holds(now.Add(time.Minute).UnixMicro()) {
		t.Errorf("the draw is of those who come from %d on", d.GathersAtMillis)
	}
}

// TestSkippedDrawHoldsNobodyWhoComesLater: where the opening was held past the time at which the
// draw would have closed, and then skipped, newcomers are not among those who were drawn.
func TestSkippedDrawHoldsNobodyWhoComesLater(t *testing.T) {
	t.Parallel()
	e, s, noon := listed(t, event.OrderDraw, "")
	s, fault := s.Made(event.StepPreQueue).Hold(event.StepOpens, noon.Add(90*time.Minute))
	if fault != "" {
		t.Fatal(fault)
	}
	skipped := noon.Add(3 * time.Hour)
	over := s.Over([]event.Event{e}, skipped)
	for after, drawn := range map[time.Duration]bool{-time.Minute: true, time.Minute: false, 24 * time.Hour: false} {
		arrives := skipped.Add(after).UnixMicro()
		if d := over.Draws[0]; d.Holds(over.Gate().Behind(arrives)) != drawn {
			t.Errorf("%v after the skip: drawn %v, want %v; the draw settles at %d", after, !drawn, drawn, d.SettlesAtMillis)
		}
	}
}

// TestTakenOffTheList: an event that is taken off the list before it opens, and is put back, takes place.
// One that has opened does not do so again, nor one that was skipped.
func TestTakenOffTheList(t *testing.T) {
	t.Parallel()
	commit := func(string) (string, string) { return "nonce", "commitment" }
	e, s, noon := listed(t, event.OrderDraw, "")
	back, ok := s.Over(nil, noon.Add(time.Minute)).Announce([]event.Event{e}, noon.Add(2*time.Minute), commit)
	if !ok || back.Now.OpensAtMillis != s.Now.OpensAtMillis {
		t.Error("it is on the list again, and is not announced")
	}
	opened := s.Made(event.StepPreQueue)
	opened, fault := opened.Move(event.StepOpens, noon.Add(100*time.Minute), noon.Add(61*time.Minute))
	if fault != "" {
		t.Fatal(fault)
	}
	opened = opened.Made(event.StepOpens)
	if _, again := opened.Over(nil, noon.Add(105*time.Minute)).Announce([]event.Event{e}, noon.Add(106*time.Minute), commit); again {
		t.Error("it has opened, and is announced once more")
	}
	if _, again := s.Over([]event.Event{e}, noon).Announce([]event.Event{e}, noon, commit); again {
		t.Error("it was skipped, and is announced once more")
	}
}
