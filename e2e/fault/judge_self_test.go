package fault

import (
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lined returns ten visitors who arrived in order, and wait in order.
func lined() *crowd {
	c := &crowd{}
	for i := range int64(10) {
		c.visitors = append(c.visitors, &visitor{name: "v", zoneID: "Z", token: "t", arrived: 1000 * (i + 1), position: i + 1})
	}
	return c
}

// TestJudge shows the judge each offence: a judge that convicts nobody proves nothing. What package
// measure judges has tests there.
func TestJudge(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.PerMinute = 10 // one in any 6 s
	for name, tt := range map[string]struct {
		change                                            func(all []*visitor)
		over, lost, inversions, forgotten, late, mislaced int
	}{
		"all wait": {change: func([]*visitor) {}},
		"two in a closed window": {change: func(all []*visitor) {
			all[0].admitted, all[1].admitted = 10_000, 16_000
		}, over: 1},
		"lost":      {change: func(all []*visitor) { all[3].lost = "gone" }, lost: 1, mislaced: 6},
		"forgotten": {change: func(all []*visitor) { all[0].admitted, all[0].forgotten = 10_000, "gone" }, forgotten: 1},
		"overtaken by three windows' worth": {change: func(all []*visitor) {
			for i, v := range all[1:4] {
				v.admitted = 10_000 * int64(i+1)
			}
		}, inversions: 1, mislaced: 6},
		"overtaken, but late": {change: func(all []*visitor) {
			all[0].late = true
			for i, v := range all[1:4] {
				v.admitted = 10_000 * int64(i+1)
			}
		}, late: 1, mislaced: 6},
		"behind a later arrival": {change: func(all []*visitor) { all[7].position, all[8].position = 9, 8 }, inversions: 1, mislaced: 2},
	} {
		c := lined()
		tt.change(c.visitors)
		got := c.judge(z)
		if got.Over != tt.over || len(got.lost) != tt.lost || got.inversions != tt.inversions || len(got.forgotten) != tt.forgotten || got.late != tt.late {
			t.Errorf("%s: %+v", name, got)
		}
		if n := c.misplaced("Z"); tt.mislaced != 0 && n != tt.mislaced {
			t.Errorf("%s: %d misplaced, want %d", name, n, tt.mislaced)
		}
	}
}

func TestJudgeOfRequests(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(seconds int, code string, took time.Duration) call {
		return call{at: start.Add(time.Duration(seconds) * time.Second), took: took, code: code, text: code}
	}
	c := &crowd{calls: map[string][]call{"Z": {
		at(9, "", 0), // calls are noted as they end, not in order
		at(0, "", 0), at(1, codeUnavailable, 300*time.Millisecond), at(2, codeBroken, time.Minute), at(4, "", 0),
		at(5, codeOdd, 0), at(6, "", 0), at(8, "", 0),
	}, "OTHER": {at(3, codeUnavailable, time.Second)}}}
	got := c.judge(zone.Defaults("Z"))
	if got.errors != 3 || got.outage != 4*time.Second || got.slowest != 300*time.Millisecond || !slices.Equal(got.odd, []string{codeOdd}) {
		t.Errorf("got %+v", got)
	}
}

func TestVisitorNotesAMove(t *testing.T) {
	t.Parallel()
	v := &visitor{}
	told := func(position, arrived int64) (t room.Answer) {
		t.Token, t.Waiting.Position, t.Waiting.ArrivedAtMicros = "t", position, arrived
		return t
	}
	for _, position := range []int64{5, 4, 6} {
		if v.answer(told(position, 7), time.Now()) {
			t.Fatalf("over after %d", position)
		}
	}
	if v.rose != 1 || v.lost != "" {
		t.Errorf("rose %d, lost %q; want 1, none", v.rose, v.lost)
	}
	if over := v.answer(told(6, 8), time.Now()); !over || v.lost == "" {
		t.Errorf("over %t, lost %q after another arrival", over, v.lost)
	}
}

// TestVisitorNotesSilence: from the beginning of a request that was answered to the next answer, whatever failed meanwhile.
func TestVisitorNotesSilence(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1_000+seconds), 0) }
	v := &visitor{}
	v.hears(at(0), at(2), false)
	v.hears(at(3), at(4), true)
	v.hears(at(6), at(7), false)
	v.hears(at(9), at(13), true)
	v.hears(at(14), at(15), true)
	if v.unheard != 10*time.Second {
		t.Errorf("unheard for %v, want 10 s", v.unheard)
	}
}
