package lua

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// sleepers is a zone that lets nobody in, with the places of d, e and c, and a server that remembers it.
func sleepers(t *testing.T) (s *Store, clock *conformance.Clock, z zone.Settings, places map[byte]line.Place) {
	t.Helper()
	clock, z, places = conformance.NewClock(), zone.Defaults("Z"), map[byte]line.Place{}
	s = openStore(t, clock.Now)
	z.PerMinute, z.IdleTimeoutSeconds = 10, 20
	put(t, s, z)
	for _, who := range []byte("xdec") {
		a, err := s.Join(t.Context(), "Z", visitor(who))
		must(t, err)
		places[who] = a.Place
	}
	z.PerMinute = 0
	put(t, s, z)
	return s, clock, z, places
}

// TestNoNumberRisesAfterALoss: one who came back overdue, and does not stand at its arrival, polls late when another was put back in
// front, and is told the number that it was told before.
func TestNoNumberRisesAfterALoss(t *testing.T) {
	t.Parallel()
	s, clock, z, places := sleepers(t)
	poll := func(who byte) line.Answer {
		t.Helper()
		a, err := s.Poll(t.Context(), "Z", places[who])
		must(t, err)
		places[who] = a.Place
		return a
	}
	clock.Add(20 * time.Second)
	poll('e')
	clock.Add(24 * time.Second)
	sweepAll(t, s)
	heard := poll('e').State
	must(t, s.client.Unlink(t.Context(), s.keys("Z")...).Err())
	clock.Add(time.Second)
	must(t, s.RestoreZone(t.Context(), z, line.Memory{
		Epoch: heard.Epoch, SeenAtMillis: heard.NowMillis, EdgeMicros: heard.EdgeMicros, LastArrivalMicros: heard.LastArrivalMicros,
	}))
	poll('c')
	told := poll('d')
	poll('e')
	clock.Add(15 * time.Second)
	if late := poll('d'); late.Position > told.Position || !told.Restored {
		t.Errorf("told position %d, then %d", told.Position, late.Position)
	}
}

// TestAsideKeysAreLost: the places in them are given up, and nothing else is lost.
func TestAsideKeysAreLost(t *testing.T) {
	t.Parallel()
	s, clock, _, places := sleepers(t)
	clock.Add(20 * time.Second)
	_, err := s.Poll(t.Context(), "Z", places['e'])
	must(t, err)
	clock.Add(24 * time.Second)
	sweepAll(t, s)
	must(t, s.client.Unlink(t.Context(), s.keys("Z")[asideKey:]...).Err())
	for who, want := range map[byte]line.Status{'d': line.Gone, 'e': line.Waiting, 'c': line.Gone} {
		if a, err := s.Poll(t.Context(), "Z", places[who]); err != nil || a.Status != want || a.State.LostAtMillis != 0 {
			t.Errorf("%c: %+v, %v", who, a, err)
		}
	}
}

// TestTwoServersBringBackOnePlace, however many ask at once.
func TestTwoServersBringBackOnePlace(t *testing.T) {
	t.Parallel()
	s, clock, _, places := sleepers(t)
	other := openStore(t, clock.Now)
	other.prefix = s.prefix
	clock.Add(2 * time.Minute)
	sweepAll(t, s)
	inTurn(8, 64, func(i int) {
		a, err := []*Store{s, other}[i%2].Poll(t.Context(), "Z", places['d'])
		if err != nil || a.Status != line.Waiting || a.Place.ArrivedAtMicros != places['d'].ArrivedAtMicros {
			t.Errorf("%+v, %v", a, err)
		}
	})
	if st := stats(t, s); st.State.Waiting != 1 || st.Totals.Returned != 1 || st.Aside != 2 {
		t.Errorf("%+v", st)
	}
}
