package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/simulate"
)

func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, func(string) string { return "" }, &out, &errs)
	return status, out.String(), errs.String()
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	status, out, errs := command(t, "simulate", "--visitors=500", "--per-minute=600", "--leave=20")
	if status != exitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{"in any window       60 of 60", "capacity used", "overtaken", "polls a visitor"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

func TestSimulateJSON(t *testing.T) {
	t.Parallel()
	status, out, errs := command(t, "simulate", "--visitors=500", "--per-minute=600", "--poll=3s", "--json")
	var r simulate.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitOK || errs != "" {
		t.Fatalf("status %d, stderr %q, %v in %q", status, errs, err, out)
	}
	if r.Visitors != 500 || r.WindowLimit != 60 || r.MaxInWindow != 60 {
		t.Errorf("report is %+v", r)
	}
}

func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--poll=often"}, {"--poll=-3s"}, {"--poll=1ms"}, {"--leave=101"}, {"--dark=-1"},
		{"--visitors=0"}, {"--per-minute=0"}, {"--window=61"}, {"--visitors=many"},
	} {
		status, out, errs := command(t, append([]string{"simulate"}, args...)...)
		if status != exitUsage || out != "" || errs == "" {
			t.Errorf("%v: status %d, stdout %q, stderr %q; want status %d and a sentence", args, status, out, errs, exitUsage)
		}
	}
}

// TestDemoPlain: without a terminal there are lines, not pictures.
func TestDemoPlain(t *testing.T) {
	t.Parallel()
	status, out, errs := command(t, "demo", "--visitors=500", "--per-minute=600")
	if status != exitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "waiting") || !strings.Contains(out, "in any window") {
		t.Errorf("got\n%s", out)
	}
}

// TestDemoPicture: every frame has the lines that the next goes back over.
func TestDemoPicture(t *testing.T) {
	t.Parallel()
	d := demo{crowd: 100}
	for _, m := range []simulate.Moment{{}, {Waiting: 100, InWindow: 300, WindowLimit: 200, Admitted: 100}} {
		frame := d.picture(m)
		if got := strings.Count(frame, "\n"); got != frameLines {
			t.Errorf("a frame of %d lines, want %d:\n%s", got, frameLines, frame)
		}
		if got := strings.Count(frame, "█") + strings.Count(frame, "·"); got != 4*barWidth {
			t.Errorf("bars of %d cells in all, want %d", got, 4*barWidth)
		}
	}
}
