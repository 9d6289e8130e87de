package acceptance

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// ran are two runs: one that went well and one in which the tenth lost the place and
// the 11th came in too early.
func ran() *Summary {
	var runs []*Run
	for _, store := range []string{"Embedded", "Redis"} {
		s := orderly(90)
		if store == "Redis" {
			s.Visitors[9].End, s.Visitors[9].Admitted = endLost, 0
			s.Visitors[10].Admitted -= 3000
			s.Visitors[11].Admitted -= 3000
		}
		runs = append(runs, &Run{
			Store: store, Story: s, Verdict: Judge(s, tenPer6s(), nil), Zone: tenPer6s(),
			Cost: Cost{Server: 3 * time.Second, Redis: time.Second, Took: 60 * time.Second, ServerBytes: 70 << 20},
		})
	}
	runs[1].Crossed = []string{"position never rises: 1 of 2 <b>"}
	return &Summary{When: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Machine: "2 cores", Size: "1", Took: time.Minute, Runs: runs}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := ran()
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	// Lines are broken where they are full, which is not looked at here.
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"4 May 2026, 03:02 UTC, 2 cores; crowd of size 1; 1m0s PROMISES WERE BROKEN in 1 of 2 runs: burst, redis.",
		"90 people came; 90 were let in. At no time were more than 10 let in within 6 s (allowed: 10), nor more than 90 within a minute (allowed: 95).",
		"Nobody lost the place.", "1 LOST THE PLACE.",
		"the server used 5.0 % of one processor and 70 MB, Redis 1.7 %.",
		"BROKEN: nobody lost the place: 1, wanted at most 0",
		"BROKEN: never over the limit of a window: 11, wanted at most 10",
		"BROKEN: k6: position never rises: 1 of 2 <b>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for l := range strings.Lines(out.String()) {
		if len(l) > lineLength+10 && !strings.Contains(l, "BROKEN") {
			t.Errorf("a line of %d: %s", len(l), l)
		}
	}
	s.Runs = s.Runs[:1]
	if got := s.Headline(); got != "Everything that was promised was kept." || !s.Kept() {
		t.Errorf("headline %q, kept %t", got, s.Kept())
	}
}

// The report needs nothing from anywhere, and what it shows is escaped.
func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := ran().Report(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{
		`<p class="headline bad">PROMISES WERE BROKEN in 1 of 2 runs: burst, redis.</p>`,
		`<li>never over the limit of a window: 11, wanted at most 10</li>`,
		`position never rises: 1 of 2 &lt;b&gt;`,
		`id="burst-redis"`, `data-run="burst-embedded" data-chart="error"`, "var uPlot=", "--plot-fill",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if found := regexp.MustCompile(`(?i)(src|href)\s*=\s*["'](https?:)?//|@import|url\(`).FindAllString(page, -1); found != nil {
		t.Errorf("it fetches %q", found)
	}
	_, rest, _ := strings.Cut(page, `id="columns">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var columns map[string]Columns
	if err := json.Unmarshal([]byte(text), &columns); err != nil || len(columns) != 2 {
		t.Fatalf("columns of %d runs: %v", len(columns), err)
	}
	if got := columns["burst-redis"]; len(got.At) < 48 || len(got.At) != len(got.ErrorP90) {
		t.Errorf("columns of %d and %d seconds", len(got.At), len(got.ErrorP90))
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	c := columnsOf(orderly(30), tenPer6s())
	// Thirty come at once; ten are let in after 1, 7.01 and 13.02 s.
	for second, want := range map[int]struct{ held, admitted, waiting float64 }{
		0: {0, 0, 30}, 1: {10, 10, 20}, 3: {10, 0, 20}, 6: {10, 0, 20}, 7: {10, 10, 10}, 12: {10, 0, 10}, 13: {10, 10, 0},
	} {
		if c.InWindow[second] != want.held || c.Admitted[second] != want.admitted || c.Waiting[second] != want.waiting {
			t.Errorf("second %d: %v in the window, %v let in, %v waiting; want %+v",
				second, c.InWindow[second], c.Admitted[second], c.Waiting[second], want)
		}
	}
	if c.Limit[0] != 10 || *c.P99[0] != 2 || *c.ErrorP50[0] != 0 || c.ErrorP50[14] != nil {
		t.Errorf("got %+v", c)
	}
	if empty := columnsOf(&Story{Promises: &Promises{}}, zone.Defaults("Z")); len(empty.At) != 0 {
		t.Errorf("of nobody: %+v", empty)
	}
}

// Who was dark was not there.
func TestWaitingIsBeingThere(t *testing.T) {
	t.Parallel()
	s := orderly(30)
	s.Visitors[25].Dark = &[2]int64{2500, 4500}
	c := columnsOf(s, tenPer6s())
	for second, want := range map[int]float64{1: 20, 2: 19, 3: 19, 4: 20, 14: 0} {
		if c.Waiting[second] != want {
			t.Errorf("second %d: %v waiting, want %v", second, c.Waiting[second], want)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for millis, want := range map[int64]string{0: "0 s", 900: "0.9 s", 6000: "6 s", 61_800: "62 s", 150_000: "2 min"} {
		if got := seconds(time.Duration(millis) * time.Millisecond); got != want {
			t.Errorf("seconds(%d) = %q, want %q", millis, got, want)
		}
	}
	for share, want := range map[float64]string{-1: "-", 0: "0 %", 0.0423: "4.2 %", 0.5: "50 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}
