package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/line"
	crowdfigures "github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/sweeper"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

const (
	// millionPerMinute are let in a minute.
	millionPerMinute = 60_000
	// millionLeave is the share of visitors who fall silent while they wait, each at some
	// moment of the time that it would have to.
	millionLeave = 0.35
	// millionIdle is the idle timeout in seconds: with it those far away come once a minute.
	millionIdle = 180
	// millionRound is in which all poll once, before anybody is let in.
	millionRound = window.MaxPeriodMillis*time.Millisecond + 2*time.Second
	// millionWarm is how long the line moves on before it counts: those at the front were told
	// to come back after the longest period while nobody was let in.
	millionWarm = 30 * time.Second
	// late is how late polls may be sent. What is far from the front and later than that
	// is left out, until the generator has caught up.
	late = 400 * time.Millisecond
)

type (
	// millionReport is what one zone of one Redis did with a very large crowd.
	millionReport struct {
		occasion
		Waiting   int           `json:"waiting"`
		PerMinute int64         `json:"perMinute"`
		Leave     float64       `json:"leave"`
		Span      time.Duration `json:"spanNanos"`
		// Bytes are those of a waiting visitor, Peak is Redis's memory after the rush.
		Bytes float64 `json:"bytes"`
		Peak  int64   `json:"peakBytes"`
		// Polls a second were made, FromMemory of them answered without Redis; LeftOut is the
		// share of those due that the generator could not send.
		Polls      float64 `json:"polls"`
		FromMemory float64 `json:"fromMemory"`
		LeftOut    float64 `json:"leftOut"`
		// RedisShare is that of one core, PollMicros what of it comes to a poll; OwnShare is
		// that of generator and stores.
		RedisShare float64 `json:"redisShare"`
		PollMicros float64 `json:"pollMicros"`
		OwnShare   float64 `json:"ownShare"`
		// Waited is the share of the time in which Redis could have run and no core was free: what
		// other work on the machine takes from it.
		Waited     float64       `json:"waited"`
		Longest    []longestCall `json:"longest"`
		Admitted   int           `json:"admitted"`
		MostWindow int           `json:"mostWindow"`
		Limit      int64         `json:"limit"`
		MostMinute int           `json:"mostMinute"`
		// Overtaken are in windows' worth of visitors.
		OvertakenP99  float64 `json:"overtakenP99"`
		OvertakenMost float64 `json:"overtakenMost"`
		// Lost are places of visitors who came when they were told to, TooLate of those whom the
		// load generator sent too late.
		Lost    int64 `json:"lost"`
		TooLate int64 `json:"tooLate"`
		Rose    int64 `json:"rose"`
		Rush    rush  `json:"rush"`
	}
	// rush is what happened when many joined at once.
	rush struct {
		Joins      int           `json:"joins"`
		Within     time.Duration `json:"withinNanos"`
		Took       time.Duration `json:"tookNanos"`
		Again      int64         `json:"again"`
		RedisShare float64       `json:"redisShare"`
		JoinMicros float64       `json:"joinMicros"`
		Longest    []longestCall `json:"longest"`
	}
)

// PerSecond is how many joined in a second.
func (r rush) PerSecond() float64 { return float64(r.Joins) / max(r.Took.Seconds(), 1e-9) }

// million is the crowd: visitor i has the i-th place.
type million struct {
	*wheel

	plan   plan
	stores [2]*lua.Store
	redis  *baseline.Server
	epoch  uint32
	// arrived are the places; position is what each was told last, and came when it last tried, in ms
	// of the wheel.
	arrived        []int64
	position, came []uint32
	// opened is when the first may be let in, Unix nanoseconds; 0: not yet.
	opened atomic.Int64
	// frontOnly: the others' polls are left out.
	frontOnly atomic.Bool

	mu                  sync.Mutex
	stays               []crowdfigures.Stay
	admitted            []int64
	lost, rose, tooLate atomic.Int64
	// These count from when the line has moved on for a while.
	polls, memory, leftOut atomic.Int64
	// answered and unanswered are polls since the sweeper last asked.
	answered, unanswered atomic.Int64
	// again are joins that were repeated.
	again atomic.Int64
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

// settings of the zone with that limit.
func (m *million) put(ctx context.Context, perMinute, idleSeconds int64) error {
	z := zone.Defaults(benchZone)
	z.PerMinute, z.IdleTimeoutSeconds = perMinute, idleSeconds
	_, err := m.stores[0].PutZone(ctx, z, nil, "")
	return err
}

// millions measures the very large crowd, on a Redis of its own and by stores alone.
func (b *bench) millions(ctx context.Context) (err error) {
	n := b.plan.Million
	m := &million{plan: b.plan, wheel: &wheel{began: time.Now()}, arrived: make([]int64, n), position: make([]uint32, n), came: make([]uint32, n)}
	if m.redis, err = baseline.Start(ctx, "redis-server"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.redis.Stop()) }()
	for i := range m.stores {
		if m.stores[i], err = lua.Open(ctx, lua.Options{URL: m.redis.URL()}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.stores[i].Close()) }()
	}
	out := millionReport{Waiting: n, PerMinute: millionPerMinute, Leave: millionLeave, Span: b.plan.MillionSpan}
	if out.Bytes, err = m.fill(ctx); err != nil {
		return err
	}
	driving, stop := context.WithCancel(ctx)
	defer stop()
	all, driving := errgroup.WithContext(driving)
	all.Go(func() error { return m.drive(driving) })
	sweeps, err := sweeper.New(sweeper.Options{Lines: m.stores[0], Registerer: prometheus.NewRegistry(), StoreOverloaded: m.overloaded})
	if err != nil {
		return err
	}
	sweeps.Start(driving)
	defer sweeps.Stop()
	err = m.line(driving, &out)
	if err == nil {
		err = m.rush(driving, &out)
	}
	stop()
	if failed := all.Wait(); !errors.Is(failed, context.Canceled) {
		err = errors.Join(failed, err)
	}
	b.million = out
	return err
}

