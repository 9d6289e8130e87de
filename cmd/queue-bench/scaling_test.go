package main

import (
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

// The costs are those of the largest crowd.
func TestCostsIn(t *testing.T) {
	t.Parallel()
	got := costsIn(found())
	for _, on := range []storeCosts{got.Embedded, got.Redis} {
		if on.Poll.ServerMicros != 30 || on.Join.ServerMicros != 30 {
			t.Errorf("got %+v", on)
		}
	}
	if got.Redis.Poll.RedisMicros != 6 || got.Redis.Join.RedisMicros != 6 || got.Embedded.Bytes != 60 || got.Redis.Bytes != 139.6 ||
		!reflect.DeepEqual(got.Million, found().Million) {
		t.Errorf("got %+v", got)
	}
}

func TestScalingPage(t *testing.T) {
	t.Parallel()
	for _, measured := range []bool{true, false} {
		dir, r := t.TempDir(), report{}
		if measured {
			r = found()
		}
		kept(t, dir, r)
		page := read(t, dir, "scaling.md")
		if strings.Contains(page, "not measured yet") == measured {
			t.Errorf("measured: %t, and the page says so: %t", measured, !measured)
		}
		for _, want := range []string{
			// Half of a second over 30 us, and over 6 us, times 19.4.
			"| a server's core, Redis store | 16,000 | 320,000 |", "| a Redis node = one zone | 83,000 | 1,600,000 |",
			// 51,137 polls at 30 us, at half load, and at 6 us.
			"| 51,137 | 3.07 | 30.7 % | 140 MB |",
			// Of ten million four fifths polled, for 40 % of a core.
			"a line of **10,000,000** on one node",
		} {
			if measured && !strings.Contains(page, want) {
				t.Errorf("scaling.md has no %q", want)
			}
		}
	}
}

// row is one of a table: its cells are numbers, as far as they are.
type row []float64

// tables are the rows of tables whose first cell is a number, by how many cells they have.
func tables(t *testing.T, file string) map[int][]row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[int][]row)
	number := regexp.MustCompile(`^[*]*([\d.]+)`)
	for line := range strings.Lines(strings.ReplaceAll(string(text), ",", "")) {
		var r row
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			value := math.NaN()
			if digits := number.FindStringSubmatch(strings.TrimSpace(cell)); digits != nil {
				if value, err = strconv.ParseFloat(digits[1], 64); err != nil {
					t.Fatal(err)
				}
			}
			r = append(r, value)
		}
		if !math.IsNaN(r[0]) && len(r) > 1 {
			found[len(r)] = append(found[len(r)], r)
		}
	}
	return found
}

// near reports whether a figure is off by at most a share.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// What the page says of rushes is what a crowd does on a real store, in virtual time.
func TestForecast(t *testing.T) {
	t.Parallel()
	rushes := tables(t, "../../docs/scaling.md")[6]
	if len(rushes) != 15 {
		t.Fatalf("%d rushes", len(rushes))
	}
	z := zoneFor(benchZone)
	z.PerMinute = 600
	for _, r := range rushes[:3] {
		real, err := simulate.Run(t.Context(), simulate.Config{
			Visitors: int(r[0]), Arrive: time.Duration(r[1]) * time.Second, Zone: z, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !near(r[3], float64(real.PollsPerSecondMax), .2) {
			t.Errorf("%.0f within %.0f s: %.0f polls a second, simulated %d", r[0], r[1], r[3], real.PollsPerSecondMax)
		}
	}
	// From where the limit no longer matters, ten times as many poll ten times as often.
	for i, r := range rushes[3:] {
		if of := rushes[3+i%3]; !near(r[3]/r[0], of[3]/of[0], .06) {
			t.Errorf("%.0f within %.0f s: %.0f polls a second, of %.0f %.0f", r[0], r[1], r[3], of[0], of[3])
		}
		if !near(r[2], r[0]/r[1], .01) {
			t.Errorf("%.0f within %.0f s are not %.0f joins a second", r[0], r[1], r[2])
		}
	}
}

// What the page says of lines is its own formula, for those who still wait on average.
func TestLinesAreTheFormula(t *testing.T) {
	t.Parallel()
	lines := tables(t, "../../docs/scaling.md")[9]
	if len(lines) != 15 {
		t.Fatalf("%d lines", len(lines))
	}
	z := zoneFor(benchZone)
	z.PerMinute = 6000
	real, err := simulate.Run(t.Context(), simulate.Config{Visitors: int(lines[0][0]), Arrive: time.Minute, Zone: z, Seed: 1})
	if err != nil || !near(lines[0][3], real.PollsMean, .2) {
		t.Errorf("a visitor polls %.1f times, simulated %.1f: %v", lines[0][3], real.PollsMean, err)
	}
	for _, l := range lines {
		if math.IsNaN(l[4]) {
			continue // gone
		}
		if want := (l[0]-2.5*l[1])/19.4 + l[1]/15; !near(l[4], want, .06) {
			t.Errorf("%.0f wait: %.0f polls a second, by the formula %.0f", l[0], l[4], want)
		}
	}
}
