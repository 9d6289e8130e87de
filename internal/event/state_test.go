package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// begun is a state with a draw that is announced, in which people gather in a minute.
func begun(t *testing.T, now time.Time) (event.State, []event.Event) {
	t.Helper()
	at := func(in time.Duration) string { return now.Add(in).Format(time.RFC3339Nano) }
	list := []event.Event{{Name: "noon", Order: event.OrderDraw, PreQueueAt: at(time.Minute), OpensAt: at(time.Hour)}}
	s, ok := event.State{}.Announce(list, now, func(string) (string, string) { return "nonce", "commitment" })
	if !ok {
		t.Fatal("there is no event")
	}
	return s, list
}

// TestHeldStepsHaveNoTime: what is held comes at no time, and no newcomer may stand behind that.
func TestHeldStepsHaveNoTime(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_223_373_123)
	s, list := begun(t, now)
	want := *s.Draw()
	for _, step := range []event.Step{event.StepPreQueue, event.StepOpens} {
		held, fault := s.Hold(step, now)
		if got := *held.Draw(); fault != "" || got.FromMicros != want.FromMicros || got.UptoMicros != want.UptoMicros {
			t.Errorf("%s is held (%q): the draw lies between %d and %d, want %d and %d", step, fault, got.FromMicros, got.UptoMicros, want.FromMicros, want.UptoMicros)
		}
	}
	held, _ := s.Hold(event.StepOpens, now)
	moved, fault := held.Move(event.StepPreQueue, now.Add(2*time.Minute), now)
	if got := *moved.Draw(); fault != "" || got.SettlesAtMillis != event.Never || got.UptoMicros > now.Add(2*time.Hour).UnixMicro() {
		t.Errorf("the opening is held and people gather later (%q): %+v", fault, got)
	}
	list[0].DrawClosesSeconds = 60
	if listed, _, ok := held.Listed(list, now); !ok || listed.Now.SettlesAtMillis != event.Never {
		t.Errorf("the opening is held, and people settle at %d by a new list", listed.Now.SettlesAtMillis)
	}
	if over := s.Over(list, now); len(over.Draws) != 0 || over.Gate().Behind(1) != 1 {
		t.Errorf("nobody came into the draw, and it leaves %+v", over.Draws)
	}
	if over := s.Over(list, now.Add(2*time.Minute)); over.Gate().Behind(1) != want.UptoMicros {
		t.Errorf("newcomers do not stand behind those who were drawn: %+v", over.Draws)
	}
}

// TestWhatIsDueIsNotHeld: a store has opened by itself, whether or not that is recorded.
func TestWhatIsDueIsNotHeld(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_223_373_123)
	s, _ := begun(t, now)
	s = s.Made(event.StepPreQueue)
	for in, may := range map[time.Duration]bool{time.Hour - time.Millisecond: true, time.Hour: false} {
		if _, fault := s.Hold(event.StepOpens, now.Add(in)); (fault == "") != may {
			t.Errorf("after %v: %q", in, fault)
		}
	}
}

// TestLateAnnouncement: nobody came into a draw before it was announced.
func TestLateAnnouncement(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_223_373_123)
	_, list := begun(t, now)
	late := now.Add(10 * time.Minute)
	s, _ := event.State{}.Announce(list, late, func(string) (string, string) { return "nonce", "commitment" })
	if d := s.Draw(); d.GathersAtMillis <= late.UnixMilli() || d.Holds(late.UnixMicro()) {
		t.Errorf("who came before is drawn: %+v", d)
	}
}

// TestMovedOverAnother: a step that is moved is refused where another event would never take place; not for one that is
// missed already.
func TestMovedOverAnother(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		recurs, other string
		to            time.Duration // from noon
		want          string
	}{
		"before it opens": {"", "2027-01-01T18:00:00Z", 6*time.Hour - time.Second, ""},
		"when it opens":   {"", "2027-01-01T18:00:00Z", 6 * time.Hour, `"sale" would be under way until 2027-01-01T18:00:00Z, and "late", which opens at`},
		"its own next":    {"0 14 * * *", "2027-01-01T10:00:00Z", 30 * time.Hour, `and "sale", which opens at 2027-01-02T14:00:00Z`},
		"missed already":  {"", "2027-01-01T14:05:00Z", 6 * time.Hour, ""},
		"past":            {"", "2027-01-01T10:00:00Z", 6 * time.Hour, ""},
	} {
		e, s, noon := listed(t, event.OrderArrival, tt.recurs)
		list := []event.Event{e, {Name: "late", OpensAt: tt.other}}
		now := noon.Add(150 * time.Minute)
		s = s.Made(event.StepPreQueue).Made(event.StepOpens)
		next, fault := s.Move(event.StepEnds, noon.Add(tt.to), now)
		if fault != "" {
			t.Fatal(fault)
		}
		if got := next.Misses(list, s, now); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		// What it says is so.
		over := next.Over(list, time.UnixMilli(next.Now.EndsAtMillis))
		after, ok := over.Announce(list, time.UnixMilli(next.Now.EndsAtMillis), nil)
		if missed := !ok || after.Now.ListedMillis > noon.Add(26*time.Hour).UnixMilli(); missed == (name == "before it opens") {
			t.Errorf("%s: afterwards %+v comes", name, after.Now)
		}
	}
}

// TestDrawOfAZoneMadeAnew: the same list gives another draw another range, so that a store tells them apart.
func TestDrawOfAZoneMadeAnew(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_223_373_123)
	_, list := begun(t, now)
	ranges := make(map[int64]bool)
	for _, nonce := range []string{"0d9f", "77e2"} {
		s, _ := event.State{}.Announce(list, now, func(string) (string, string) { return nonce, "commitment" })
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