// fill lines all up in a zone that is paused, whose front keeps polling, and returns what
// each takes of Redis's memory.
func (m *million) fill(ctx context.Context) (bytes float64, err error) {
	if err := m.put(ctx, 0, zone.MaxIdleTimeoutSeconds); err != nil {
		return 0, err
	}
	grown, err := rises(ctx, m.redis.UsedMemory, func() error { return m.lineUp(ctx) })
	return float64(grown) / float64(len(m.arrived)), err
}

// lineUp has all join, the front of the line polling.
func (m *million) lineUp(ctx context.Context) error {
	front := min(frontSize, len(m.arrived))
	if err := m.join(ctx, 0, front, nil); err != nil {
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
	err := m.join(ctx, front, len(m.arrived), nil)
	stop()
	kept.Wait()
	return err
}

// join has visitors take their places, in their order as far as they come at once. due,
// where it is not nil, says when each comes.
func (m *million) join(ctx context.Context, from, upto int, due func(i int) time.Time) error {
	return each(ctx, 2*pollers, upto-from, func(ctx context.Context, k int) error {
		i := from + k
		if due != nil {
			if err := pause(ctx, time.Until(due(i))); err != nil {
				return err
			}
		}
		a, err := m.stores[i%2].Join(ctx, benchZone, m.id(i))
		for err != nil && ctx.Err() == nil { // as clients do who are not answered
			m.again.Add(1)
			a, err = m.stores[i%2].Join(ctx, benchZone, m.id(i))
		}
		if err == nil && i < len(m.arrived) {
			m.arrived[i] = a.Place.ArrivedAtMicros
			if i == 0 {
				m.epoch = a.Place.Epoch
			}
		}
		return err
	})
}

// line is the time in which the line moves on.
func (m *million) line(ctx context.Context, out *millionReport) error {
	if err := errors.Join(m.put(ctx, 0, millionIdle), pause(ctx, m.plan.MillionRound)); err != nil {
		return err
	}
	m.opened.Store(time.Now().UnixNano())
	if err := errors.Join(m.put(ctx, millionPerMinute, millionIdle), pause(ctx, m.plan.MillionWarm), m.redis.WatchCalls(ctx, time.Millisecond)); err != nil {
		return err
	}
	opened := time.Now()
	for _, c := range []*atomic.Int64{&m.polls, &m.memory, &m.leftOut} {
		c.Store(0)
	}
	own := ownCPU()
	var waited time.Duration
	used, err := rises(ctx, m.redis.CPU, func() (err error) {
		waited, err = rises(ctx, m.redis.Waited, func() error { return pause(ctx, m.plan.MillionSpan) })
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(opened).Seconds()
	polls, leftOut := float64(max(1, m.polls.Load())), float64(m.leftOut.Load())
	out.Polls, out.FromMemory, out.LeftOut = polls/took, float64(m.memory.Load())/polls, leftOut/(polls+leftOut)
	out.RedisShare, out.OwnShare, out.Waited = used.Seconds()/took, (ownCPU()-own).Seconds()/took, waited.Seconds()/took
	out.PollMicros = micros(used) / polls
	calls, err := m.redis.ScriptCalls(ctx)
	out.Longest = longest(nil, "polls", calls)
	m.judge(opened.UnixMilli(), out)
	return err
}

// judge works out what the visitors saw from a time on.
func (m *million) judge(from int64, out *millionReport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	z := zone.Defaults(benchZone)
	z.PerMinute = millionPerMinute
	rates := window.RatesOf(z)
	slices.Sort(m.admitted)
	out.Admitted, out.Limit, out.Lost, out.TooLate, out.Rose = len(m.admitted), rates.Limit, m.lost.Load(), m.tooLate.Load(), m.rose.Load()
	out.MostWindow, out.MostMinute = crowdfigures.Most(m.admitted, rates.WindowMillis), crowdfigures.Most(m.admitted, window.MinuteMillis)
	// Of those who stood before the first of them, some came late for the reason of millionWarm.
	first := int64(0)
	for _, s := range m.stays {
		if s.Ended < from {
			first = max(first, s.Arrived)
		}
	}
	var overtaken []int
	for i, n := range crowdfigures.Overtaken(m.stays) {
		if m.stays[i].Arrived > first {
			overtaken = append(overtaken, n)
		}
	}
	slices.Sort(overtaken)
	out.OvertakenP99 = float64(crowdfigures.Percentile(overtaken, 99)) / float64(rates.Limit)
	out.OvertakenMost = float64(crowdfigures.Percentile(overtaken, 100)) / float64(rates.Limit)
}

// rush has many more join, while the front goes on.
func (m *million) rush(ctx context.Context, out *millionReport) error {
	m.frontOnly.Store(true)
	if err := errors.Join(pause(ctx, settleAfter), m.redis.WatchCalls(ctx, time.Millisecond)); err != nil {
		return err
	}
	again, began := m.again.Load(), time.Now()
	n, each := len(m.arrived), m.plan.RushWithin/time.Duration(m.plan.Rush)
	used, err := rises(ctx, m.redis.CPU, func() error {
		return m.join(ctx, n, n+m.plan.Rush, func(i int) time.Time { return began.Add(time.Duration(i-n) * each) })
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	calls, err := m.redis.ScriptCalls(ctx)
	out.Rush = rush{
		Joins: m.plan.Rush, Within: m.plan.RushWithin, Took: took, Again: m.again.Load() - again,
		RedisShare: used.Seconds() / took.Seconds(), JoinMicros: micros(used) / float64(m.plan.Rush),
		Longest: longest(nil, "joins", calls),
	}
	var failed error
	out.Peak, failed = m.redis.UsedMemory(ctx)
	return errors.Join(err, failed)
}

// overloaded is what the sweeper of a server asks: whether a tenth of the polls got no answer.
func (m *million) overloaded() bool {
	answered, unanswered := m.answered.Swap(0), m.unanswered.Swap(0)
	return 10*unanswered > answered+unanswered
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
	if err != nil {
		m.unanswered.Add(1)
	} else {
		m.answered.Add(1)
	}
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
		m.admitted = append(m.admitted, a.AdmittedAtMillis)
		m.stays = append(m.stays, crowdfigures.Stay{Arrived: p.ArrivedAtMicros, Ended: a.AdmittedAtMillis, In: true})
	case before > 0 && at-before < millionIdle*1000/2:
		m.lost.Add(1)
	default:
		m.tooLate.Add(1)
	}
	return 0
}

// near reports whether a visitor's polls are nearly all Redis's to answer. The i-th place is the i-th
// visitor's.
func (m *million) near(i int32) bool {
	if told := m.position[i]; told > 0 {
		return told <= 2*nearest
	}
	return i < 2*nearest
}

// drive has all poll when they were told to, until the context ends.
func (m *million) drive(ctx context.Context) error {
	m.start()
	for i := range m.arrived {
		m.add(int32(i), anyTime(i))
	}
	// Those who are near wait for Redis, and do not hold up the others.
	near, far := make(chan int32, len(m.arrived)), make(chan []int32)
	workers, working := errgroup.WithContext(ctx)
	poll := func(i int32) {
		if again := m.poll(working, int(i)); again > 0 {
			m.add(i, again)
		}
	}
	for range pollers {
		workers.Go(func() error {
			for i := range near {
				poll(i)
			}
			return nil
		})
		workers.Go(func() error {
			for part := range far {
				for _, i := range part {
					poll(i)
				}
			}
			return nil
		})
	}
	workers.Go(func() error {
		defer close(near)
		defer close(far)
		for pause(working, wheelTick) == nil {
			for {
				due, behind, come := m.due()
				if !come {
					break
				}
				due = slices.DeleteFunc(due, func(i int32) bool {
					is := m.near(i)
					if is {
						near <- i // for which there is room
					}
					return is
				})
				if behind > late || m.frontOnly.Load() {
					m.leaveOut(due)
					continue
				}
				for part := range slices.Chunk(due, 32) {
					select {
					case far <- part:
					case <-working.Done():
						return working.Err()
					}
				}
			}
		}
		return working.Err()
	})
	return workers.Wait()
}

// leaveOut has visitors come later, and not all at once.
func (m *million) leaveOut(some []int32) {
	m.leftOut.Add(int64(len(some)))
	for _, i := range some {
		m.add(i, window.FarPeriodMillis*time.Millisecond/2+anyTime(int(i)))
	}
}

// anyTime is within the longest period of the i-th.
func anyTime(i int) time.Duration {
	longest := int64(window.FarPeriodMillis)
	if i > window.FarAway {
		longest = window.MaxPeriodMillis
	}
	return time.Duration(rand.Int64N(longest)) * time.Millisecond
}

// held is the longest of the calls.
func held(calls []longestCall) time.Duration {
	return slices.MaxFunc(append(calls, longestCall{}), func(a, b longestCall) int { return cmp.Compare(a.Took, b.Took) }).Took
}
