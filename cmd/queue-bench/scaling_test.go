package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/deploy/terraform"
)

// The costs are found again in the page that they were written to.
func TestCostsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := found().write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := costs{
		embeddedPoll: 30, serverPoll: 30, redisPoll: 6, embeddedJoin: 30, serverJoin: 30, redisJoin: 6,
		embeddedBytes: 60, redisBytes: 140,
	}
	if got := costsIn(string(text)); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWriteScaling(t *testing.T) {
	t.Parallel()
	for _, measured := range []bool{true, false} {
		dir := t.TempDir()
		if measured {
			if err := found().write(dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&scalingCommand{Docs: dir}).Run(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "scaling.md"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		if strings.Contains(page, "not measured yet") == measured {
			t.Errorf("measured: %t, and the page says so: %t", measured, !measured)
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "<no value>") {
			t.Errorf("scaling.md has holes:\n%s", page)
		}
		// Half of a second over 30 us, and over 6 us, times 19.4.
		if want := "| a server's core, Redis store | 16,000 | 320,000 |"; measured && !strings.Contains(page, want) {
			t.Errorf("scaling.md has no %q", want)
		}
		if want := "| a Redis node = one zone | 83,000 | 1,600,000 |"; measured && !strings.Contains(page, want) {
			t.Errorf("scaling.md has no %q", want)
		}
	}
}

// The page that is kept is the one that the figures that are kept make.
func TestScalingIsFresh(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	want, err := scalingPage(docs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/scaling.md is not what docs/performance.md makes it: make scaling")
	}
}

// So are the examples' tables, and what their groups grow by.
func TestExamplesAreFresh(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	measured, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for example := range cloudCrowds {
		dir := filepath.Join(docs, examplesDir, example)
		got, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := cloudReadme(docs, example)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s/README.md is not what docs/performance.md makes it: make scaling", dir)
		}
		s, _, err := readSetup(dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := terraform.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		target, diags := m.Of("module", "servers")[0].Body.Attributes["requests_target"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got, _ := target.AsBigFloat().Int64(); int(got) != requestsTarget(costsIn(string(measured)), s.server) {
			t.Errorf("%s grows at %d requests a minute and server, should at %d", dir, got, requestsTarget(costsIn(string(measured)), s.server))
		}
	}
}

// TestReservedUnitsArePaid: for the hours of the event and of the day before it,
// used or not; fewer than can be reserved are not.
func TestReservedUnitsArePaid(t *testing.T) {
	t.Parallel()
	c := costs{serverPoll: 30, redisPoll: 10, serverJoin: 30, redisJoin: 10}
	price := func(reserves bool, n int, within time.Duration) (hour, event float64) {
		r := setup{server: instances["c7i.xlarge"], least: 3, most: 12, reserves: reserves}.row(c, n, within)
		for text, to := range map[string]*float64{r.Hour: &hour, r.Event: &event} {
			if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", ""), "$%f", to); err != nil {
				t.Fatal(err)
			}
		}
		return hour, event
	}
	const crowd, units = 1_000_000, 4000 // 100,000 connections a second
	with, event := price(true, crowd, 10*time.Second)
	without, eventWithout := price(false, crowd, 10*time.Second)
	used := max(crowd/unitConnected, foresee(crowd, 600, 60_000).settled*pollBytes*3600/1e9)
	if got, want := with-without, (units-used)*unitHour; math.Abs(got-want) > 0.1 {
		t.Errorf("an hour with %d units costs $%.2f more, want $%.2f", units, got, want)
	}
	if got, want := event-eventWithout, (units-used)*unitHour*eventHours+units*unitHour*reservedHours; math.Abs(got-want) > 1.5 {
		t.Errorf("an event with %d units costs $%.2f more, want $%.2f", units, got, want)
	}
	if a, b := price(true, 20_000, time.Minute); a == 0 || b < 3.9*a || b > 4.1*a {
		t.Errorf("where nothing is reserved, 4 hours at $%.2f cost $%.2f", a, b)
	}
}
