package lua

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestMarksAfterALoss: where places and marks were lost and put back, positions
// are as good as before, and never rise once all are back.
func TestMarksAfterALoss(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{
		"less than lies between two marks": 400,
		"several marks":                    2_000,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarCrowd(t)
			paused := zone.Defaults("Z")
			paused.PerMinute = 0
			put(t, f.servers[0], paused)
			f.nextRound()
			f.failOver(lost)
			back := f.arrived()
			back = back[len(back)-lost:]
			f.together(len(back), func(i int) {
				if a, err := f.servers[0].Poll(t.Context(), "Z", f.places[back[i]]); err != nil || !a.Restored {
					t.Errorf("%+v, %v, want restored", a, err)
				}
			})
			const newcomers = 700
			n := len(f.places)
			f.places, f.told = append(f.places, make([]line.Place, newcomers)...), append(f.told, make([]int64, newcomers)...)
			f.together(newcomers, func(i int) {
				a, err := f.servers[0].Join(t.Context(), "Z", farID(n+i))
				if err != nil {
					t.Errorf("join: %v", err)
				}
				f.places[n+i], f.told[n+i] = a.Place, a.Position
			})
			polled := f.arrived()
			polled = polled[len(polled)-newcomers-lost-2*markEvery:]
			for _, who := range polled {
				f.told[who] = int64(len(f.places)) + markEvery
			}
			rng := rand.New(rand.NewPCG(3, 4))
			for round := range 12 {
				f.nextRound()
				for i := range polled {
					f.pollsFar(f.servers[(i+round)%2], polled[i])
				}
				for range 150 {
					i := rng.IntN(len(polled))
					if err := f.servers[0].Leave(t.Context(), "Z", f.places[polled[i]]); err != nil {
						t.Errorf("leave: %v", err)
					}
					polled = append(polled[:i], polled[i+1:]...)
				}
			}
		})
	}
}

// nextRound is 4 s later. The front keeps polling, or the edge would move on.
func (f *farCrowd) nextRound() {
	f.Helper()
	f.clock.Add(4 * time.Second)
	front := f.arrived()[:200]
	f.together(len(front), func(i int) {
		if _, err := f.servers[0].Poll(f.Context(), "Z", f.places[front[i]]); err != nil {
			f.Errorf("poll: %v", err)
		}
	})
}

// pollsFar polls, and holds the position to what was told before.
func (f *farCrowd) pollsFar(s *Store, who int) {
	f.Helper()
	exact, score := f.exact(f.places[who]), f.places[who].ScoreMicros
	a, err := s.Poll(f.Context(), "Z", f.places[who])
	a.Place.ScoreMicros = score
	switch {
	case err != nil || a.Status != line.Waiting:
		f.Errorf("poll: %+v, %v", a, err)
	case a.Position > f.told[who]:
		f.Errorf("the position rose from %d to %d, exactly %d", f.told[who], a.Position, exact)
	case a.Position < exact || a.Position >= exact+markEvery, exact <= exactUpTo && a.Position != exact && !a.Remembered:
		f.Errorf("position %d, exactly %d", a.Position, exact)
	}
	f.places[who], f.told[who] = a.Place, a.Position
}

// arrived are all, in the order of the line.
func (f *farCrowd) arrived() []int {
	all := make([]int, len(f.places))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Compare(f.places[a].StandsAtMicros(), f.places[b].StandsAtMicros())
	})
	return all
}

