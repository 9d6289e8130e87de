package conformance

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Run runs every story, the scripts' and those in Go, each on a store of its own.
func Run(t *testing.T, open Open) {
	t.Helper()
	texts, err := scripted()
	if err != nil {
		t.Fatal(err)
	}
	for _, stories := range []map[string]func(*story){
		texts, manyStories, lossStories, zoneStories, recordStories,
	} {
		for name, run := range stories {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(&story{
					fixture: newFixture(t, open), t: t, tokens: map[string]line.Place{},
					answers: map[string]line.Answer{}, admissions: map[line.ID]line.Answer{},
				})
			})
		}
	}
}

// story is a fixture with one store, in which visitors have names. Each visitor
// shows the token of its last answer.
type story struct {
	*fixture
	t      *testing.T
	tokens map[string]line.Place
	// answers are the latest of each visitor, admissions those that let one in.
	answers    map[string]line.Answer
	admissions map[line.ID]line.Answer
	// admitted are the times of all admissions, in Unix milliseconds.
	admitted []int64
	// settings are those of the zone that was deleted last, footprint is what a
	// script noted of the store's.
	settings  zone.Settings
	footprint map[string]int
}

// reply is an answer that a story says something of. The fixture has compared it
// with the model's already.
type reply struct {
	s   *story
	who string
	line.Answer
}

// zone makes the zone with the defaults, or changes it as it is.
func (s *story) zone(edit func(z *zone.Settings)) {
	s.t.Helper()
	z := s.defaults()
	if s.model != nil {
		z = s.model.settings
	}
	edit(&z)
	s.put(z)
}

// defaults are those of a zone, but that no place is set aside: a story that is about that says for how long.
func (s *story) defaults() zone.Settings {
	z := zone.Defaults(s.zoneID)
	z.KeepPlaceSeconds = 0
	return z
}

// onePerWindow is a zone that lets one in every 6 s, 10 a minute.
func (s *story) onePerWindow() {
	s.t.Helper()
	s.zone(func(z *zone.Settings) { z.PerMinute = 10 })
}

// full is a zone that lets one in every 6 s, and just did.
func (s *story) full() {
	s.t.Helper()
	s.onePerWindow()
	s.join("first").enters()
}

func (s *story) after(d time.Duration) { s.clock.Add(d) }

func (s *story) join(who string) reply {
	s.t.Helper()
	return s.reply(who, s.fixture.join(visitorID(who)))
}

func (s *story) poll(who string) reply {
	s.t.Helper()
	return s.reply(who, s.fixture.poll(s.tokens[who]))
}

func (s *story) leave(who string) {
	s.t.Helper()
	s.fixture.leave(s.tokens[who])
}

func (s *story) reply(who string, a line.Answer) reply {
	if p, ok := token(a); ok {
		p.Told = 0 // stories look at the positions that there are, the property at those that are told
		s.tokens[who] = p
	}
	s.answers[who] = a
	if a.Status == line.Admitted {
		s.admitted = append(s.admitted, a.AdmittedAtMillis)
		s.admissions[a.Place.ID] = a
	}
	return reply{s, who, a}
}

func (r reply) is(want line.Status) {
	r.s.t.Helper()
	r.s.equal(r.who, r.Status, want)
}

// waits: in the line, at the position.
func (r reply) waits(position int64) {
	r.s.t.Helper()
	r.is(line.Waiting)
	r.s.equal(r.who+"'s position", r.Position, position)
}

// enters: by this call.
func (r reply) enters() {
	r.s.t.Helper()
	r.is(line.Admitted)
}

// pollAll has those named poll every so often for a while, each until it is in,
// and returns who came in, in order. Every 0: as told, since they have just asked.
func (s *story) pollAll(who []string, every, during time.Duration) (in []string) {
	s.t.Helper()
	who = slices.Clone(who)
	step, asked := cmp.Or(every, 50*milli), map[string]time.Duration{}
	for at := step; at <= during; at += step {
		s.after(step)
		who = slices.DeleteFunc(who, func(name string) bool {
			if every == 0 && at-asked[name] < time.Duration(s.answers[name].PeriodMillis)*milli {
				return false
			}
			asked[name] = at
			status := s.poll(name).Status
			if status == line.Admitted {
				in = append(in, name)
			}
			return status != line.Waiting
		})
	}
	return in
}

// mostIn is the most admissions in any closed interval of that length.
func (s *story) mostIn(span time.Duration) int { return measure.Most(s.admitted, span.Milliseconds()) }

// totals compares what became of visitors with the figures that are named; the others of these five are 0. The property
// compares all totals with the model.
func (s *story) totals(named []string) {
	s.t.Helper()
	got := s.stats().Totals
	s.figures(named, got)
	for _, other := range []string{"Joined", "Admitted", "Left", "Swept", "Restored", "SetAside", "Returned"} {
		if !slices.ContainsFunc(named, func(w string) bool { return s.figure(w).name == other }) {
			s.figures([]string{other + "=0"}, got)
		}
	}
}

func (s *story) equal(what string, got, want any) {
	s.t.Helper()
	if got != want {
		s.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (s *story) fails(what string, err, want error) {
	s.t.Helper()
	if !errors.Is(err, want) {
		s.t.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

// store is the one under test.
func (s *story) store() store.Store { return s.stores[0].Store }

// names are so many of them: letter0, letter1, ...
func names(letter string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = letter + string(rune('A'+i/26)) + string(rune('a'+i%26))
	}
	return all
}
