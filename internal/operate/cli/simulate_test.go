package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
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

// TestDemoPicture: every frame has the lines that the next goes back over, none
// is wider than a terminal, and the parts of a crowd fill its bar.
func TestDemoPicture(t *testing.T) {
	t.Parallel()
	const columns = 80
	escapes := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
	d := demo{crowd: 5_000_000}
	for _, m := range []simulate.Moment{
		{},
		{Waiting: 3_000_000, Present: 2_000_000, Admitted: 1_999_999, Left: 1_000_001, InWindow: 6_000_000, WindowLimit: 6_000_000},
		{Waiting: 5_000_000, Present: 5_000_000, Released: 5_000_000, Live: 5_000_000, EstimateLastMillis: 86_399_000},
		{InWindow: 300_000, WindowLimit: 200_000}, // a burst, or an open zone
	} {
		frame := escapes.ReplaceAllString(d.picture(m), "")
		if got := strings.Count(frame, "\n"); got != frameLines {
			t.Errorf("a frame of %d lines, want %d:\n%s", got, frameLines, frame)
		}
		for row := range strings.Lines(frame) {
			if n := utf8.RuneCountInString(strings.TrimRight(row, "\n")); n > columns {
				t.Errorf("%d columns, at most %d: %s", n, columns, row)
			}
		}
		all, _, _ := strings.Cut(frame, "■")
		if got, want := strings.Count(all, "█"), m.Admitted+m.Present+m.Left; (got == barWidth) != (want == d.crowd) {
			t.Errorf("%d of %d cells for %d of the crowd", got, barWidth, want)
		}
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		whole int
		parts []part
		want  int
	}{
		{0, nil, 0}, {0, []part{{0, green}}, 0}, {100, []part{{50, green}}, barWidth / 2},
		{100, []part{{33, green}, {33, cyan}, {34, grey}}, barWidth},
		{10, []part{{30, green}}, barWidth}, {1, []part{{0, green}, {1, cyan}, {0, grey}}, barWidth},
	} {
		got := bar(tt.whole, tt.parts...)
		if full := strings.Count(got, "█"); full != tt.want || full+strings.Count(got, "·") != barWidth {
			t.Errorf("%v of %d: %d full cells, want %d of %d: %s", tt.parts, tt.whole, full, tt.want, barWidth, got)
		}
	}
}

// TestStopped: who ends a run is told so in plain words.
func TestStopped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"simulate", "demo"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		status := run(ctx, []string{name}, func(string) string { return "" }, &out, &errs)
		if want := "queue-server: stopped before the last one was in\n"; status != exitFailed || errs.String() != want {
			t.Errorf("%s: status %d, stderr %q, want %q", name, status, errs.String(), want)
		}
	}
}
