package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// TestEvents: from a file to the public state and the command line, and back.
func TestEvents(t *testing.T) {
	c := newClerk(t)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	read := func(path string) string { return request(t, "GET", c.public+path, "").body }
	opens := at(time.Hour)
	file := config(t, `zones:
  - zoneId: TICKETS
    perMinute: 600
    burst: 5
    events:
      - {name: noon, preQueueAt: `+at(30*time.Minute)+`, opensAt: `+opens+`, endsAt: `+at(3*time.Hour)+`, order: draw,
         settings: {perMinute: 6000}, texts: {before: {default: At noon., de: Um zwölf.}}}
      - {name: dusk, opensAt: `+at(5*time.Hour)+`, settings: {}, texts: {after: {}}}
    sites:
    message: {}
`)
	check := c.types(t, "zones", "apply", "-f", file, "--check")
	for _, want := range []string{"noon: people gather, and nobody is admitted; a draw gives them their places, with perMinute=6000", "noon: they are admitted, as drawn", "the settings from before the event hold again"} {
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
		if tries == 1200 { // a minute
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
	noon := "WARNING: noon sets it otherwise, limit: 6,000 a minute, at "
	says(t, "paused", c.types(t, "zones", "pause", "TICKETS"), cli.ExitOK, noon)
	says(t, "resumed", c.types(t, "zones", "resume", "TICKETS"), cli.ExitOK, "perMinute 0 -> 600", noon)
	says(t, "taken off the list", c.types(t, "zones", "set", "TICKETS", "events=[]"), cli.ExitUsage, "to cancel it: queue-server events cancel TICKETS noon")
	for events, want := range map[string]string{
		`[{"name":"late","opensAt":"` + at(9*time.Hour) + `","opensAt":"` + at(8*time.Hour) + `"}]`:                 `duplicate object member name "opensAt"`,
		`[{"name":"late","opensAt":"` + at(9*time.Hour) + `","texts":{"before":{"default":"\ud83d"}}}]`:             "invalid surrogate pair",
		`[{"name":"late","opensAt":"` + at(9*time.Hour) + `","texts":{"before":{"default":"see https:\/\/shop"}}}]`: "take it off; to cancel it",
		`[{"name":"late","opensat":"` + at(9*time.Hour) + `"}]`:                                                     `did you mean "opensAt"?`,
	} {
		says(t, events, c.types(t, "zones", "set", "TICKETS", "events="+events), cli.ExitUsage, want)
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
		{[]string{"move", "TICKETS", "noon", "opens", "noon"}, cli.ExitUsage, "must be a time"},
		{[]string{"open", "TICKETS", "noon"}, cli.ExitUsage, "nobody has gathered for the draw yet"},
		{[]string{"hold", "TICKETS", "noon", "closes"}, cli.ExitUsage, "has no step closes"},
		{[]string{"hold", "TICKETS", "dawn", "opens"}, cli.ExitUsage, `there is no event "dawn"; listed are noon, dusk`},
		{[]string{"hold", "TICKETS", "dusk", "opens"}, cli.ExitUsage, "noon comes before it"},
		{[]string{"cancel", "TICKETS", "noon"}, cli.ExitOK, "noon is cancelled. People are admitted at the limit."},
	} {
		if got := c.types(t, append([]string{"events"}, tt.args...)...); got.status != tt.status || !strings.Contains(got.out+got.errOut, tt.says) {
			t.Errorf("%v: %+v, want %d and %q", tt.args, got, tt.status, tt.says)
		}
	}
	cancelled := c.types(t, "zones", "apply", "-f", file, "--check")
	says(t, "a check after that", cancelled, cli.ExitOK, "1 as the file says already")
	if early := request(t, "GET", c.public+path+"/list", "", "Accept-Encoding", "gzip"); early.status != http.StatusNotFound ||
		early.value(t, "code") != "draw_unknown" {
		t.Errorf("a list before the draw has closed: %d %s", early.status, early.body)
	}
}

// TestApplyDuringAnEvent: to apply another setting takes back nothing that the event has set; a list that changes the event is refused.
func TestApplyDuringAnEvent(t *testing.T) {
	c := newClerk(t)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	begun, opens := at(-time.Minute), at(time.Hour)
	file := func(perMinute, text string) string {
		return config(t, `zones:
  - zoneId: TICKETS
    perMinute: `+perMinute+`
    mode: closed
    events:
      - {name: noon, preQueueAt: `+begun+`, opensAt: `+opens+`, settings: {perMinute: 6000, mode: queue, invitation: members}, texts: {before: {default: `+text+`}}}
`)
	}
	if done := c.types(t, "zones", "apply", "-f", file("60", "Soon"), "--yes"); done.status != cli.ExitOK {
		t.Fatalf("apply: %+v", done)
	}
	settings := func() string { return c.types(t, "zones", "get", "TICKETS", "--json").out }
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !strings.Contains(settings(), `"perMinute":6000`); tries++ {
		if tries == 1200 { // a minute
			t.Fatalf("nobody gathers: %s", settings())
		}
		<-tick.C
	}
	if same := c.types(t, "zones", "apply", "-f", file("60", "Soon"), "--check"); same.status != cli.ExitOK {
		t.Errorf("what the event has set differs from the file: %s", same.out)
	}
	c.types(t, "zones", "set", "TICKETS", "perMinute=777")
	says(t, "an operator's limit", c.types(t, "zones", "apply", "-f", file("60", "Soon"), "--yes"), cli.ExitOK, "1 as the file says already")
	if !strings.Contains(settings(), `"perMinute":777`) {
		t.Errorf("an operator's limit is undone: %s", settings())
	}
	c.types(t, "zones", "set", "TICKETS", "perMinute=6000")
	const refused = "and list it under another name"
	says(t, "another text, checked", c.types(t, "zones", "apply", "-f", file("60", "Now"), "--check"), cli.ExitDiffers, "the server will refuse it", refused)
	if done := c.types(t, "zones", "apply", "-f", file("60", "Now"), "--yes"); done.status != cli.ExitUsage || !strings.Contains(settings(), `"Soon"`) {
		t.Errorf("a text is changed: %+v\n%s", done, settings())
	}
	says(t, "another limit", c.types(t, "zones", "apply", "-f", file("70", "Soon"), "--check"), cli.ExitDiffers, "perMinute  6000 -> 70")
}

// TestBadEvents: what cannot be is refused, whichever way it comes, and nothing is changed.
func TestBadEvents(t *testing.T) {
	c := newClerk(t)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	everything := func() string {
		return c.admin(t, "GET", "/admin/zones", "").body + c.admin(t, "GET", "/admin/audit", "").body
	}
	before := everything()
	past := `{"name":"a","opensAt":"` + at(-time.Hour) + `"}`
	for _, tt := range []struct{ method, path, body, says string }{
		{"PATCH", "/admin/zones/TEST_ZONE", `{"events":[` + past + `]}`, "is in the past"},
		{"PUT", "/admin/zones/NEW", `{"perMinute":60,"events":[` + past + `]}`, "is in the past"},
		{"PATCH", "/admin/zones/TEST_ZONE", `{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","preQueueAt":"` + at(2*time.Hour) + `"}]}`, "opens would not be after preQueue"},
		{"PATCH", "/admin/zones/TEST_ZONE", `{"events":[{"name":"a","opensAt":"` + at(time.Hour) + `","opensat":"x"}]}`, "opensat"},
		{"PATCH", "/admin/zones/TEST_ZONE", `{"events":[{"name":"a/b","opensAt":"` + at(time.Hour) + `"}]}`, "must be 1 to 40 of"},
		{"POST", "/admin/zones/TEST_ZONE/events/a/hold", `{"step":"opens"}`, `there is no event \"a\"; none is listed`},
		{"POST", "/admin/zones/TEST_ZONE/events/a/move", `{"step":"opens","to":"noon"}`, "must be a time"},
		{"POST", "/admin/zones/TEST_ZONE/events/a/hold", `[1]`, "must be a JSON object"},
	} {
		if got := c.admin(t, tt.method, tt.path, tt.body); got.status != http.StatusBadRequest || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s: %d %s, want %q", tt.path, tt.body, got.status, got.body, tt.says)
		}
	}
	says(t, "a field that there is not", c.types(t, "zones", "set", "TICKETS", `events=[{"name":"a","opensAt":"`+at(time.Hour)+`","preQueAt":"`+at(time.Minute)+`"}]`),
		cli.ExitUsage, `"preQueAt"`, `did you mean "preQueueAt"?`)
	file := config(t, "zones:\n  - {zoneId: TICKETS, events: ["+past+"]}\n")
	says(t, "check", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitDiffers, `the server will refuse it: "a" is in the past`)
	says(t, "apply", c.types(t, "zones", "apply", "-f", file, "--yes"), cli.ExitUsage, `events "a" is in the past`)
	for _, path := range []string{"none/draw", "none/draw/list", "..%2f..%2fzones/draw", "a=b/draw", strings.Repeat("a", 41) + "/draw"} {
		for _, encoding := range []string{"gzip", "identity"} {
			got := request(t, "GET", c.public+"/traffic/zones/TEST_ZONE/events/"+path, "", "Accept-Encoding", encoding)
			if got.status != http.StatusNotFound || got.value(t, "code") != "draw_unknown" {
				t.Errorf("%s in %s: %d %s", path, encoding, got.status, got.body)
			}
		}
	}
	if after := everything(); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
}