// failOver loses the latest writes, as a replica does that takes over: those by
// which so many lined up.
func (f *farCrowd) failOver(lost int) {
	f.Helper()
	s, ctx := f.servers[0], f.Context()
	keys, all := s.keys("Z"), f.arrived()
	gone := all[len(all)-lost:]
	from := f.places[gone[0]].ArrivedAtMicros
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, who := range gone {
			id := f.places[who].ID
			p.ZRem(ctx, keys[1], string(id[:]))
			p.HDel(ctx, fmt.Sprint(keys[seenKey], seenBucket(f.places[who].StandsAtMicros())), string(id[:]))
		}
		p.ZRemRangeByScore(ctx, keys[marksKey], strconv.FormatInt(from, 10), "+inf")
		p.HSet(ctx, keys[0], "last_micros", from-1, "run_id", "another", "unmarked", (len(all)-lost)%markEvery)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// TestMarksInADraw: marks lie anywhere among those who gather, and so do those who still come; what
// is told once they have settled never rises, nor for those who come later and stand behind them.
func TestMarksInADraw(t *testing.T) {
	t.Parallel()
	const early, gathered, late = exactUpTo + 6_000, exactUpTo + 24*markEvery, 1_500
	f := &farCrowd{T: t, clock: conformance.NewClock(), places: make([]line.Place, gathered), told: make([]int64, gathered)}
	for i := range f.servers {
		f.servers[i] = openStore(t, f.clock.Now)
		f.servers[i].prefix = f.servers[0].prefix
	}
	z, d := gathering(f.clock.Now(), event.OrderDraw, time.Minute)
	put(t, f.servers[0], z)
	f.clock.Add(40 * time.Second)
	comes := func(i int, drawn event.Drawn) {
		a, err := f.servers[i%2].JoinDrawn(t.Context(), "Z", drawn, farID(i))
		if err != nil || a.Status != line.Waiting {
			t.Errorf("join: %+v, %v", a, err)
		}
		f.places[i], f.told[i] = a.Place, a.Position
		f.places[i].ScoreMicros = drawn.ScoreMicros
	}
	gathers := func(i int) { comes(i, d.Drawn(event.Seed{}, event.TicketOf("Z", "noon", farID(i)))) }
	f.together(early, gathers)
	f.clock.Add(12 * time.Second)
	f.together(early, func(i int) {
		if a, err := f.servers[i%2].Poll(t.Context(), "Z", f.places[i]); err != nil || a.Position != 0 {
			t.Errorf("while people gather: %+v, %v", a, err)
		}
	})
	f.touches() // their notes are written
	f.together(gathered-early, func(i int) { gathers(early + i) })
	f.clock.Add(8*time.Second + time.Millisecond)
	for i := range gathered {
		f.told[i] = gathered + late
	}
	more := func(n int) {
		came := len(f.places)
		f.places, f.told = append(f.places, make([]line.Place, n)...), append(f.told, make([]int64, n)...)
		f.together(n, func(i int) { comes(came+i, event.Drawn{}) })
	}
	// Those behind the last mark hear of their numbers while a few come at a time, then many.
	rng := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		tail := f.arrived()[gathered-3*markEvery:]
		rng.Shuffle(len(tail), func(i, k int) { tail[i], tail[k] = tail[k], tail[i] })
		for _, who := range tail[:markEvery] {
			f.pollsFar(f.servers[who%2], who)
		}
		more(128)
		f.nextRound()
	}
	more(late - len(f.places) + gathered)
	polled := f.arrived()[exactUpTo-markEvery:]
	for round := range 4 {
		f.together(len(polled), func(i int) { f.pollsFar(f.servers[(i+round)%2], polled[i]) })
		f.nextRound()
	}
}

// TestMarksOfTheReleased: when a sweep removes the marks behind the edge, the
// positions of those beyond it do not rise.
func TestMarksOfTheReleased(t *testing.T) {
	t.Parallel()
	f := newFarCrowd(t)
	s, ctx := f.servers[0], t.Context()
	all := f.arrived()
	paused := zone.Defaults("Z")
	paused.PerMinute = 0
	put(t, s, paused)
	// With so many live, the edge stays where it is put.
	keys, due := s.keys("Z"), f.clock.Now().Add(time.Hour).UnixMilli()
	for _, who := range all[:500] {
		id := string(f.places[who].ID[:])
		s.client.ZAdd(ctx, keys[2], redis.Z{Score: float64(f.places[who].ArrivedAtMicros), Member: id})
		s.client.ZAdd(ctx, keys[3], redis.Z{Score: float64(due), Member: id})
	}
	// The marks are no longer at multiples of their distance.
	for _, who := range all[200:230] {
		must(t, s.Leave(ctx, "Z", f.places[who]))
	}
	f.clock.Add(4 * time.Second)
	// The edge lies between two marks, then beyond the last one.
	for _, edge := range []int{exactUpTo + 20*markEvery + 100, len(all) - 30} {
		at := f.places[all[edge-1]].ArrivedAtMicros
		must(t, s.client.HSet(ctx, keys[0], "edge_micros", at).Err())
		beyond := all[min(edge+100, len(all)-20):]
		beyond = beyond[:min(len(beyond), markEvery)]
		for range 3 {
			for _, who := range beyond {
				f.pollsFar(s, who)
			}
			marks := s.client.ZCard(ctx, keys[marksKey]).Val()
			f.sweep(1)
			if left := s.client.ZCard(ctx, keys[marksKey]).Val(); left == 0 || left > marks {
				t.Errorf("of %d marks %d are left", marks, left)
			}
			f.clock.Add(4 * time.Second)
		}
	}
	f.clock.Add(5 * time.Minute)
	f.sweep(2)
	if marks := s.client.ZCard(ctx, keys[marksKey]).Val(); marks != 0 {
		t.Errorf("%d marks are left in an empty line", marks)
	}
}

// gathering is a zone in which people gather from a second after now on, until they settle; a minute
// later it opens. Its draw's seed is the zero one.
func gathering(now time.Time, order event.Order, settles time.Duration) (zone.Settings, event.Draw) {
	d := event.Draw{
		Event: "noon", Nonce: "1", GathersAtMillis: now.Add(time.Second).UnixMilli(), SettlesAtMillis: now.Add(settles).UnixMilli(),
		OpensAtMillis: now.Add(settles + time.Minute).UnixMilli(),
	}
	d.FromMicros, d.UptoMicros = d.GathersAtMillis*1000, d.SettlesAtMillis*1000
	z := zone.Defaults("Z")
	z.EventState.Now = &event.Progress{
		Fixed: true,
		Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, Order: order,
		PreQueueAtMillis: d.GathersAtMillis, SettlesAtMillis: d.SettlesAtMillis, OpensAtMillis: d.OpensAtMillis,
	}
	if order == event.OrderDraw {
		z.EventState.Draws = []event.Draw{d}
	}
	return z, d
}
