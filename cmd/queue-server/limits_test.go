package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// twoLimits are what most of these tests begin with.
const twoLimits = `limits:
  - name: api
    key: [apiKey, ip]
    rules:
      - {algorithm: sliding_log, limit: 1000, windowSeconds: 60}
      - {algorithm: token_bucket, limit: 20, windowSeconds: 10, burst: 5}
    tiers:
      pro: [{algorithm: sliding_counter, limit: 10000, windowSeconds: 60}]
  - name: search
    rules: [{algorithm: fixed_window, limit: 5, windowSeconds: 1}]
    onStoreFailure: closed
`

func limitsClerk(t *testing.T) clerk {
	t.Helper()
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, twoLimits)})
	return clerk{s, map[string]string{
		"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "anna",
	}}
}

func TestLimitsListAndShow(t *testing.T) {
	c := limitsClerk(t)
	got := c.types(t, "limits", "list")
	says(t, "list", got, cli.ExitOK,
		"POLICY", "1,000 in any 60 s, and 20 in 10 s and 5 at once", "API key, else address", "closed")
	show := c.types(t, "limits", "show", "api")
	show.out = regexp.MustCompile(`in the last \d+ s`).ReplaceAllString(show.out, "in the last 0 s")
	wants(t, "show", show, cli.ExitOK, `
SETTING         VALUE
rules           1,000 in any 60 s (sliding log), and 20 in 10 s and 5 at once (token bucket)
tiers           pro: about 10,000 in any 60 s (sliding counter)
key             API key, else address
onStoreFailure  local: each server its share
scope           shared: by the store

On this server, in the last 0 s:

TIER     ALLOWED  REFUSED  OF THESE, FROM MEMORY  WITHOUT THE STORE
default  0        0        0                      0
pro      0        0        0                      0
`[1:], "")
	says(t, "an unknown one", c.types(t, "limits", "show", "serch"), cli.ExitNotFound, "there is no policy serch; all are listed by: queue-server limits list")
	for _, tt := range []struct{ path, command string }{
		{"/admin/limits", "limits list"}, {"/admin/limits/api", "limits show api"},
	} {
		want := strings.TrimSpace(c.admin(t, "GET", tt.path, "").body) + "\n"
		wants(t, tt.command, c.types(t, append(strings.Fields(tt.command), "--json")...), cli.ExitOK, want, "")
	}
}

func TestLimitsApply(t *testing.T) {
	c := limitsClerk(t)
	file := config(t, `limits:
  - {name: search, rules: [{algorithm: fixed_window, limit: 50, windowSeconds: 1}], onStoreFailure: closed}
  - {name: new, rules: [{algorithm: fixed_window, limit: 1, windowSeconds: 1}], key: [], tiers: {}}
`)
	shown := "To make " + c.operators + " as " + file + " says:\n" + `
  policy search: change
    rules 5 in each 1 s of the clock (fixed window) -> 50 in each 1 s of the clock (fixed window)
  policy new: make
    rules           1 in each 1 s of the clock (fixed window)
    tiers           none
    key             address
    onStoreFailure  local: each server its share
    scope           shared: by the store

1 to make, 1 to change; 0 as the file says already.
`
	wants(t, "yes", c.answers(t, "yes\n", "limits", "apply", "-f", file), cli.ExitOK,
		shown+"  policy search: changed\n  policy new: made\n2 done, 0 failed, 0 not tried.\n", "Type yes to do this: ")
	says(t, "delete", c.answers(t, "api\n", "limits", "delete", "api"), cli.ExitOK, "api is deleted.")
	says(t, "both", c.types(t, "limits", "apply", "-f", config(t, twoLimits), "--yes"), cli.ExitOK, "api: made", "search: changed")
	if audit := c.admin(t, "GET", "/admin/audit?policy=search", "").body; strings.Count(audit, `"by":"anna"`) != 2 {
		t.Errorf("the record: %s", audit)
	}
	got := c.types(t, "audit", "--policy", "search")
	says(t, "audit", got, cli.ExitOK, "anna", "rules 5 in each 1 s of the clock (fixed window) -> 50 in each 1 s of the clock (fixed window)",
		"QUEUE_CONFIG", "made: 5 in each 1 s of the clock")
	says(t, "audit of all", c.types(t, "audit"), cli.ExitOK, "policy api ", "deleted", "policy new ")
	says(t, "audit of none", c.types(t, "audit", "--policy", "nowhere"), cli.ExitOK, "no such changes")
	says(t, "no limits in it", c.types(t, "limits", "apply", "-f", config(t, "addr: :1\n")), cli.ExitUsage, "it holds no limits")
	says(t, "faults", c.types(t, "limits", "apply", "-f", config(t, "limits:\n  - name: a\n    rule: 1\n")), cli.ExitUsage, `:3: "rule" is not a setting of a policy; did you mean "rules"?`)
}

func TestLimitsDelete(t *testing.T) {
	c := limitsClerk(t)
	says(t, "nobody to ask", c.types(t, "limits", "delete", "api"), cli.ExitUsage, "say --yes")
	says(t, "no", c.answers(t, "search\n", "limits", "delete", "api"), cli.ExitFailed, "not confirmed")
	says(t, "yes", c.answers(t, "api\n", "limits", "delete", "api"), cli.ExitOK, "api is deleted.")
	says(t, "again", c.types(t, "limits", "delete", "api", "--yes"), cli.ExitNotFound, "there is no policy api")
	says(t, "from then on", c.types(t, "limits", "show", "api"), cli.ExitNotFound, "there is no policy api")
}
