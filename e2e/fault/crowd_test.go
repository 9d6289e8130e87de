package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// call is one request of a visitor.
type call struct {
	// at is when its answer came.
	at   time.Time
	took time.Duration
	// code is that of the refusal, empty for an answer.
	code string
	// text is the refusal in full where it is none that is expected.
	text string
}

// crowd is all visitors, and what they were told.
type crowd struct {
	room service
	// keepsEstimates has visitors remember all that they are told of their wait.
	keepsEstimates bool
	running        sync.WaitGroup

	mu        sync.Mutex
	cancels   []context.CancelFunc
	schedules map[string]*schedule // by zone
	visitors  []*visitor
	calls     map[string][]call // by zone
}

// arrive has n visitors come to a zone, evenly over the time.
func (c *crowd) arrive(ctx context.Context, zoneID string, n int, over time.Duration) {
	c.arriveFrom(ctx, zoneID, n, 0, over)
}

// arriveFrom has them come from then on.
func (c *crowd) arriveFrom(ctx context.Context, zoneID string, n int, then, over time.Duration) {
	s := c.schedule(ctx, zoneID)
	first := time.Now().Add(then)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		v := &visitor{
			name: fmt.Sprintf("%s-%d", zoneID, len(c.visitors)), zoneID: zoneID,
			repeats: len(c.visitors)%repeatsEvery == 0,
			due:     first.Add(over * time.Duration(i) / time.Duration(n)),
		}
		c.visitors = append(c.visitors, v)
		s.put(v, v.due)
	}
}

// schedule returns that of a zone, which runs until leave. Zones have one each,
// so that those who wait for one zone's answers keep nobody of another.
func (c *crowd) schedule(ctx context.Context, zoneID string) *schedule {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedules == nil {
		c.schedules = make(map[string]*schedule)
	}
	if s := c.schedules[zoneID]; s != nil {
		return s
	}
	ctx, cancel := context.WithCancel(ctx)
	s := newSchedule()
	c.cancels, c.schedules[zoneID] = append(c.cancels, cancel), s
	c.running.Go(func() {
		s.run(ctx, func(v *visitor) {
			if !c.visit(ctx, v) {
				s.put(v, v.due)
			}
		})
	})
	return s
}

