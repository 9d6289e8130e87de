package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// atATime is how many visitors of a zone may be asking at a time. A client
// gives up after a few seconds; a server that hangs answers a refusal in half
// of one: more than this wait only where nothing is answered at all.
const atATime = 512

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
	service service
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// saw is called with each answer to a visitor, where there is one, and reports whether the visitor leaves without a word.
	saw func(v *visitor, t room.Answer, now time.Time) (leaves bool)

	mu       sync.Mutex
	asking   map[string]chan struct{} // by zone: so that those who wait for one zone's answers keep nobody of another
	visitors []*visitor
	calls    map[string][]call // by zone
}

func newCrowd(t testing.TB, through service) *crowd {
	t.Helper()
	c := &crowd{service: through, asking: make(map[string]chan struct{}), calls: make(map[string][]call)}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	t.Cleanup(c.leave)
	return c
}

// arrive has n visitors come to a zone, evenly over the time.
func (c *crowd) arrive(zoneID string, n int, over time.Duration) { c.arriveFrom(zoneID, n, 0, over) }

// arriveFrom has them come from then on.
func (c *crowd) arriveFrom(zoneID string, n int, then, over time.Duration) {
	first := time.Now().Add(then)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking[zoneID] == nil {
		c.asking[zoneID] = make(chan struct{}, atATime)
	}
	asking := c.asking[zoneID]
	for i := range n {
		v := &visitor{
			name: fmt.Sprintf("%s-%d", zoneID, len(c.visitors)), zoneID: zoneID,
			repeats: len(c.visitors)%repeatsEvery == 0,
			due:     first.Add(over * time.Duration(i) / time.Duration(n)),
		}
		c.visitors = append(c.visitors, v)
		c.running.Go(func() {
			for over := false; !over && pause(c.ctx, time.Until(v.due)); {
				asking <- struct{}{}
				over = c.visit(c.ctx, v)
				<-asking
			}
		})
	}
}

// leave ends all visitors where they are, and waits for them.
func (c *crowd) leave() {
	c.cancel()
	c.running.Wait()
}

// visit asks once, and notes what the visitor was told. One visit of a visitor
// at a time, so that what visits alone write needs no lock to be read.
func (c *crowd) visit(ctx context.Context, v *visitor) (over bool) {
	began := time.Now()
	ask, with := c.service.poll, v.token
	if v.joins() {
		ask, with = c.service.join, v.name
	}
	t, err := ask(ctx, v.zoneID, with)
	now := time.Now()
	if ctx.Err() != nil {
		return true // the test ended this request
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v.timed(began, now, err == nil)
	v.hears(began, now, err == nil)
	done := call{at: now, took: now.Sub(began)}
	if err != nil {
		over = v.refused(&done, err)
	} else {
		over = v.answer(t, now)
		if c.saw != nil && c.saw(v, t, now) {
			over, v.token, v.late = true, "", true
		}
	}
	c.calls[v.zoneID] = append(c.calls[v.zoneID], done)
	return over
}

// admitted counts those of a zone who were admitted so far.
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

// entered counts those of a zone who were admitted after one time and not after
// another.
func (c *crowd) entered(zoneID string, after, until time.Time) int {
	return c.count(func(v *visitor) bool {
		return v.zoneID == zoneID && v.admitted > after.UnixMilli() && v.admitted <= until.UnixMilli()
	})
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

// requests counts those to a zone since a time that were answered, and that were refused.
func (c *crowd) requests(zoneID string, since time.Time) (answered, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.calls[zoneID] {
		switch {
		case !done.at.After(since):
		case done.code == "":
			answered++
		default:
			refused++
		}
	}
	return answered, refused
}

// latency is that within which such a share of the requests to a zone were
// answered, of those whose answers came between two times.
func (c *crowd) latency(zoneID string, from, to time.Time, share float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []time.Duration{0}
	for _, done := range c.calls[zoneID] {
		if done.at.After(from) && done.at.Before(to) {
			all = append(all, done.took)
		}
	}
	slices.Sort(all)
	return all[int(float64(len(all)-1)*share)]
}

// inParallel is how many visitors poll at a time when all are asked at once.
const inParallel = 32

// round has everybody poll once more, at once: those who wait, so that all
// stand somewhere at one time, and then those who were admitted, who must be told
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
				c.last(ctx, v)
				<-free
			})
		}
		all.Wait()
	}
}

// last is the last poll of a visitor.
func (c *crowd) last(ctx context.Context, v *visitor) {
	began := time.Now()
	t, err := c.service.poll(ctx, v.zoneID, v.token)
	for {
		no := (*refusal)(nil)
		if !errors.As(err, &no) || no.code != codeUnavailable && no.code != codeBroken || !pause(ctx, no.after) {
			break
		}
		began = time.Now()
		t, err = c.service.poll(ctx, v.zoneID, v.token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v.hears(began, time.Now(), err == nil)
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
