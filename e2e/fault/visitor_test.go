package fault

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
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
	straight bool   // let in by its first request
	pass     uint64 // of the pass, to know it again
	// due is when it was told to come back, answered when it was last told.
	due, answered time.Time
	// heard is when it began the latest request that was answered. unheard is the longest time from such a beginning until the
	// next answer came: for no longer than that did the room not hear of it.
	heard   time.Time
	unheard time.Duration
	// broke counts the requests, one after the other, that had no answer to use.
	broke int
	// late: it did not come back when told to.
	late bool
	// lost says how the place was lost, if it was.
	lost string
	// forgotten: it was admitted, and when it polled again at the end, the room
	// did not know, or told of another pass.
	forgotten string
	// rose counts positions that were higher than the one before.
	rose int
}

// waits reports whether the visitor holds a place.
func (v *visitor) waits() bool { return v.token != "" && v.admitted == 0 && v.lost == "" }

// stands is what the line is ordered by: numbers of a draw first, and then arrivals.
func (v *visitor) stands() int64 { return cmp.Or(v.drawn, v.arrived) }

// joins reports whether what the visitor does next is to join.
func (v *visitor) joins() bool { return v.token == "" || v.repeats }

// timed notes whether a poll came when it was told to. A refusal is never too
// slow: those refused are on time, and keep their order.
func (v *visitor) timed(began, ended time.Time, answered bool) {
	if v.token != "" && (began.Sub(v.due) > punctuality || answered && ended.Sub(v.due) > grace) {
		v.late = true
	}
}

// hears notes a request that was answered, or was not.
func (v *visitor) hears(began, ended time.Time, answered bool) {
	if !v.heard.IsZero() {
		v.unheard = max(v.unheard, ended.Sub(v.heard))
	}
	if answered {
		v.heard = began
	}
}

// answer notes an answer. The caller holds crowd.mu.
func (v *visitor) answer(t room.Answer, now time.Time) (over bool) {
	first := v.token == ""
	v.answered, v.due, v.broke = now, now.Add(time.Duration(t.Waiting.PollingPeriod)*time.Millisecond), 0
	if t.CanEnter {
		v.token, v.admitted, v.pass = t.Token, t.Admission.AdmittedAt, sumOf(t.Admission.Pass)
		if v.arrived == 0 {
			v.arrived, v.straight = t.Admission.AdmittedAt*1000, true
		}
		return true
	}
	switch {
	case v.arrived != 0 && v.arrived != t.Waiting.ArrivedAtMicros:
		v.lost = fmt.Sprintf("arrived at %d, then at %d", v.arrived, t.Waiting.ArrivedAtMicros)
	case v.position != 0 && t.Waiting.Position > v.position:
		v.rose++
	}
	v.token, v.arrived, v.position = t.Token, t.Waiting.ArrivedAtMicros, t.Waiting.Position
	if first && v.repeats {
		v.due = now
	} else {
		v.repeats = false
	}
	return v.lost != ""
}

// stopping are the statuses after which a visitor does not come back.
var stopping = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
	http.StatusRequestEntityTooLarge, http.StatusLocked,
}

// refused notes a refusal. The caller holds crowd.mu.
func (v *visitor) refused(done *call, err error) (over bool) {
	r := &refusal{code: codeOdd, after: afterBreak}
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

// again notes what one who was admitted is told at the end. The caller holds
// crowd.mu.
func (v *visitor) again(t room.Answer) {
	switch {
	case !t.CanEnter:
		v.forgotten = fmt.Sprintf("admitted at %d, then told to wait", v.admitted)
	case t.Admission.AdmittedAt != v.admitted:
		v.forgotten = fmt.Sprintf("admitted at %d, then told %d", v.admitted, t.Admission.AdmittedAt)
	case sumOf(t.Admission.Pass) != v.pass:
		v.forgotten = fmt.Sprintf("admitted at %d, with two passes", v.admitted)
	}
}

var seed = maphash.MakeSeed()

// sumOf is the same for the same pass.
func sumOf(pass string) uint64 { return maphash.String(seed, pass) }
