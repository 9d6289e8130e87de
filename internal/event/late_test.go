package event

import (
	"testing"
	"time"
)

// TestLate: a step that nobody makes, and one that an operator holds past its time.
func TestLate(t *testing.T) {
	t.Parallel()
	noon := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	at := func(d time.Duration) int64 { return noon.Add(d).UnixMilli() }
	e := Event{Name: "noon", PreQueueAt: noon.Add(-time.Hour).Format(time.RFC3339), OpensAt: noon.Format(time.RFC3339), EndsAt: noon.Add(time.Hour).Format(time.RFC3339)}
	var none State
	s, ok := none.Announce([]Event{e}, noon.Add(-2*time.Hour), nil)
	if !ok || none.LateMillis(at(0)) != 0 || none.HeldMillis(at(0)) != 0 {
		t.Fatal("not announced, or late before")
	}
	s = s.Made(StepPreQueue)
	if got := s.LateMillis(at(-time.Second)); got != 0 {
		t.Errorf("early: %d ms late", got)
	}
	if got := s.LateMillis(at(3 * time.Second)); got != 3_000 {
		t.Errorf("3 s after the opening: %d ms late", got)
	}
	held, fault := s.Hold(StepOpens, noon.Add(-time.Minute))
	if fault != "" {
		t.Fatal(fault)
	}
	for d, want := range map[time.Duration]int64{-time.Second: 0, time.Minute: 60_000} {
		if got := held.HeldMillis(at(d)); got != want || held.LateMillis(at(d)) != 0 || s.HeldMillis(at(d)) != 0 {
			t.Errorf("%v after the opening: held for %d ms, want %d", d, got, want)
		}
	}
	for step, want := range map[Step]int64{StepPreQueue: at(-time.Hour), StepOpens: at(0), StepCloses: 0, StepEnds: at(time.Hour)} {
		if got := held.Now.ListedAt(step); got != want {
			t.Errorf("%s is listed at %d, want %d", step, got, want)
		}
	}
	open := s.Made(StepOpens)
	open.Now.EndsAtMillis = 0
	if got := open.LateMillis(at(5 * time.Hour)); got != 0 {
		t.Errorf("without a further step: %d ms late", got)
	}
	if got := s.Of(e, noon); got != s.Now {
		t.Errorf("the occurrence that is next: %+v", got)
	}
	other := e
	other.Name = "dusk"
	if got := s.Of(other, noon.Add(-time.Minute)); got == nil || got.OpensAtMillis != at(0) || got.Phase != PhaseAnnounced {
		t.Errorf("another event: %+v", got)
	}
	if got := s.Of(other, noon); got != nil {
		t.Errorf("one that is over: %+v", got)
	}
}
