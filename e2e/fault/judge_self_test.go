package fault

import (
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// A judge that convicts nobody proves nothing: each offence is shown to it.

// tenPer6s is a zone of ten in any 6 s and 95 in any minute.
func tenPer6s() zone.Settings {
	z := zone.Defaults("Z")
	z.PerMinute = 95
	return z
}

// lined returns n visitors who arrived in order, a millisecond apart, and wait
// in order.
func lined(n int) []*visitor {
	all := make([]*visitor, n)
	for i := range all {
		all[i] = &visitor{name: "v", zoneID: "Z", token: "t", arrived: int64(1000 * (i + 1)), position: int64(i + 1)}
	}
	return all
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(all []*visitor)
		want   verdict
	}{
		{"all wait", func([]*visitor) {}, verdict{waiting: 100}},
		{"ten at once", func(all []*visitor) {
			for _, v := range all[:10] {
				v.admitted = 1_000_000
			}
		}, verdict{admitted: 10, waiting: 90}},
		{"one more at the other end of a closed window", func(all []*visitor) {
			for i, v := range all[:11] {
				v.admitted = 1_000_000 + int64(i/10)*6000
			}
		}, verdict{admitted: 11, waiting: 89, windows: 1}},
		{"one more a millisecond later", func(all []*visitor) {
			for i, v := range all[:11] {
				v.admitted = 1_000_000 + int64(i/10)*6001
			}
		}, verdict{admitted: 11, waiting: 89}},
		{"a minute's worth", func(all []*visitor) {
			for i, v := range all[:95] {
				v.admitted = 1_000_000 + int64(i/10)*6001
			}
		}, verdict{admitted: 95, waiting: 5}},
		{"one more at the other end of a closed minute", func(all []*visitor) {
			for i, v := range all[:95] {
				v.admitted = 1_000_000 + int64(i/10)*6001
			}
			all[95].admitted = 1_000_000 + 60_000
		}, verdict{admitted: 96, waiting: 4, windows: 1}},
		{"lost", func(all []*visitor) { all[3].lost = "gone" }, verdict{waiting: 99, lost: []string{"v: gone"}}},
		{"overtaken by two windows' worth", func(all []*visitor) { admitInWindows(all[1:21]) },
			verdict{admitted: 20, waiting: 80, overtaken: 2}},
		{"overtaken by one more", func(all []*visitor) { admitInWindows(all[1:22]) },
			verdict{admitted: 21, waiting: 79, overtaken: 2.1, inversions: 1}},
		{"overtaken, but late", func(all []*visitor) { all[0].late = true; admitInWindows(all[1:50]) },
			verdict{admitted: 49, waiting: 51, late: 1}},
		{"overtaken, and then let in", func(all []*visitor) { admitInWindows(all[1:22]); all[0].admitted = 2_000_000 },
			verdict{admitted: 22, waiting: 78, overtaken: 2.1, inversions: 1}},
		{"behind a later arrival", func(all []*visitor) { all[7].position, all[8].position = 9, 8 },
			verdict{waiting: 100, inversions: 1}},
		{"two in one place", func(all []*visitor) { all[8].position = 8 }, verdict{waiting: 100, inversions: 1}},
		{"positions rose", func(all []*visitor) { all[1].rose, all[2].rose = 2, 1 }, verdict{waiting: 100, rose: 3}},
		{"never told anything", func(all []*visitor) { all[99].arrived = 0 }, verdict{waiting: 99}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &crowd{visitors: lined(100)}
			tt.change(c.visitors)
			got := c.judge(tenPer6s())
			if got.admitted != tt.want.admitted || got.waiting != tt.want.waiting || got.windows != tt.want.windows ||
				!slices.Equal(got.lost, tt.want.lost) || got.inversions != tt.want.inversions ||
				got.overtaken != tt.want.overtaken || got.rose != tt.want.rose || got.late != tt.want.late {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// admitInWindows lets them in, ten in each window.
func admitInWindows(all []*visitor) {
	for i, v := range all {
		v.admitted = 1_000_000 + int64(i/10)*7000
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
		at(0, "", 0),
		at(1, codeUnavailable, 300*time.Millisecond),
		at(2, codeBroken, time.Minute),
		at(4, "", 0),
		at(5, "500 internal_error", 0),
		at(6, "", 0),
		at(8, "", 0),
	}, "OTHER": {at(3, codeUnavailable, time.Second)}}}
	got := c.judge(tenPer6s())
	if got.errors != 3 || got.outage != 4*time.Second || got.slowest != 300*time.Millisecond ||
		!slices.Equal(got.odd, []string{"500 internal_error"}) {
		t.Errorf("got %+v", got)
	}
}

func TestMisplaced(t *testing.T) {
	t.Parallel()
	c := &crowd{visitors: lined(10)}
	if n := c.misplaced("Z"); n != 0 {
		t.Errorf("in order: %d misplaced", n)
	}
	c.visitors[4].lost = "gone"
	if n := c.misplaced("Z"); n != 5 {
		t.Errorf("a hole at the fifth place: %d misplaced, want 5", n)
	}
}

func TestVisitorNotesAMove(t *testing.T) {
	t.Parallel()
	v := &visitor{}
	for _, a := range []told{
		{token: "t", position: 5, arrivedAtMicros: 7},
		{token: "t", position: 4, arrivedAtMicros: 7},
		{token: "t", position: 6, arrivedAtMicros: 7},
	} {
		if v.answer(a, time.Now()) {
			t.Fatalf("over after %+v", a)
		}
	}
	if v.rose != 1 || v.lost != "" {
		t.Errorf("rose %d, lost %q; want 1, none", v.rose, v.lost)
	}
	if over := v.answer(told{token: "t", position: 6, arrivedAtMicros: 8}, time.Now()); !over || v.lost == "" {
		t.Errorf("over %t, lost %q after another arrival", over, v.lost)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var rows rows
	rows.add(row{fault: "b", visitors: 2, outage: 1500 * time.Millisecond, overtaken: 0.25, goroutines: -3})
	rows.add(row{fault: "a", errors: 3, windows: 1, lost: 2, inversions: 4, slowest: 400 * time.Millisecond, late: 7, connections: 5})
	want := head +
		"| a | 0 | 0.0 s | 3 | 0.4 s | 1 | 2 | 4 | 0.0 | 7 | 0.0 s | 0.0 s | +0, 5 |\n" +
		"| b | 2 | 1.5 s | 0 | 0.0 s | 0 | 0 | 0 | 0.2 | 0 | 0.0 s | 0.0 s | -3, 0 |\n"
	if got := rows.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	ms := time.Millisecond
	rows.addNeighbour(neighbour{"a", "Z", 59, 60, [2]time.Duration{ms, 2 * ms}, [2]time.Duration{3 * ms, 4 * ms}})
	want += neighbourHead + "| a: Z | 59 of 60 | 1.0 ms, 2.0 ms | 3.0 ms, 4.0 ms |\n"
	if got := rows.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
