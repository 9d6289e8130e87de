package main

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// TestEvents: from a file to the public state and the command line, and back.
func TestEvents(t *testing.T) {
	c := newClerk(t)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	read := func(path string) string { return request(t, "GET", c.server.public+path, "").body }
	opens := at(2 * time.Hour)
	file := config(t, `zones:
  - zoneId: TICKETS
    perMinute: 600
    burst: 5
    events:
      - {name: noon, preQueueAt: `+at(time.Hour)+`, opensAt: `+opens+`, endsAt: `+at(3*time.Hour)+`, order: draw,
         settings: {perMinute: 6000}, texts: {before: {default: At noon., de: Um zwölf.}}}
`)
	check := c.types(t, "zones", "apply", "-f", file, "--check")
	for _, want := range []string{"noon: people gather, and nobody is let in; a draw gives them their places, with perMinute=6000", "noon: they are let in, as drawn", "the settings of before hold again"} {
		if check.status != cli.ExitDiffers || !strings.Contains(check.out, want) {
			t.Errorf("the check lacks %q: %d\n%s", want, check.status, check.out)
		}
	}
	if done := c.types(t, "zones", "apply", "-f", file, "--yes"); done.status != cli.ExitOK {
		t.Fatalf("apply: %+v", done)
	}
	const path = "/traffic/zones/TICKETS/events/noon/draw"
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !strings.Contains(read(path), `"commitment":"`); tries++ {
		if tries == 200 {
			t.Fatalf("the event is not announced: %s", read(path))
		}
		<-tick.C
	}
	if draw := read("/traffic/zones/TICKETS/events/noon/draw"); strings.Contains(draw, "seed") || strings.Contains(draw, "parts") {
		t.Errorf("too early: %s", draw)
	}
	if again := c.types(t, "zones", "apply", "-f", file, "--check"); again.status != cli.ExitOK {
		t.Errorf("what the servers have set differs from the file: %s", again.out)
	}
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"list", "TICKETS"}, cli.ExitOK, opens},
		{[]string{"hold", "TICKETS", "noon", "opens"}, cli.ExitOK, "held"},
		{[]string{"hold", "TICKETS", "noon", "opens"}, cli.ExitUsage, "held already"},
		{[]string{"move", "TICKETS", "noon", "opens", at(90 * time.Minute)}, cli.ExitOK, "noon"},
		{[]string{"move", "TICKETS", "noon", "opens", at(-time.Minute)}, cli.ExitUsage, "in the past"},
		{[]string{"move", "TICKETS", "noon", "opens", at(4 * time.Hour)}, cli.ExitUsage, "ends would not be after opens"},
		{[]string{"move", "TICKETS", "noon", "opens", "noon"}, cli.ExitUsage, "is no time"},
		{[]string{"skip", "TICKETS", "noon", "preQueue"}, cli.ExitUsage, "there is no draw"},
		{[]string{"skip", "TICKETS", "noon", "closes"}, cli.ExitUsage, "has no step closes"},
		{[]string{"hold", "TICKETS", "dusk", "opens"}, cli.ExitUsage, "neither next nor under way"},
		{[]string{"skip", "TICKETS", "noon", "opens"}, cli.ExitOK, "noon"},
	} {
		if got := c.types(t, append([]string{"events"}, tt.args...)...); got.status != tt.status || !strings.Contains(got.out+got.errOut, tt.says) {
			t.Errorf("%v: %+v, want %d and %q", tt.args, got, tt.status, tt.says)
		}
	}
	for body, want := range map[string]string{
		`{"events":[{"name":"a","opensAt":"` + at(-time.Hour) + `"}]}`:                                               "is in the past",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","preQueueAt":"` + at(2*time.Hour) + `"}]}`:         "opensAt is not after preQueueAt",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `"},{"name":"b","opensAt":"` + at(time.Hour) + `"}]}`: "overlaps",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","opensat":"x"}]}`:                                  "opensat",
		`{"events":[{"name":"a","opensAt":"noon"}]}`:                                                                 "must be a time",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","order":"draw"}]}`:                                 "with a draw, preQueueAt must be",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","settings":{"perMinute":-1}}]}`:                    "perMinute is -1",
		`{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","recurs":"at noon"}]}`:                             "no schedule",
	} {
		before := c.admin(t, "GET", "/admin/zones/TEST_ZONE", "").body
		if got := c.admin(t, "PATCH", "/admin/zones/TEST_ZONE", body); got.status != 400 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %q", body, got.status, got.body, want)
		}
		if after := c.admin(t, "GET", "/admin/zones/TEST_ZONE", "").body; after != before {
			t.Errorf("%s has changed the zone: %s", body, after)
		}
	}
	if got := read("/traffic/zones/TEST_ZONE/events/none/draw"); !strings.Contains(got, "draw_unknown") {
		t.Errorf("the draw of no event: %s", got)
	}
}
