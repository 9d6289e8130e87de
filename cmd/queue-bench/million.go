package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/sweeper"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
	"github.com/openqueue/waitingroom/lua"
)

const (
	// millionPerMinute are admitted a minute.
	millionPerMinute = 60_000
	// millionLeave is the share of visitors who fall silent while they wait, each at some moment of the time that it
	// would have to.
	millionLeave = 0.35
	// millionIdle is the idle timeout in seconds: with it those far away come once a minute.
	millionIdle = 180
	// millionRound is in which all poll once, before anybody is admitted.
	millionRound = window.MaxPeriodMillis*time.Millisecond + 2*time.Second
	// millionWarm is how long the line moves on before it counts: those at the front were told to come back after the
	// longest period while nobody was admitted.
	millionWarm = 30 * time.Second
	// nearest are those whose polls Redis answers, each by itself; see position.lua.
	nearest = 51_200
	// together are handed over at once of those who are far, for whom that costs as much as the poll.
	together = 32
)

// million is the crowd: visitor i has the i-th place. Two servers' stores are polled, without HTTP.
type million struct {
	*wheel

	stores [2]*lua.Store
	redis  *redisServer
	epoch  uint32
	// arrived are the places; position is what each was told last, and came when it last tried, in ms of the wheel.
	arrived        []int64
	position, came []uint32
	// opened is when the first may be admitted, Unix nanoseconds; 0: not yet.
	opened atomic.Int64

	mu                  sync.Mutex
	admitted            []measure.Visitor
	lost, rose, tooLate atomic.Int64
	// These count from when the line has moved on for a while.
	polls, memory atomic.Int64
}

// id is the i-th visitor's; ids of tokens are as evenly spread.
func (m *million) id(i int) (id line.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(i+1)*0x9e3779b97f4a7c15)
	return id
}

// silent reports whether a visitor has gone.
func (m *million) silent(i int, now time.Time) bool {
	opened := m.opened.Load()
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	if opened == 0 || rng.Float64() >= millionLeave {
		return false
	}
	return float64(now.UnixNano()-opened) > rng.Float64()*float64(i)/millionPerMinute*float64(time.Minute)
}

// put sets the zone's limit and idle timeout.
func (m *million) put(ctx context.Context, perMinute, idleSeconds int64) error {
	z := zone.Defaults(benchZone)
	z.PerMinute, z.IdleTimeoutSeconds = perMinute, idleSeconds
	_, err := m.stores[0].PutZone(ctx, z, nil, audit.By{})
	return err
}

// millions measures the very large crowd, on a Redis of its own.
func (b *bench) millions(ctx context.Context) (err error) {
	n := b.plan.million
	fmt.Fprintf(b.says, "%d waiting on one Redis\n", n)
	m := &million{wheel: &wheel{began: time.Now()}, arrived: make([]int64, n), position: make([]uint32, n), came: make([]uint32, n)}
	if m.redis, err = startRedis(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.redis.Stop()) }()
	for i := range m.stores {
		if m.stores[i], err = lua.Open(ctx, lua.Options{URL: m.redis.URL()}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.stores[i].Close()) }()
	}
	grown, err := rises(ctx, m.redis.memory, func() error { return m.fill(ctx) })
	if err != nil {
		return err
	}
	b.table.add("waiting on one Redis", float64(n), "")
	b.table.add("a waiting visitor, Redis", float64(grown)/float64(n), "bytes")
	driving, stop := context.WithCancel(ctx)
	defer stop()
	all, driving := errgroup.WithContext(driving)
	far := make(chan []int32, n/together+wheelSlots)
	all.Go(func() error { return m.drive(driving, far) })
	sweeps, err := sweeper.New(sweeper.Options{Zones: zones.New(zones.Options{Store: m.stores[0]}), Registerer: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	sweeps.Start(driving)
	defer sweeps.Stop()
	err = m.line(driving, b.plan.millionSpan, far, &b.table)
	stop()
	if failed := all.Wait(); !errors.Is(failed, context.Canceled) {
		err = errors.Join(failed, err)
	}
	return err
}

// fill lines all up in a zone that is paused, while the front of the line polls.
func (m *million) fill(ctx context.Context) error {
	front := min(frontSize, len(m.arrived))
	if err := errors.Join(m.put(ctx, 0, zone.MaxIdleTimeoutSeconds), m.join(ctx, 0, front)); err != nil {
		return err
	}
	keeping, stop := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() {
		for pause(keeping, frontEvery) == nil {
			for i := range front {
				m.poll(ctx, i)
			}
		}
	})
	err := m.join(ctx, front, len(m.arrived))
	stop()
	kept.Wait()
	return err
}

