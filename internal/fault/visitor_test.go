package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// punctuality is how late a visitor may be and still count as one who polls
// when told to. The room grants a second (window.GraceMillis); on a machine
// that is busy with tests, half of it is for the way.
const punctuality = 500 * time.Millisecond

// visitor is one of the crowd. What it was told is guarded by crowd.mu.
type visitor struct {
	name   string
	zoneID string

	token    string
	arrived  int64 // micros; 0 until told
	position int64
	admitted int64 // millis; 0 until let in
	// due is when it was told to come back, answered when it was last told.
	due, answered time.Time
	// late: it did not come back when told to.
	late bool
	// lost says how the place was lost, if it was.
	lost string
	// rose counts positions that were higher than the one before.
	rose int
}

// waits reports whether the visitor holds a place.
func (v *visitor) waits() bool { return v.token != "" && v.admitted == 0 && v.lost == "" }

// call is one request of a visitor.
type call struct {
	zoneID string
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
	room    room
	running sync.WaitGroup

	mu       sync.Mutex
	cancels  []context.CancelFunc
	visitors []*visitor
	calls    []call
}

// arrive has n visitors come to a zone, evenly over the time.
func (c *crowd) arrive(ctx context.Context, zoneID string, n int, over time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels = append(c.cancels, cancel)
	for i := range n {
		v := &visitor{name: fmt.Sprintf("%s-%d", zoneID, len(c.visitors)), zoneID: zoneID}
		c.visitors = append(c.visitors, v)
		c.running.Go(func() { c.live(ctx, v, over*time.Duration(i)/time.Duration(n)) })
	}
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

// live is a visitor's time in the room: until let in, or sent away.
func (c *crowd) live(ctx context.Context, v *visitor, first time.Duration) {
	c.mu.Lock()
	v.due = time.Now().Add(first)
	c.mu.Unlock()
	for {
		if !pause(ctx, time.Until(v.due)) {
			return
		}
		if over := c.visit(ctx, v); over || ctx.Err() != nil {
			return
		}
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

// visit asks once, and notes what the visitor was told. Only the visitor's own
// goroutine calls it, so that what it alone writes needs no lock to be read.
func (c *crowd) visit(ctx context.Context, v *visitor) (over bool) {
	began := time.Now()
	var t told
	var err error
	if v.token == "" {
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
	if v.token != "" && began.Sub(v.due) > punctuality {
		v.late = true
	}
	done := call{zoneID: v.zoneID, at: now, took: now.Sub(began)}
	if err != nil {
		over = c.refused(v, &done, now, err)
	} else {
		over = v.answer(t, now)
	}
	c.calls = append(c.calls, done)
	return over
}

// refused notes a refusal. The caller holds mu.
func (c *crowd) refused(v *visitor, done *call, now time.Time, err error) (over bool) {
	r := &refusal{code: "no refusal of the contract", after: afterBreak}
	_ = errors.As(err, &r)
	done.code, done.text = r.code, err.Error()
	v.due = now.Add(r.after)
	switch r.code {
	case codeExpired, codeUnknown:
		// Either has a visitor throw the token away.
		v.lost = err.Error()
		return true
	default:
		return false
	}
}

// answer notes an answer. The caller holds crowd.mu.
func (v *visitor) answer(t told, now time.Time) (over bool) {
	v.answered, v.due = now, now.Add(t.period)
	if t.admitted {
		v.token, v.admitted = t.token, t.admittedAtMillis
		if v.arrived == 0 {
			v.arrived = t.admittedAtMillis * 1000 // let straight in
		}
		return true
	}
	switch {
	case v.arrived != 0 && v.arrived != t.arrivedAtMicros:
		v.lost = fmt.Sprintf("arrived at %d, then at %d", v.arrived, t.arrivedAtMicros)
	case v.position != 0 && t.position > v.position:
		v.rose++
	}
	v.token, v.arrived, v.position = t.token, t.arrivedAtMicros, t.position
	return v.lost != ""
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

// round has everybody who waits poll once more, at once, and those who refuse
// to answer again until they do; with again, also those who were let in, who
// must be told the same. It returns what is wrong with that. For after leave.
func (c *crowd) round(ctx context.Context, again bool) (faults []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, inParallel)
	for _, v := range c.visitors {
		if v.token == "" || v.lost != "" || v.admitted != 0 && !again {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if fault := c.last(ctx, v); fault != "" {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, v.name+": "+fault)
			}
		})
	}
	all.Wait()
	slices.Sort(faults)
	return faults
}

// last is the last poll of a visitor.
func (c *crowd) last(ctx context.Context, v *visitor) (fault string) {
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
	case err != nil:
		v.lost = err.Error()
		return ""
	case v.admitted != 0 && t.admittedAtMillis != v.admitted:
		return fmt.Sprintf("admitted at %d, then told %d", v.admitted, t.admittedAtMillis)
	case v.admitted != 0:
		return ""
	}
	v.answer(t, time.Now())
	return ""
}

// answered counts the answers that a zone's visitors got since.
func (c *crowd) answered(zoneID string, since time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.calls {
		if done.zoneID == zoneID && done.code == "" && done.at.After(since) {
			n++
		}
	}
	return n
}

// latency is within what nine of ten requests to a zone were answered in that
// time.
func (c *crowd) latency(zoneID string, from, to time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []time.Duration
	for _, done := range c.calls {
		if done.zoneID == zoneID && done.at.After(from) && done.at.Before(to) {
			all = append(all, done.took)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*9/10]
}
