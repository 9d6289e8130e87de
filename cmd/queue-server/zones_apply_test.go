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
