package conformance

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/zone"
)

// orderStories: a crowd that polls when it is told to, in which every third walks away, loses its line. The others come back
// in no order, each when its time has come. They enter in order all the same, and no slower.
var orderStories = map[string]func(*story){
	"a lost line is let in again, in order, with short windows": func(s *story) { s.losesItsLine(1, true) },
	"and when nobody remembers it":                              func(s *story) { s.losesItsLine(2, false) },
	"and with windows of the usual length":                      func(s *story) { s.losesItsLine(6, true) },
}

// walker is one of the crowd.
type walker struct {
	line.Place
	due, goes time.Time
	done      bool // is in, or went away
}

// losesItsLine: ten a second are let in, twenty seconds into the event the data
// is lost, and what follows is measured for forty.
func (s *story) losesItsLine(windowSeconds int64, remembered bool) {
	s.t.Helper()
	z := zone.Defaults(s.zoneID)
	z.WindowSeconds = windowSeconds
	_, err := s.store().PutZone(s.t.Context(), z, nil, "")
	s.fails("put", err, nil)
	random := rand.New(rand.NewPCG(1, uint64(windowSeconds)))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	after := func(a line.Answer) time.Time { // Retry-After is in whole seconds
		return s.clock.Now().Add(time.Duration(a.PeriodMillis)*milli + upTo(second))
	}
	crowd := make([]*walker, 1_000)
	for i := range crowd {
		a, err := s.store().Join(s.t.Context(), s.zoneID, crowdID(i))
		s.fails("join", err, nil)
		crowd[i] = &walker{Place: a.Place, due: after(a), goes: s.clock.Now().Add(time.Hour), done: a.Status != line.Waiting}
		if i%3 == 0 {
			crowd[i].goes = s.clock.Now().Add(upTo(minute))
		}
		s.after(5 * milli)
	}
	pass := func(d time.Duration) (in []int) {
		for until := s.clock.Now().Add(d); s.clock.Now().Before(until); s.after(50 * milli) {
			for i, w := range crowd {
				switch now := s.clock.Now(); {
				case w.done || now.Before(w.due):
				case now.After(w.goes):
					w.done = true
				default:
					a, err := s.store().Poll(s.t.Context(), s.zoneID, w.Place)
					s.fails("poll", err, nil)
					if w.done, w.due = a.Status == line.Admitted, after(a); w.done {
						in = append(in, i)
					}
				}
			}
		}
		return in
	}
	pass(15 * second)
	var m line.Memory
	if remembered {
		st, err := s.store().Observe(s.t.Context(), s.zoneID, 0)
		s.fails("observe", err, nil)
		m = line.Memory{EdgeMicros: st.State.EdgeMicros, LastArrivalMicros: st.State.LastArrivalMicros}
	}
	s.stores[0].Store = s.stores[0].Lose(s.t)
	s.fails("restore", s.store().RestoreZone(s.t.Context(), z, m), nil)

	first, then, later := pass(12*second), pass(12*second), pass(16*second)
	s.equal("let in within half a round", len(first) > 40, true)
	// Of 120, some go unused in short windows: visitors come up to a second late.
	s.equal("in the other half", len(then) > 70, true)
	var stays []measure.Stay
	for at, i := range slices.Concat(first, then, later) {
		stays = append(stays, measure.Stay{Arrived: int64(i), Ended: int64(at), In: true})
	}
	if over := slices.Max(measure.Overtaken(stays)); over > int(2*10*windowSeconds) {
		s.t.Fatalf("somebody was overtaken by %d, more than two windows' worth", over)
	}
}