// leave ends all visitors where they are, and waits for them.
func (c *crowd) leave() {
	c.mu.Lock()
	for _, cancel := range c.cancels {
		cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
}

// visit asks once, and notes what the visitor was told. One visit of a visitor
// at a time, so that what visits alone write needs no lock to be read.
func (c *crowd) visit(ctx context.Context, v *visitor) (over bool) {
	began := time.Now()
	c.mu.Lock()
	left := v.left(began)
	c.mu.Unlock()
	if left {
		return true
	}
	var t told
	var err error
	if v.joins() {
		t, err = c.room.join(ctx, v.zoneID, v.name)
	} else {
		t, err = c.room.poll(ctx, v.zoneID, v.token)
	}
	now := time.Now()
	if ctx.Err() != nil {
		return true // the test ended this request
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v.timed(began, now, err == nil)
	done := call{at: now, took: now.Sub(began)}
	if err != nil {
		over = v.refused(&done, err)
	} else {
		over = v.answer(t, now)
		if c.keepsEstimates && !t.admitted {
			v.estimates = append(v.estimates, t.estimate)
		}
	}
	if c.calls == nil {
		c.calls = make(map[string][]call)
	}
	c.calls[v.zoneID] = append(c.calls[v.zoneID], done)
	return over
}

// refused notes a refusal. The caller holds crowd.mu.
func (v *visitor) refused(done *call, err error) (over bool) {
	r := &refusal{code: "no refusal of the contract", after: afterBreak}
	_ = errors.As(err, &r)
	done.code = r.code
	if r.code != codeUnavailable && r.code != codeBroken {
		done.text = err.Error()
	}
	pause := r.after
	if r.told {
		v.broke = 0
	} else {
		pause <<= min(v.broke, mostDoubles)
		v.broke++
	}
	v.due = done.at.Add(pause)
	v.repeats = v.repeats && v.token == "" // with a token, one polls
	switch {
	case r.status == http.StatusUnauthorized:
		v.token, v.due, v.broke = "", done.at, 0 // it joins again
	case r.code == codeExpired, r.code == codeUnknown, slices.Contains(stopping, r.status):
		// Each has a visitor throw the token away.
		v.lost = err.Error()
		return true
	}
	return false
}

// stopping are the statuses after which a visitor does not come back.
var stopping = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
	http.StatusRequestEntityTooLarge, http.StatusLocked,
}

// admitted counts those of a zone who were let in so far.
func (c *crowd) admitted(zoneID string) int {
	return c.count(func(v *visitor) bool { return v.zoneID == zoneID && v.admitted != 0 })
}

// waiting counts those of a zone who hold a place.
func (c *crowd) waiting(zoneID string) int {
	return c.count(func(v *visitor) bool { return v.zoneID == zoneID && v.waits() })
}

// silent counts those who wait and were not answered since.
func (c *crowd) silent(since time.Time) int {
	return c.count(func(v *visitor) bool { return v.waits() && v.answered.Before(since) })
}

func (c *crowd) count(which func(*visitor) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.visitors {
		if which(v) {
			n++
		}
	}
	return n
}

// inParallel is how many visitors poll at a time when all are asked at once.
const inParallel = 32

// round has everybody poll once more, at once: those who wait, so that all
// stand somewhere at one time, and then those who were let in, who must be told
// the same. (One whom the store forgot is put back in front of the line, which
// would move the others.) Who is refused an answer asks again. For after leave.
func (c *crowd) round(ctx context.Context) {
	var waiting, inside []*visitor
	for _, v := range c.visitors {
		switch {
		case v.waits():
			waiting = append(waiting, v)
		case v.admitted != 0:
			inside = append(inside, v)
		}
	}
	for _, some := range [][]*visitor{waiting, inside} {
		var all sync.WaitGroup
		free := make(chan struct{}, inParallel)
		for _, v := range some {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				c.last(ctx, v)
			})
		}
		all.Wait()
	}
}

// last is the last poll of a visitor.
func (c *crowd) last(ctx context.Context, v *visitor) {
	var t told
	var err error
	for {
		t, err = c.room.poll(ctx, v.zoneID, v.token)
		r := (*refusal)(nil)
		if !errors.As(err, &r) || r.code != codeUnavailable && r.code != codeBroken {
			break
		}
		if !pause(ctx, r.after) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v.admitted != 0 && err != nil:
		v.forgotten = err.Error()
	case v.admitted != 0:
		v.again(t)
	case err != nil:
		v.lost = err.Error()
	default:
		v.answer(t, time.Now())
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// answered counts the answers that a zone's visitors got since.
func (c *crowd) answered(zoneID string, since time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.calls[zoneID] {
		if done.code == "" && done.at.After(since) {
			n++
		}
	}
	return n
}

// refused counts the requests to a zone that were refused since.
func (c *crowd) refused(zoneID string, since time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.calls[zoneID] {
		if done.code != "" && done.at.After(since) {
			n++
		}
	}
	return n
}

// entered counts those of a zone who were let in after one time and not after
// another.
func (c *crowd) entered(zoneID string, after, until time.Time) int {
	return c.count(func(v *visitor) bool {
		return v.zoneID == zoneID && v.admitted > after.UnixMilli() && v.admitted <= until.UnixMilli()
	})
}

// latency is that within which such a share of the requests to a zone were
// answered, of those whose answers came between two times.
func (c *crowd) latency(zoneID string, from, to time.Time, share float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []time.Duration
	for _, done := range c.calls[zoneID] {
		if done.at.After(from) && done.at.Before(to) {
			all = append(all, done.took)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(float64(len(all)-1)*share)]
}
