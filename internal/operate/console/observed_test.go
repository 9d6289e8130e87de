package console_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/observed"
)

// TestObserved: an operator sees what the gate would refuse and what to bypass, and that a gate which observes refuses nobody.
func TestObserved(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	shows(t, p.get("zones/Z?tab=gate"), "The gate is on.", "Nothing was observed.")
	p.post("zones/Z/change", formOf(t, p.get("zones/Z/change?gate=observe"), "zones/Z/change"))
	if got := r.zone("Z").SiteGate; got != "observe" {
		t.Fatalf("the gate is %q", got)
	}
	r.observed.Add("Z", &observed.Request{Method: "POST", Path: "/saml/acs", Agent: observed.Browser, Would: observed.Lose}, time.Now())
	shows(t, p.get("zones/Z?tab=gate"), "The gate observes: it refuses nobody, also in a pause.", "bypassPaths /saml/acs : POST /saml/acs by browser, 1 times",
		"queue-server zones set Z 'bypassPaths=/saml/acs'", "1 POST /saml/acs browser lose")
}
