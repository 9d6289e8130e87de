package lua

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// BenchmarkOpening has a million gather, and those at the front and some of the others poll when people have settled and
// in the first windows. longest-poll-ms is the longest script call meanwhile.
func BenchmarkOpening(b *testing.B) {
	const gathered, perMinute, polling = 1_000_000, 60_000, 30_000
	for _, order := range []event.Order{event.OrderArrival, event.OrderDraw} {
		b.Run(fmt.Sprintf("%s=%d", order, gathered), func(b *testing.B) {
			clock := conformance.NewClock()
			s := openStore(b, clock.Now)
			z, d := gathering(clock.Now(), order, 10*time.Minute)
			z.PerMinute, z.IdleTimeoutSeconds = perMinute, 3600
			put(b, s, z)
			clock.Add(2 * time.Second)
			places := make([]line.Place, gathered)
			joined := s.watch(b, func() {
				inTurn(256, gathered, func(i int) {
					id, drawn := farID(i), event.Drawn{}
					if order == event.OrderDraw {
						drawn = d.Drawn(event.Seed{}, event.TicketOf("Z", "noon", id))
					}
					a, err := s.JoinDrawn(b.Context(), "Z", drawn, id)
					if err != nil || a.Status != line.Waiting {
						b.Errorf("%+v, %v", a, err)
					}
					places[i] = a.Place
					places[i].ScoreMicros = drawn.ScoreMicros
				})
			})
			slices.SortFunc(places, func(a, b line.Place) int {
				if order == event.OrderDraw {
					return int(a.ScoreMicros - b.ScoreMicros)
				}
				return int(a.ArrivedAtMicros - b.ArrivedAtMicros)
			})
			admitted := 0
			round := func() {
				inTurn(256, polling, func(i int) {
					if i >= polling/2 {
						i = gathered / polling * i
					}
					if places[i].ID == (line.ID{}) {
						return
					}
					a, err := s.Poll(b.Context(), "Z", places[i])
					if err != nil {
						b.Errorf("%v", err)
					}
					if a.Status == line.Admitted {
						places[i] = line.Place{}
					}
				})
			}
			clock.Add(10*time.Minute - 2*time.Second)
			opened := s.watch(b, func() {
				for range 3 { // people settle
					round()
					clock.Add(20 * time.Second)
				}
				for range 12 { // two windows, and no two rounds in one second
					round()
					clock.Add(time.Second + time.Millisecond)
				}
			})
			for _, p := range places {
				if p.ID == (line.ID{}) {
					admitted++
				}
			}
			for b.Loop() { // it is done once, and Loop forgets what was reported before
			}
			for name, w := range map[string]work{"join": joined, "poll": opened} {
				b.ReportMetric(w.longest, "longest-"+name+"-ms")
				b.ReportMetric(w.cpu, "redis-us/"+name+"s")
			}
			b.ReportMetric(float64(admitted), "admitted")
		})
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

// work is what scripts did: the longest call, in milliseconds, and the processor time that it took Redis, in microseconds.
type work struct{ longest, cpu float64 }

// watch does something, and returns what scripts did meanwhile.
func (s *Store) watch(b *testing.B, do func()) (w work) {
	b.Helper()
	run := func(args ...any) *redis.Cmd { return s.client.Do(b.Context(), args...) }
	run("CONFIG", "SET", "slowlog-log-slower-than", "500")
	run("CONFIG", "SET", "slowlog-max-len", "100000")
	run("SLOWLOG", "RESET")
	began := redisCPU(b, s)
	do()
	w.cpu = float64((redisCPU(b, s) - began).Microseconds())
	logs, err := s.client.SlowLogGet(b.Context(), 100_000).Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range logs {
		if len(l.Args) > 0 && (l.Args[0] == "evalsha" || l.Args[0] == "eval") {
			w.longest = max(w.longest, float64(l.Duration.Microseconds())/1000)
		}
	}
	return w
}
