package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

// execute runs a program that has the commands of operators alone.
func execute(ctx context.Context, args []string, t *Terminal) int {
	root := &cobra.Command{Use: "queue-server"}
	root.AddCommand(Commands(t, []string{"addr"})...)
	return Execute(ctx, root, args, t)
}

// nowhere is an environment without variables; withToken has the operators' token.
func nowhere(string) string { return "" }

func withToken(name string) string {
	return map[string]string{adminVariable: "Zq7RtWn2Xv5Ks8PdLm3CbT6Y"}[name]
}

func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(t.Context(), args, &Terminal{Getenv: nowhere, Stdout: &out, Stderr: &errs})
	return status, out.String(), errs.String()
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	status, out, errs := command(t, "simulate", "--visitors=500", "--per-minute=600", "--leave=20")
	if status != ExitOK || errs != "" {
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
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" {
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
		if status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%v: status %d, stdout %q, stderr %q; want status %d and a sentence", args, status, out, errs, ExitUsage)
		}
	}
}

// eventFile writes a file with two zones that have events.
func eventFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zones.yaml")
	if err := os.WriteFile(path, []byte(`zones:
  - zoneId: TICKETS
    perMinute: 600
    events:
      - {name: noon, preQueueAt: 2026-12-01T11:00:00+01:00, opensAt: 2026-12-01T12:00:00+01:00, order: draw}
  - zoneId: OTHER
    events: [{name: dusk, opensAt: 2026-12-01T18:00:00+01:00}]
  - zoneId: QUIET
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSimulateEvent(t *testing.T) {
	t.Parallel()
	file := eventFile(t)
	status, out, errs := command(t, "simulate", "--event", file, "--zone=TICKETS", "--visitors=300", "--arrive=2m")
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{"noon in TICKETS", "first two windows   100.0 % of capacity", "from the opening on"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	status, out, errs = command(t, "simulate", "--event", file, "--zone=OTHER", "--visitors=30", "--json")
	var r simulate.EventReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" || r.Event != "dusk" {
		t.Errorf("status %d, stderr %q, %v in %q", status, errs, err, out)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{}, "say --zone TICKETS or --zone OTHER"},
		{[]string{"--zone=QUIET"}, "has no such zone with events"},
		{[]string{"--zone=OTHER", "--name=noon"}, `lists no event "noon"`},
		{[]string{"--zone=OTHER", "--per-minute=10"}, "--per-minute is not for --event"},
		{[]string{"--event=no-such-file.yaml"}, "no such file"},
	} {
		status, out, errs := command(t, append([]string{"simulate", "--event", file}, tt.args...)...)
		if status != ExitUsage || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: status %d, %q, %q; want %q", tt.args, status, out, errs, tt.says)
		}
	}
}

// TestDemoPlain: without a terminal there are lines, not pictures.
func TestDemoPlain(t *testing.T) {
	t.Parallel()
	status, out, errs := command(t, "demo", "--visitors=500", "--per-minute=600")
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "waiting") || !strings.Contains(out, "in any window") {
		t.Errorf("got\n%s", out)
	}
}

// TestDemoPicture: every frame has as many lines as the next, none
// is wider than a terminal, and the parts of a crowd fill its bar.
func TestDemoPicture(t *testing.T) {
	t.Parallel()
	const columns = 80
	escapes := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
	d := demo{crowd: 5_000_000}
	for _, m := range []simulate.Moment{
		{},
		{
			Present: 2_000_000, Admitted: 1_999_999, Left: 1_000_001,
			Stats: line.Stats{State: line.State{Waiting: 3_000_000, InWindow: 6_000_000, WindowLimit: 6_000_000}},
		},
		{
			Present: 5_000_000,
			Stats:   line.Stats{State: line.State{Waiting: 5_000_000, Released: 5_000_000, Live: 5_000_000}, EstimateMillis: 86_399_000},
		},
		{Stats: line.Stats{State: line.State{InWindow: 300_000, WindowLimit: 200_000}}}, // a burst, or an open zone
	} {
		lines := d.picture(m)
		frame := escapes.ReplaceAllString(strings.Join(lines, "\n")+"\n", "")
		if got := strings.Count(frame, "\n"); got != 10 || got != len(lines) {
			t.Errorf("a frame of %d lines, want 10:\n%s", got, frame)
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
		status := execute(ctx, []string{name}, &Terminal{Getenv: nowhere, Stdout: &out, Stderr: &errs})
		if want := "queue-server: stopped before the last one was in\n"; status != ExitFailed || errs.String() != want {
			t.Errorf("%s: status %d, stderr %q, want %q", name, status, errs.String(), want)
		}
	}
}
