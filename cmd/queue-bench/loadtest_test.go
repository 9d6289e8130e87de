package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
)

// Each scenario has a script and a zone, and each script is a scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	zones, err := readZones("../../loadtest/k6/zones.yaml", 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := zones["LOAD_BURST"]; got.PerMinute != 9000 || got.WindowSeconds != 6 {
		t.Errorf("LOAD_BURST at size 2: %+v", got)
	}
	scripts, err := filepath.Glob("../../loadtest/k6/*.js")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range scripts {
		if name := strings.TrimSuffix(filepath.Base(name), ".js"); name != "rehearse" { // which has a server of its own
			names = append(names, name)
		}
	}
	want := slices.Sorted(slices.Values(append(slices.Clone(scenarios), event)))
	if !slices.Equal(names, want) || len(zones) != len(want) {
		t.Errorf("scripts %v, zones %d, scenarios %v", names, len(zones), want)
	}
}

func TestReadZonesRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no yaml":           "zones: [",
		"a scenario's zone": "zones: [{zoneId: LOAD_BURST, perMinute: 60}]",
		"a limit":           "zones: [{zoneId: LOAD_BURST, perMinute: -1}]",
	} {
		file := filepath.Join(t.TempDir(), "zones.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if zones, err := readZones(file, 1); err == nil {
			t.Errorf("%s: read as %v", name, zones)
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "", "--docs=docs": "", "--only=fault,burst --store=redis": "", "--only=fault --only=burst": "", "--only=event": "",
		"--only=flood": "no flood", "--store=memory": "no memory", "--only=fault --docs=docs": "all scenarios",
	} {
		var l loadTest
		c := newLoadTestCommand(&l)
		if err := c.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := l.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// loadTested is a run that all went well in.
func loadTested() report {
	r := &acceptance.Run{
		Store: "Redis",
		Story: &acceptance.Story{Scenario: "burst", ZoneID: "LOAD_BURST", Promises: &acceptance.Promises{}},
		Verdict: &acceptance.Verdict{Figures: acceptance.Figures{
			Came: 6000, In: 4500, Limit: 450, MostWindow: 450, PerMinute: 4500, MostMinute: 4400, LongestWait: 20_900 * time.Millisecond,
			OvertakenP99: 0.01, OvertakenMost: 0.29, EstimateError: 0.078, Capacity: 0.999, Requests: 20_000, P99: 12 * time.Millisecond,
		}},
		Cost: acceptance.Cost{Server: 2 * time.Second, Redis: time.Second, ServerBytes: 90 << 20},
	}
	s := &acceptance.Summary{When: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Took: 5 * time.Minute, Size: "1", Runs: []*acceptance.Run{r}}
	return report{LoadTest: loadReportOf(s, machine{Cores: 2, Processor: "slow"})}
}

func TestLoadTestSection(t *testing.T) {
	t.Parallel()
	page := kept(t, t.TempDir(), loadTested())
	for _, want := range []string{
		"| burst | Redis | 6,000 | 4,500 | 450 of 450 | 4,400 of 4,500 | 21 s | 0 | 0.01, 0.29 | 7.8 % | 99.9 % |",
		"| burst | Redis | 20,000 | 0 ms | 12 ms | 100 µs | 50.0 µs | 90 MB |",
		"4 May 2026, 5m0s, crowds of size 1", "Everything that was promised was kept", "Not measured yet: `make bench`",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}
