package registry

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestInsideIsRemembered: a store that lost a zone hears how many were inside, and of a loss all sessions that are known; a
// session that is done or revoked is refused.
func TestInsideIsRemembered(t *testing.T) {
	s := settings("a", 60)
	s.MaxInside = 5
	f := newFakeStore(s)
	r, clock := newTest(t, f, Options{})
	now := r.Millis()
	f.do(func() { f.heard = line.State{NowMillis: now, Inside: 3, Epoch: 1} })
	r.TellInsideOnce(t.Context())
	_, _ = r.Poll(t.Context(), "a", line.Place{})
	f.lose()
	_, _ = r.Poll(t.Context(), "a", line.Place{})
	inside := int64(0)
	for _, step := range f.memory["a"].Inside {
		inside += step.Count
	}
	if inside != 3 {
		t.Errorf("restored with %d inside, want 3: %+v", inside, f.memory["a"])
	}

	a := line.Admission{ID: line.ID{1}, AtMillis: now}.JTI("a")
	if over, _ := r.Here("a", a, clock.now().Add(time.Minute)); over || r.Over("a", a) {
		t.Error("a session that was never done is over")
	}
	r.TellInsideOnce(t.Context())
	if len(f.stays) != 1 || f.stays[0].LeftMillis != time.Minute.Milliseconds() {
		t.Errorf("told %+v, want one who stays for a minute", f.stays)
	}
	r.TellInsideOnce(t.Context())
	if len(f.stays) != 0 {
		t.Errorf("told %+v again", f.stays)
	}
	f.do(func() { f.heard = line.State{NowMillis: now, LostAtMillis: now, Inside: 1, Epoch: 1} })
	r.TellInsideOnce(t.Context()) // hears of the loss
	r.TellInsideOnce(t.Context())
	if len(f.stays) != 1 || f.lost == 0 {
		t.Errorf("after a loss: told %+v, %d lost", f.stays, f.lost)
	}
	left := line.Place{ID: line.ID{2}, AdmittedAtMillis: now}
	if err := r.Leave(t.Context(), "a", left); err != nil || !r.Over("a", line.Admission{ID: left.ID, AtMillis: now}.JTI("a")) {
		t.Errorf("one who left after being let in is not over: %v", err)
	}
	r.End("a", a)
	if over, _ := r.Here("a", a, clock.now().Add(time.Minute)); over || !r.Over("a", a) {
		t.Error("a session that is done is refused within its minute, or its pass is good")
	}
	clock.advance(time.Minute)
	if over, _ := r.Here("a", a, clock.now().Add(time.Minute)); !over {
		t.Error("a session that is done goes on")
	}
}
