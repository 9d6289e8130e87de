package main

import (
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// wanted changes TICKETS, makes NEW, leaves the rest.
const wanted = `addr: ":8080" # a server's file serves, too
zones:
  - zoneId: TICKETS
    perMinute: 900
  - {zoneId: TEST_ZONE, perMinute: 10, mode: closed, maxWaiting: 200000, onStoreFailure: admit}
  - {zoneId: NEW, perMinute: 5, burst: 2}
`

func TestApply(t *testing.T) {
	c := newClerk(t)
	file := config(t, wanted)
	c.types(t, "zones", "create", "OLD")
	shown := "To make " + c.operators + " as " + file + " says:\n" + `
  zone TICKETS: change
      perMinute  600 -> 900
      burst      5 -> 0
  zone NEW: make
      perMinute  5
      burst      2

1 to make, 1 to change; 1 as the file says already.
`
	before := c.admin(t, "GET", "/admin/zones", "").body
	wants(t, "check", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitDiffers, shown, "")
	wants(t, "nobody to ask", c.types(t, "zones", "apply", "-f", file), cli.ExitUsage, shown,
		"queue-server: no terminal to ask at: say --yes to change zones, or --check to see the differences only\n"+
			"Nothing was done. How it is used: queue-server zones apply --help\n")
	wants(t, "no", c.answers(t, "no\n", "zones", "apply", "-f", file), cli.ExitFailed, shown,
		"Type yes to do this: queue-server: not confirmed; nothing was changed\n")
	if after := c.admin(t, "GET", "/admin/zones", "").body; after != before {
		t.Fatalf("changed without consent: %s", after)
	}
	done := "  zone TICKETS: changed\n  zone NEW: made\n2 done, 0 failed, 0 not tried.\n"
	wants(t, "yes", c.answers(t, "yes\n", "zones", "apply", "-f", file), cli.ExitOK, shown+done, "Type yes to do this: ")
	wants(t, "again", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitOK,
		"0 to make, 0 to change; 3 as the file says already.\n", "")
	audit := c.types(t, "audit").out
	for _, want := range []string{"perMinute 600 -> 900", "burst 5 -> 0", "made with perMinute 5, burst 2"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the record lacks %q:\n%s", want, audit)
		}
	}
	if strings.Count(audit, "TEST_ZONE") != 1 {
		t.Errorf("a zone that is as the file says was changed:\n%s", audit)
	}
}

// TestApplyRefuses: a file with a fault, or with nothing to apply.
func TestApplyRefuses(t *testing.T) {
	c := newClerk(t)
	for text, want := range map[string]string{
		"": "it holds no zones", "zones: []\n": "it holds no zones", "addr: :8080\n": "it holds no zones",
		"zones:\n  - zoneId: A\n    permin: 5\n": `queue.yaml:3: "permin" is not a setting of a zone`,
		"frobnicate: 1\n":                        "known are addr, ",
	} {
		got := c.types(t, "zones", "apply", "--yes", "-f", config(t, text))
		says(t, text, got, cli.ExitUsage, want)
		if n := strings.Count(got.errOut, " addr,"); n > 1 {
			t.Errorf("a key is named %d times: %s", n, got.errOut)
		}
	}
}

// TestApplyFromStandardInput: what differs is found, changed, and found no more.
func TestApplyFromStandardInput(t *testing.T) {
	c := newClerk(t)
	for _, tt := range []struct {
		flag   string
		status int
		says   string
	}{
		{"--json", cli.ExitUsage, "--json is not for apply"},
		{"--check", cli.ExitDiffers, "1 to make, 1 to change; 1 as the file says already"},
		{"--yes", cli.ExitOK, "2 done, 0 failed, 0 not tried."},
		{"--check", cli.ExitOK, "3 as the file says already"},
	} {
		var out, errOut strings.Builder
		status := run(t.Context(), []string{"zones", "apply", "-f", "-", tt.flag}, &cli.Terminal{
			Getenv: environ(c.env), Stdin: strings.NewReader(wanted), Stdout: &out, Stderr: &errOut,
		})
		says(t, tt.flag, outcome{status, out.String(), errOut.String()}, tt.status, tt.says)
	}
}

// agrees has the operator say yes to a plan; first happens after the question.
func (c clerk) agrees(t *testing.T, file string, first func()) outcome {
	t.Helper()
	var out strings.Builder
	asked := &asking{then: first}
	status := run(t.Context(), []string{"zones", "apply", "-f", file}, &cli.Terminal{
		Getenv: environ(c.env), Stdin: strings.NewReader("yes\n"), Stdout: &out, Stderr: asked, Interactive: true,
	})
	return outcome{status, out.String(), asked.text.String()}
}

// TestApplyConflict: what others change between the look and the change is not
// overwritten, and does not keep the rest from being done.
func TestApplyConflict(t *testing.T) {
	c := newClerk(t)
	got := c.agrees(t, config(t, wanted), func() { c.types(t, "zones", "set", "TICKETS", "burst=7") })
	says(t, "apply", got, cli.ExitConflict, "NEW: made", "1 done, 1 failed, 0 not tried", "zone TICKETS: ", "The command can be repeated")
	if got := c.admin(t, "GET", "/admin/zones/TICKETS", ""); got.value(t, "perMinute") != 600.0 || got.value(t, "burst") != 7.0 {
		t.Errorf("another's change was overwritten: %s", got.body)
	}
}

// TestApplyStops: when the server does not answer any more, the rest is not tried.
func TestApplyStops(t *testing.T) {
	c := newClerk(t)
	got := c.agrees(t, config(t, wanted), func() { c.end(t) })
	says(t, "apply", got, cli.ExitUnreachable, "0 done, 1 failed, 1 not tried")
}
