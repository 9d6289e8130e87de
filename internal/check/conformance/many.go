package conformance

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// mostExamined is how many tokens one call of a sweep may look at.
const mostExamined = 5_000

// manyStories have crowds that are too large for the model: they ask the store alone. A
// story goes on with these, or with the model, not with both.
var manyStories = map[string]func(*story){
	"many at once are never too many": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 600 })
		s.admitted = s.stampede(64, 150)
		if len(s.admitted) < 100 {
			s.t.Fatalf("only %d came in", len(s.admitted))
		}
		if n := s.mostIn(6 * second); n > 60 {
			s.t.Fatalf("%d in a window, at most 60", n)
		}
		if n := s.mostIn(minute); n > 600 {
			s.t.Fatalf("%d in a minute, at most 600", n)
		}
	},

	"in batches, to the end of the line": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 0, 5 })
		const people, silent = 12_000, 2_000
		answers := s.joinMany(people, func(i int) line.ID {
			id := crowdID(i)
			if i < people/4 && i%(people/silent) == 0 {
				// So many of them have ids that are near each other.
				id[0], id[1] = 0, 0
			}
			return id
		})
		s.after(7 * second)
		each(people, func(i int) {
			// Who is silent is spread over the line, and over the ids.
			if i%(people/silent) != 0 {
				s.pollNow(answers[i].Place)
			}
		})
		sum := func() (sum line.Sweep) {
			calls := s.sweepOf(s.stores[0])
			for _, c := range calls {
				if c.Busy || c.Examined > mostExamined {
					s.t.Fatalf("a call of a sweep: %+v", c)
				}
				sum.Examined += c.Examined
				sum.Removed += c.Removed
			}
			return sum
		}
		first := sum()
		s.equal("removed", first.Removed, int64(silent))
		s.equal("all examined", first.Examined >= people, true)
		s.equal("the next time", sum(), line.Sweep{Examined: people - silent})
	},
}

// workers is how many ask at once.
const workers = 64

// crowdID spreads as random ids do: the odd factor makes every number another.
func crowdID(i int) (id line.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(i+1)*0x9e37_79b9_7f4a_7c15)
	return id
}

// each calls do for 0 to n-1, many at a time.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// joinMany has so many join, and returns their answers.
func (s *story) joinMany(n int, id func(i int) line.ID) []line.Answer {
	s.t.Helper()
	answers := make([]line.Answer, n)
	each(n, func(i int) {
		a, err := s.store().Join(s.t.Context(), s.zoneID, id(i))
		if err != nil {
			s.t.Errorf("join: %v", err)
		}
		answers[i] = a
	})
	if s.t.Failed() {
		s.t.FailNow()
	}
	return answers
}

// pollNow asks the store alone.
func (s *story) pollNow(p line.Place) line.Answer {
	s.t.Helper()
	a, err := s.store().Poll(s.t.Context(), s.zoneID, p)
	if err != nil {
		s.t.Errorf("poll: %v", err)
	}
	return a
}

// stampede: so many people come again and again, each as soon as it was admitted,
// and poll without a pause, so many times each. Every call moves the clock a
// little. It returns when who was admitted, sorted.
func (s *story) stampede(people, polls int) (admitted []int64) {
	s.t.Helper()
	var mu sync.Mutex
	each(people, func(i int) {
		visit := i
		p := line.Place{ID: crowdID(visit)}
		for range polls {
			s.clock.Add(7 * milli)
			var a line.Answer
			var err error
			if p.ArrivedAtMicros == 0 {
				a, err = s.store().Join(s.t.Context(), s.zoneID, p.ID)
			} else {
				a, err = s.store().Poll(s.t.Context(), s.zoneID, p)
			}
			if err != nil {
				s.t.Errorf("visit: %v", err)
				return
			}
			p = a.Place
			if a.Status == line.Admitted {
				mu.Lock()
				admitted = append(admitted, a.AdmittedAtMillis)
				mu.Unlock()
				visit += people
				p = line.Place{ID: crowdID(visit)}
			}
		}
	})
	slices.Sort(admitted)
	return admitted
}
