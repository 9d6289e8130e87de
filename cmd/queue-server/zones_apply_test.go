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
  TICKETS: change
      perMinute  600 -> 900
      burst      5 -> 0
  NEW: make
      perMinute  5
      burst      2

1 to make, 1 to change, 0 to delete; 1 as the file says already; 1 not in the file, left alone (--prune deletes them).
`
	before := c.admin(t, "GET", "/admin/zones", "").body
	wants(t, "check", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitDiffers, shown, "")
	wants(t, "nobody to ask", c.types(t, "zones", "apply", "-f", file), cli.ExitUsage, shown,
		"queue-server: no terminal to ask at: say --yes to change zones, or --check to see the differences only\n"+
			"Nothing was done. How it is used: queue-server zones apply --help\n")
	wants(t, "no", c.answers(t, 80, "no\n", "zones", "apply", "-f", file), cli.ExitFailed, shown,
		"Type yes to do this: queue-server: not confirmed; nothing was changed\n")
	if after := c.admin(t, "GET", "/admin/zones", "").body; after != before {
		t.Fatalf("changed without consent: %s", after)
	}
	done := "  TICKETS: changed\n  NEW: made\n2 done, 0 failed, 0 not tried.\n"
	wants(t, "yes", c.answers(t, 80, "yes\n", "zones", "apply", "-f", file), cli.ExitOK, shown+done, "Type yes to do this: ")
	wants(t, "again", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitOK,
		"0 to make, 0 to change, 0 to delete; 3 as the file says already; 1 not in the file, left alone (--prune deletes them).\n", "")
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

func TestApplyPrune(t *testing.T) {
	c := newClerk(t)
	file := config(t, "zones:\n  - {zoneId: TEST_ZONE, perMinute: 10, mode: closed, maxWaiting: 200000, onStoreFailure: admit}\n")
	c.types(t, "zones", "set", "TICKETS", "perMinute=0")
	for range 3 {
		request(t, "POST", c.public+"/traffic/wait", `{"zoneId":"TICKETS"}`)
	}
	shown := "To make " + c.operators + " as " + file + " says:\n" + `
  TICKETS: delete
    WARNING: 3 waiting. All lose their places, and each later join is refused.
    This cannot be undone. The record of changes stays.

0 to make, 0 to change, 1 to delete; 1 as the file says already.
`
	const asked = "Type delete 1 zone to do this: "
	wants(t, "yes", c.answers(t, 80, "yes\n", "zones", "apply", "--prune", "-f", file), cli.ExitFailed, shown,
		asked+"queue-server: not confirmed; nothing was changed\n")
	wants(t, "deleted", c.answers(t, 80, "delete 1 zone\n", "zones", "apply", "--prune", "-f", file), cli.ExitOK,
		shown+"  TICKETS: deleted\n1 done, 0 failed, 0 not tried.\n", asked)
	for _, text := range []string{"", "zones: []\n", "addr: :8080\n"} {
		says(t, text, c.types(t, "zones", "apply", "--prune", "--yes", "-f", config(t, text)), cli.ExitUsage, "it holds no zones")
	}
	says(t, "a fault", c.types(t, "zones", "apply", "--yes", "-f", config(t, "zones:\n  - zoneId: A\n    permin: 5\n")),
		cli.ExitUsage, `queue.yaml:3: "permin" is not a setting of a zone`)
	strange := c.types(t, "zones", "apply", "--yes", "-f", config(t, "frobnicate: 1\n"))
	says(t, "no key at all", strange, cli.ExitUsage, "known are addr, ")
	if n := strings.Count(strange.errOut, " addr,"); n != 1 {
		t.Errorf("a key is named %d times: %s", n, strange.errOut)
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
		{"--check", cli.ExitDiffers, "1 to make, 1 to change, 0 to delete; 1 as the file says already"},
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
