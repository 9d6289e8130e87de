package main

import (
	"encoding/json"
	"strings"
	"testing"
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
	wants(t, "check", c.types(t, "zones", "apply", "-f", file, "--check"), exitDiffers, shown, "")
	wants(t, "nobody to ask", c.types(t, "zones", "apply", "-f", file), exitUsage, shown,
		"queue-server: there is nobody to ask: say --yes to change zones, or --check to see the differences only\n"+
			"Nothing was done. How it is used: queue-server zones apply --help\n")
	wants(t, "no", c.answers(t, 80, "no\n", "zones", "apply", "-f", file), exitFailed, shown,
		"Type yes to do this: queue-server: not confirmed: nothing was changed\n")
	if after := c.admin(t, "GET", "/admin/zones", "").body; after != before {
		t.Fatalf("changed without consent: %s", after)
	}
	done := "  TICKETS: changed\n  NEW: made\n2 done, 0 failed, 0 not tried.\n"
	wants(t, "yes", c.answers(t, 80, "yes\n", "zones", "apply", "-f", file), exitOK, shown+done, "Type yes to do this: ")
	wants(t, "again", c.types(t, "zones", "apply", "-f", file, "--check"), exitOK,
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
  TICKETS: DELETE, with the places of 3 who wait

0 to make, 0 to change, 1 to delete; 1 as the file says already.
`
	asked := "Type yes to do this: THIS CANNOT BE UNDONE: 3 places will be lost for good.\nType \"delete 1 zone\" to go on: "
	wants(t, "yes twice", c.answers(t, 80, strings.Repeat("yes\n", 2), "zones", "apply", "--prune", "-f", file), exitFailed, shown,
		asked+"queue-server: not confirmed: nothing was changed\n")
	wants(t, "deleted", c.answers(t, 80, "yes\ndelete 1 zone\n", "zones", "apply", "--prune", "-f", file), exitOK,
		shown+"  TICKETS: deleted\n1 done, 0 failed, 0 not tried.\n", asked)
	for _, text := range []string{"", "zones: []\n", "addr: :8080\n"} {
		says(t, text, c.types(t, "zones", "apply", "--prune", "--yes", "-f", config(t, text)), exitUsage, "it holds no zones")
	}
	says(t, "a fault", c.types(t, "zones", "apply", "--yes", "-f", config(t, "zones:\n  - zoneId: A\n    permin: 5\n")),
		exitUsage, `queue.yaml:3: unknown key "permin"`)
	strange := c.types(t, "zones", "apply", "--yes", "-f", config(t, "frobnicate: 1\n"))
	says(t, "no key at all", strange, exitUsage, "known are addr, ")
	if n := strings.Count(strange.errOut, " addr,"); n != 1 {
		t.Errorf("a key is named %d times: %s", n, strange.errOut)
	}
}

// plan is what --json prints.
func decodePlan(t *testing.T, got outcome) plan {
	t.Helper()
	var p plan
	if err := json.Unmarshal([]byte(got.out), &p); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return p
}

func TestApplyJSON(t *testing.T) {
	c := newClerk(t)
	stdin := func(args ...string) outcome {
		var out, errOut strings.Builder
		status := runIn(t.Context(), append([]string{"zones", "apply", "-f", "-", "--json"}, args...), surroundings{
			getenv: environ(c.env), stdin: strings.NewReader(wanted), stdout: &out, stderr: &errOut,
		})
		return outcome{status, out.String(), errOut.String()}
	}
	for _, tt := range []struct {
		flag, result string
		status       int
	}{{"--check", resultPlanned, exitDiffers}, {"--yes", resultDone, exitOK}} {
		got := stdin(tt.flag)
		p := decodePlan(t, got)
		if got.status != tt.status || len(p.Steps) != 2 || p.Steps[0].Result != tt.result || p.Steps[1].Result != tt.result ||
			p.Steps[0].Action != actionChange || p.Steps[1].Action != actionMake || len(p.Same) != 1 {
			t.Errorf("%s: %+v", tt.flag, got)
		}
	}
	if got := stdin("--check"); got.status != exitOK || got.out != `{"steps":[],"same":["TICKETS","TEST_ZONE","NEW"],"unlisted":[]}`+"\n" {
		t.Errorf("at the end: %+v", got)
	}
}

// TestApplyConflict: what others change between the look and the change is not
// overwritten, and does not keep the rest from being done.
func TestApplyConflict(t *testing.T) {
	c := newClerk(t)
	flags := deskFlags{AdminURL: c.operators, JSON: true}
	err := flags.at(&surroundings{getenv: environ(c.env)}, func(d *desk) error {
		file, err := parseConfig("zones.yaml", []byte(wanted), []string{"addr"})
		if err != nil {
			return err
		}
		p, err := d.makePlan(t.Context(), file.zones, false)
		if err != nil {
			return err
		}
		c.types(t, "zones", "set", "TICKETS", "burst=7")
		err = d.carryOut(t.Context(), p)
		if statusOf(err) != exitConflict || p.Steps[0].Result != resultFailed || p.Steps[1].Result != resultDone {
			t.Errorf("status %d: %v, %+v, %+v", statusOf(err), err, p.Steps[0], p.Steps[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.admin(t, "GET", "/admin/zones/TICKETS", ""); got.value(t, "perMinute") != 600.0 || got.value(t, "burst") != 7.0 {
		t.Errorf("another's change was overwritten: %s", got.body)
	}
}

// TestApplyStops: when the server does not answer any more, the rest is not tried.
func TestApplyStops(t *testing.T) {
	c := newClerk(t)
	err := deskFlags{AdminURL: c.operators, JSON: true}.at(&surroundings{getenv: environ(c.env)}, func(d *desk) error {
		file, err := parseConfig("zones.yaml", []byte(wanted), []string{"addr"})
		if err != nil {
			return err
		}
		p, err := d.makePlan(t.Context(), file.zones, false)
		if err != nil {
			return err
		}
		c.end(t)
		err = d.carryOut(t.Context(), p)
		if p.Steps[0].Result != resultFailed || p.Steps[1].Result != resultSkipped {
			t.Errorf("%v: %+v, %+v", err, p.Steps[0], p.Steps[1])
		}
		return err
	})
	if statusOf(err) != exitUnreachable {
		t.Errorf("status %d: %v", statusOf(err), err)
	}
}
