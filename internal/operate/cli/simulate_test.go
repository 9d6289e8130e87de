package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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
	status, out, errs := command(t, "simulate", "--visitors=500", "perMinute=600", "--leave=20")
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
	status, out, errs := command(t, "simulate", "--visitors=500", "perMinute=600", "--json")
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
		{"perMinute"}, {"limit=5"}, {"perMinute=0"}, {"windowSeconds=61"}, {"mode=ajar"}, {"--leave=101"}, {"--dark=-1"},
		{"--visitors=0"}, {"--visitors=many"}, {"maxInside=5", "--stay=0"}, {"maxInside=5", "--done=101"},
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
		{[]string{"--zone=OTHER", "--dark=10"}, "--dark is not for --event"},
		{[]string{"--event=no-such-file.yaml"}, "no such file"},
	} {
		status, out, errs := command(t, append([]string{"simulate", "--event", file}, tt.args...)...)
		if status != ExitUsage || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: status %d, %q, %q; want %q", tt.args, status, out, errs, tt.says)
		}
	}
}

// TestStopped: who ends a run is told so in plain words.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	status := execute(ctx, []string{"simulate"}, &Terminal{Getenv: nowhere, Stdout: &out, Stderr: &errs})
	if want := "queue-server: stopped before the last one was in\n"; status != ExitFailed || errs.String() != want {
		t.Errorf("status %d, stderr %q, want %q", status, errs.String(), want)
	}
}
