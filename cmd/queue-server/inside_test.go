package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// TestInsideCommands: an operator lists those inside, revokes one admission or all, and resets the count. A dry run says how
// many it is about and changes nothing. What cannot be is refused with a sentence.
func TestInsideCommands(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_CONFIG":    config(t, "zones:\n  - zoneId: SHOP\n    perMinute: 600\n    maxInside: 5\n  - zoneId: FREE\n"),
		"QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_TRUSTED_PROXIES": "127.0.0.1",
	})
	c := clerk{s, map[string]string{"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "anna"}}
	for range 3 {
		got := request(t, http.MethodGet, s.site+"/site/SHOP", "", "X-Forwarded-Uri", "/cart", "X-Forwarded-For", "203.0.113.9", "Sec-Fetch-Mode", "navigate")
		if got.status != http.StatusOK {
			t.Fatalf("a newcomer: %+v", got)
		}
	}
	list := c.types(t, "inside", "list", "SHOP", "--limit", "2")
	says(t, "list", list, cli.ExitOK, "JTI", "ADMITTED", " sessions. 0 of them have asked for nothing for 3 minutes.")
	rows := strings.Split(list.out, "\n")
	if len(rows) != 5 { // titles, two sessions, the sentence
		t.Fatalf("--limit 2 lists\n%s", list.out)
	}
	jti, _, _ := strings.Cut(rows[1], " ")
	for _, tt := range []struct {
		command string
		status  int
		says    string
	}{
		{"revoke SHOP " + jti + " --dry-run", cli.ExitOK, "SHOP: would revoke 1 admission. Nothing is changed."},
		{"revoke SHOP --all --dry-run", cli.ExitOK, "SHOP: would revoke 3 admissions. Nothing is changed."},
		{"reset SHOP --dry-run", cli.ExitOK, "SHOP: would forget 0 admissions that the store lost. Nothing is changed."},
		{"revoke SHOP", cli.ExitUsage, "name one JTI, or all with --all"},
		{"revoke SHOP " + jti + " --all", cli.ExitUsage, "name one JTI, or all with --all"},
		{"revoke SHOP nonsense", cli.ExitUsage, "jti is not one of this zone's passes"},
		{"revoke FREE --all", cli.ExitUsage, "maxInside is 0: the zone counts nobody inside"},
		{"revoke NONE --all", cli.ExitNotFound, "there is no zone NONE"},
		{"list NONE", cli.ExitNotFound, "there is no zone NONE"},
		{"list SHOP --limit 0", cli.ExitUsage, "limit must be between 1 and 1000"},
	} {
		says(t, tt.command, c.types(t, append([]string{"inside"}, strings.Fields(tt.command)...)...), tt.status, tt.says)
	}
	if got := c.types(t, "audit", "SHOP"); strings.Contains(got.out, "insideState") {
		t.Errorf("a dry run, or what was refused, is recorded:\n%s", got.out)
	}
	says(t, "revoke", c.types(t, "inside", "revoke", "SHOP", jti), cli.ExitOK, "SHOP: revoked 1 admission.")
	says(t, "once more", c.types(t, "inside", "revoke", "SHOP", jti), cli.ExitOK, "SHOP: revoked 1 admission.")
	says(t, "all", c.types(t, "inside", "revoke", "SHOP", "--all"), cli.ExitOK, "SHOP: revoked 2 admissions.", "This cannot be undone.")
	says(t, "reset", c.types(t, "inside", "reset", "SHOP"), cli.ExitOK, "SHOP: forgot 0 admissions that the store lost.")
	c.admin(t, http.MethodPut, "/admin/zones/SHOP", `{"perMinute": 600, "maxInside": 5}`) // what was revoked stays so
	file := config(t, "zones: [{zoneId: SHOP, perMinute: 600, maxInside: 5}]")
	says(t, "a file", c.types(t, "zones", "apply", "-f", file, "--check"), cli.ExitOK, "1 as the file says already")
	got := c.types(t, "audit", "SHOP")
	says(t, "audit", got, cli.ExitOK, "anna", "insideState none -> 1 by jti, the last "+jti, "-> all admissions up to ", "; count reset at ")
	if n := strings.Count(got.out, "insideState"); n != 3 {
		t.Errorf("%d changes of those inside are recorded, want 3: a repeated revocation is none\n%s", n, got.out)
	}
}
