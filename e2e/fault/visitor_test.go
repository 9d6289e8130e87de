package fault

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// punctuality is how late a visitor may ask and still count as one who
	// polls when told to. The room grants a second (grace); on a machine that
	// is busy with tests, half of it is for the way.
	punctuality = 500 * time.Millisecond
	// grace is how late the room lets a poll be. A visitor who is only answered
	// later than that may have come too late for it, the machine being slow.
	grace = window.GraceMillis * time.Millisecond
	// repeatsEvery: one visitor of so many joins a second time, as a client
	// does that lost the answer, and must find the same place.
	repeatsEvery = 10
)

// visitor is one of the crowd. What it was told is guarded by crowd.mu.
type visitor struct {
	name   string
	zoneID string
	// repeats: it joins a second time when it has a place.
	repeats bool

	token    string
	arrived  int64 // micros; 0 until told
	drawn    int64 // its number in the draw; 0 for none
	position int64
	admitted int64  // millis; 0 until let in
	pass     uint64 // of the pass, to know it again
	// due is when it was told to come back, answered when it was last told.
	due, answered time.Time
	// broke counts the requests, one after the other, that had no answer to use.
	broke int
	// late: it did not come back when told to.
	late bool
	// lost says how the place was lost, if it was.
	lost string
	// forgotten: it was let in, and when it polled again at the end, the room
	// did not know, or told of another pass.
	forgotten string
	// leaves is when it goes away without a word, zero for never. estimates are what it was told of its
	// wait, where the crowd keeps that.
	leaves    time.Time
	estimates []estimate.Told
	// rose counts positions that were higher than the one before.
	rose int
}

// waits reports whether the visitor holds a place.
func (v *visitor) waits() bool { return v.token != "" && v.admitted == 0 && v.lost == "" }

// stands is what the line is ordered by: numbers of a draw first, and then arrivals.
func (v *visitor) stands() int64 { return cmp.Or(v.drawn, v.arrived) }

// left reports whether the visitor has gone away, and was not let in before.
func (v *visitor) left(now time.Time) bool {
	return v.admitted == 0 && !v.leaves.IsZero() && now.After(v.leaves)
}

// joins reports whether what the visitor does next is to join.
func (v *visitor) joins() bool { return v.token == "" || v.repeats }

// timed notes whether a poll came when it was told to. A refusal is never too
// slow: those refused are on time, and keep their order.
func (v *visitor) timed(began, ended time.Time, answered bool) {
	if v.token != "" && (began.Sub(v.due) > punctuality || answered && ended.Sub(v.due) > grace) {
		v.late = true
	}
}

// answer notes an answer. The caller holds crowd.mu.
func (v *visitor) answer(t told, now time.Time) (over bool) {
	first := v.token == ""
	v.answered, v.due, v.broke = now, now.Add(t.period), 0
	if t.admitted {
		v.token, v.admitted, v.pass = t.token, t.admittedAtMillis, sumOf(t.pass)
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
	if first && v.repeats {
		v.due = now
	} else {
		v.repeats = false
	}
	return v.lost != ""
}

// again notes what one who was let in is told at the end. The caller holds
// crowd.mu.
func (v *visitor) again(t told) {
	switch {
	case !t.admitted:
		v.forgotten = fmt.Sprintf("admitted at %d, then told to wait", v.admitted)
	case t.admittedAtMillis != v.admitted:
		v.forgotten = fmt.Sprintf("admitted at %d, then told %d", v.admitted, t.admittedAtMillis)
	case sumOf(t.pass) != v.pass:
		v.forgotten = fmt.Sprintf("admitted at %d, with two passes", v.admitted)
	}
}

var seed = maphash.MakeSeed()

// sumOf is the same for the same pass. Two that have one jti are one, whichever version
// of the server wrote it.
func sumOf(pass string) uint64 {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(pass, &claims); err == nil {
		pass = claims.ID
	}
	return maphash.String(seed, pass)
}
