package conformance

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Run tells every story of this package to a store of its own.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, stories := range []map[string]func(*story){
		limitStories, changeStories, placeStories, repeatStories, sweepStories, lossStories, zoneStories, recordStories, countStories, orderStories,
	} {
		for name, tell := range stories {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tell(&story{world: newWorld(t, open), t: t, tokens: map[string]line.Place{}})
			})
		}
	}
}

// story is a world with one store, in which visitors have names. Each visitor
// shows the token of its last answer.
type story struct {
	*world
	t      *testing.T
	tokens map[string]line.Place
	// admitted are the times of all admissions, in Unix milliseconds.
	admitted []int64
}

// reply is an answer that a story says something of. The world has compared it
// with the model's already.
type reply struct {
	s   *story
	who string
	line.Answer
}

// zone makes the zone with the defaults, or changes it as it is.
func (s *story) zone(edit func(z *zone.Settings)) {
	s.t.Helper()
	z := zone.Defaults(s.zoneID)
	if s.model != nil {
		z = s.model.settings
	}
	edit(&z)
	s.put(z)
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

func (s *story) join(who string, former ...string) reply {
	s.t.Helper()
	ids := make([]line.ID, len(former))
	for i, f := range former {
		ids[i] = visitorID(f)
	}
	return s.reply(who, s.world.join(visitorID(who), ids...))
}

func (s *story) poll(who string) reply {
	s.t.Helper()
	return s.reply(who, s.world.poll(s.tokens[who]))
}

func (s *story) leave(who string) {
	s.t.Helper()
	s.world.leave(s.tokens[who])
}

func (s *story) reply(who string, a line.Answer) reply {
	if p, ok := token(a); ok {
		s.tokens[who] = p
	}
	if a.Status == line.Admitted {
		s.admitted = append(s.admitted, a.AdmittedAtMillis)
	}
	return reply{s, who, a}
}

// is compares what a story can say of an answer; the rest is the model's.
func (r reply) is(want line.Answer) {
	r.s.t.Helper()
	want.State, want.AheadMillis = r.State, r.AheadMillis
	if want.Status != line.Gone && want.Status != line.Closed && want.Status != line.Full {
		want.Place = r.s.tokens[r.who]
	}
	if r.Answer != want {
		r.s.t.Fatalf("%s:\n got %+v\nwant %+v", r.who, r.Answer, want)
	}
}

// waits: in the line, at the position, told when to poll.
func (r reply) waits(position int64) {
	r.s.t.Helper()
	r.is(line.Answer{
		Status: line.Waiting, Position: position, Restored: r.Restored,
		EstimateMillis: r.EstimateMillis, PeriodMillis: r.PeriodMillis,
	})
	if r.PeriodMillis <= 0 {
		r.s.t.Fatalf("%s: told to poll in %d ms", r.who, r.PeriodMillis)
	}
}

// enters: by this call, with a pass that lives as long as the settings say.
func (r reply) enters() {
	r.s.t.Helper()
	now := r.State.NowMillis
	r.is(line.Answer{
		Status: line.Admitted, Restored: r.Restored,
		AdmittedAtMillis: now, ExpiresAtMillis: now + r.s.model.settings.PassTTLSeconds*1000,
	})
}

// enteredBefore: the same admission once more.
func (r reply) enteredBefore(first reply) {
	r.s.t.Helper()
	r.is(line.Answer{
		Status:           line.AdmittedBefore,
		AdmittedAtMillis: first.AdmittedAtMillis, ExpiresAtMillis: first.ExpiresAtMillis,
	})
}

func (r reply) gone()   { r.s.t.Helper(); r.is(line.Answer{Status: line.Gone}) }
func (r reply) closed() { r.s.t.Helper(); r.is(line.Answer{Status: line.Closed}) }
func (r reply) full()   { r.s.t.Helper(); r.is(line.Answer{Status: line.Full}) }

// restored: and the store says that it had lost the place.
func (r reply) restored() reply {
	r.s.t.Helper()
	if !r.Restored {
		r.s.t.Fatalf("%s: the place was not restored: %+v", r.who, r.Answer)
	}
	return r
}

// pollAll has those named poll every so often for a while, each until it is in,
// and returns who came in, in order.
func (s *story) pollAll(who []string, every, during time.Duration) (in []string) {
	s.t.Helper()
	who = slices.Clone(who)
	for ; during > 0; during -= every {
		s.after(every)
		who = slices.DeleteFunc(who, func(name string) bool {
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
func (s *story) mostIn(span time.Duration) (most int) {
	for i, from := range s.admitted {
		n := 0
		for _, at := range s.admitted[i:] {
			if at <= from+span.Milliseconds() {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// totals compares all but the polls, which stories are not told by.
func (s *story) totals(want line.Totals) {
	s.t.Helper()
	got := s.stats().Totals
	if got.Polls = want.Polls; got != want {
		s.t.Fatalf("totals %+v, want %+v", got, want)
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
