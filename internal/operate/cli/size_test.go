package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/configfile"
)

// TestSize: four answers, by flags or at a terminal, become settings that a server takes.
func TestSize(t *testing.T) {
	t.Parallel()
	args := []string{"size", "--orders=1200", "--buy=20", "--minutes=6", "--visitors=50000"}
	status, out, errs := command(t, args...)
	if status != ExitOK || !strings.Contains(out, "perMinute: 100 ") || !strings.Contains(out, "maxInside: 720 ") || !strings.Contains(out, "after 500 minutes") {
		t.Fatalf("%d\n%s\n%s", status, out, errs)
	}
	file, err := configfile.Parse("size.yaml", []byte(out), nil)
	if err != nil || len(file.Zones) != 1 || file.Zones[0].PerMinute != 100 || file.Zones[0].MaxInside != 720 {
		t.Errorf("the settings are %+v, %v", file, err)
	}
	var asked, again bytes.Buffer
	if status := execute(t.Context(), args[:1], &Terminal{
		Getenv: nowhere, Interactive: true, Stdin: strings.NewReader("1,200\n20\n6\n50000\n"), Stdout: &again, Stderr: &asked,
	}); status != ExitOK || again.String() != out || strings.Count(asked.String(), "?") != 4 {
		t.Errorf("at a terminal: %d\n%s\n%s", status, again.String(), asked.String())
	}
	for _, bad := range []string{"--orders=0", "--buy=101", "--minutes=x", "--visitors=-1"} {
		if status, _, errs := command(t, append(args, bad)...); status != ExitUsage || errs == "" {
			t.Errorf("%s: %d %s", bad, status, errs)
		}
	}
	if status, _, errs := command(t, args[:3]...); status != ExitUsage || !strings.Contains(errs, "--minutes is missing") {
		t.Errorf("without an answer: %d %s", status, errs)
	}
}