// join has visitors take their places, in their order as far as they come at once.
func (m *million) join(ctx context.Context, from, upto int) error {
	return each(ctx, 2*pollers, upto-from, func(ctx context.Context, k int) error {
		i := from + k
		a, err := m.stores[i%2].Join(ctx, benchZone, m.id(i))
		for err != nil && ctx.Err() == nil { // as clients do who are not answered
			a, err = m.stores[i%2].Join(ctx, benchZone, m.id(i))
		}
		if err == nil {
			m.arrived[i] = a.Place.ArrivedAtMicros
			if i == 0 {
				m.epoch = a.Place.Epoch
			}
		}
		return err
	})
}

// line is the time in which the line moves on.
func (m *million) line(ctx context.Context, span time.Duration, far <-chan []int32, out *table) error {
	if err := errors.Join(m.put(ctx, 0, millionIdle), pause(ctx, millionRound)); err != nil {
		return err
	}
	m.opened.Store(time.Now().UnixNano())
	if err := errors.Join(m.put(ctx, millionPerMinute, millionIdle), pause(ctx, millionWarm)); err != nil {
		return err
	}
	counts := time.Now()
	m.polls.Store(0)
	m.memory.Store(0)
	own := ownCPU()
	var used time.Duration
	calls, err := m.redis.longestCalls(ctx, func() (err error) {
		used, err = rises(ctx, m.redis.cpu, func() error { return pause(ctx, span) })
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(counts).Seconds()
	polls := float64(max(1, m.polls.Load()))
	out.add("polls a second", polls/took, "")
	out.add("of them answered without Redis, which is told later", 100*float64(m.memory.Load())/polls, "%")
	out.add("polls that were due at the end, and that the generator had not sent", float64(together*len(far)), "")
	out.atMost("share of Redis's core", 100*used.Seconds()/took, "%", 50)
	out.add("Redis CPU a poll, sweeps and admissions included", micros(used)/polls, "µs")
	out.add("cores of generator and stores", (ownCPU()-own).Seconds()/took, "")
	out.addCalls("the line moves on", calls)
	memory, err := m.redis.memory(ctx)
	out.add("Redis's memory at the end", float64(memory)/1e6, "MB")
	m.judge(counts.UnixMilli(), out)
	return err
}

// judge adds what the visitors saw from a time on.
func (m *million) judge(from int64, out *table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	z := zone.Defaults(benchZone)
	z.PerMinute = millionPerMinute
	rates := window.RatesOf(z)
	// Of those who stood before the first of them, some came late for the reason of millionWarm.
	first := int64(0)
	for _, v := range m.admitted {
		if v.AdmittedMillis < from {
			first = max(first, v.Place)
		}
	}
	for i := range m.admitted {
		m.admitted[i].Late = m.admitted[i].Place <= first
	}
	seen := measure.Judge(m.admitted, rates)
	out.add("admitted", float64(seen.Admitted), "")
	out.atMost("most admissions in a window", float64(seen.MostWindow), "", float64(rates.Limit))
	out.atMost("most admissions in a minute", float64(seen.MostMinute), "", millionPerMinute)
	out.atMost("overtaken (p99), in windows' worth of visitors", measure.Percentile(seen.Overtaken, 99), "", 0.5)
	out.atMost("overtaken (most), in windows' worth of visitors", measure.Percentile(seen.Overtaken, 100), "", 2)
	out.atMost("places lost", float64(m.lost.Load()), "", 0)
	out.add("swept because the generator sent their polls too late", float64(m.tooLate.Load()), "")
	out.atMost("positions that rose", float64(m.rose.Load()), "", 0)
}

// poll has one poll, and returns in which time it comes again; 0: never.
func (m *million) poll(ctx context.Context, i int) (again time.Duration) {
	now := time.Now()
	if m.silent(i, now) {
		return 0
	}
	// What is late is so because of the generator: it vouches for its visitors, as guards do.
	before, at := m.came[i], uint32(time.Since(m.began).Milliseconds())
	m.came[i] = at
	p := line.Place{ID: m.id(i), ArrivedAtMicros: m.arrived[i], Epoch: m.epoch, DueMillis: now.UnixMilli()}
	a, err := m.stores[i%2].Poll(ctx, benchZone, p)
	if ctx.Err() != nil {
		return 0
	}
	m.polls.Add(1)
	if a.Remembered {
		m.memory.Add(1)
	}
	switch {
	case err != nil:
		return time.Second
	case a.Status == line.Waiting:
		if was := m.position[i]; was > 0 && a.Position > int64(was) {
			m.rose.Add(1)
		}
		m.position[i] = uint32(a.Position)
		return time.Duration(a.PeriodMillis) * time.Millisecond
	case a.Status == line.Admitted, a.Status == line.AdmittedBefore: // by a call whose answer was late
		m.mu.Lock()
		defer m.mu.Unlock()
		m.admitted = append(m.admitted, measure.Visitor{Place: p.ArrivedAtMicros, AdmittedMillis: a.AdmittedAtMillis})
	case before > 0 && at-before < millionIdle*1000/2:
		m.lost.Add(1)
	default:
		m.tooLate.Add(1)
	}
	return 0
}

// near reports whether a visitor's polls are nearly all Redis's to answer. The i-th place is the i-th visitor's.
func (m *million) near(i int32) bool {
	if told := m.position[i]; told > 0 {
		return told <= 2*nearest
	}
	return i < 2*nearest
}

// drive has all poll when they were told to, until the context ends. Those who are near wait for Redis, and do not hold
// up the others. far has those who are due and far: where the generator is too slow, they come later.
func (m *million) drive(ctx context.Context, far chan []int32) error {
	m.at = int64(time.Since(m.began) / wheelTick) // nobody comes in what has passed
	for i := range m.arrived {
		m.add(int32(i), anyTime(i))
	}
	near := make(chan []int32, cap(far))
	workers, working := errgroup.WithContext(ctx)
	for range pollers {
		for _, some := range []chan []int32{near, far} {
			workers.Go(func() error {
				for part := range some {
					for _, i := range part {
						if again := m.poll(working, int(i)); again > 0 {
							m.add(i, again)
						}
					}
				}
				return nil
			})
		}
	}
	workers.Go(func() error {
		defer close(near)
		defer close(far)
		for pause(working, wheelTick) == nil {
			for due, come := m.due(); come; due, come = m.due() {
				rest := slices.DeleteFunc(due, func(i int32) bool {
					is := m.near(i)
					if is {
						near <- []int32{i}
					}
					return is
				})
				for part := range slices.Chunk(rest, together) {
					far <- part
				}
			}
		}
		return working.Err()
	})
	return workers.Wait()
}

// anyTime is within the longest period of the i-th.
func anyTime(i int) time.Duration {
	longest := window.FarPeriodMillis * time.Millisecond
	if i > window.FarAway {
		longest = window.MaxPeriodMillis * time.Millisecond
	}
	return rand.N(longest)
}
