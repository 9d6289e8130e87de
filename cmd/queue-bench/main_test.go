package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// startBaseline serves bare echo until the test ends, and returns a load on it.
func startBaseline(t *testing.T) load {
	t.Helper()
	addr, err := process.FreeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serveBare(ctx, addr) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if !process.Soon(t.Context(), process.StartTimeout, process.LookEvery, func() bool { return ready(t.Context(), addr) }) {
		t.Fatal("the baseline did not start")
	}
	return load{addr: addr, conns: 4}
}

// TestLoad: what a load counts is what it sent, with a budget, as fast as it goes, and at fixed times.
func TestLoad(t *testing.T) {
	t.Parallel()
	l := startBaseline(t)
	run := func(l load) tally {
		t.Helper()
		sum, err := l.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	var met crowd
	l.question, l.budget = joins(&met), 100
	if done := run(l); done.done != 100 || done.sent != 100 || met.len() != 100 {
		t.Errorf("of 100 joins %d were sent, %d done, %d tokens kept", done.sent, done.done, met.len())
	}
	l.question, l.budget, l.warm, l.span = polls(&met), 0, 20*time.Millisecond, 60*time.Millisecond
	fast := run(l)
	for fast.done == 0 && !t.Failed() { // a busy machine may answer none in so short a time
		fast = run(l)
	}
	if fast.done > fast.sent || fast.refused != 0 || fast.took < l.span {
		t.Errorf("as fast as it goes: %+v", fast)
	}
	const rate = 500
	l.every = time.Duration(l.conns) * time.Second / rate
	// One more or less a connection, as its first falls.
	if paced, most := run(l), int64(rate*(l.warm+l.span).Seconds())+int64(l.conns); paced.sent > most {
		t.Errorf("paced: %d sent in %v, at most %d wanted", paced.sent, paced.took, most)
	}
	// The baseline knows no such route: each is refused, none is lost.
	l.question, l.budget, l.every = inTurn("/traffic/leave", &met), 60, 0
	if left := run(l); left.refused != 60 || left.done != 0 {
		t.Errorf("leave: %+v", left)
	}
}

// TestWheel: each comes in its slot, and what is beyond the wheel in its last.
func TestWheel(t *testing.T) {
	t.Parallel()
	w := &wheel{began: time.Now().Add(-3 * wheelTick)}
	w.at = 0
	w.add(1, 0)
	w.add(2, 1000*wheelTick)
	w.add(3, time.Hour)
	var came []int32
	for all, come := w.due(); come; all, come = w.due() {
		came = append(came, all...)
	}
	if len(came) != 1 || came[0] != 1 {
		t.Errorf("%v came, want the first", came)
	}
	w.began = w.began.Add(-2 * wheelSlots * wheelTick)
	for all, come := w.due(); come; all, come = w.due() {
		came = append(came, all...)
	}
	if len(came) != 3 {
		t.Errorf("%v came in the end, want all", came)
	}
}

// TestTable: a ratio is the median of the rounds' ratios, and what misses its bound says so.
func TestTable(t *testing.T) {
	t.Parallel()
	s := series{
		"a": {{perSecond: 90}, {perSecond: 50}, {perSecond: 100}},
		"b": {{perSecond: 100}, {perSecond: 50}, {perSecond: 50}},
	}
	var found table
	found.atLeast("a / b", s.ratio("a", "b", perSecond), 1.5)
	found.atMost("a", s.median("a", perSecond), "µs", 90)
	found.add("b", s.median("b", perSecond), "")
	found.addCalls("polls", map[string]time.Duration{"poll": 12 * time.Millisecond})
	var text bytes.Buffer
	if err := found.write(&text); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"a / b", "1", "at least 1.50: NO"}, {"a", "90 µs", "at most 90 µs"}, {"b", "50"}, {"polls: longest call of poll", "12 ms", "at most 10 ms: NO"}} {
		line := strings.Split(text.String(), "\n")[i]
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("%q has no %q", line, part)
			}
		}
	}
}

// TestMain lets the test's program be the baseline, as queue-bench is, when it is started for that.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "bare" {
		os.Exit(run())
	}
	m.Run()
}
