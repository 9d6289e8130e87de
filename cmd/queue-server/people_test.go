package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// issue makes a token by the API.
func (s *server) issue(t *testing.T, name string, role route.Role, zones ...string) string {
	t.Helper()
	body, err := json.Marshal(people.Wanted{Name: name, Role: role, Zones: zones, ExpireSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	got := s.admin(t, http.MethodPost, "/admin/tokens", string(body))
	if got.status != http.StatusCreated {
		t.Fatalf("token of %s: %d %s", name, got.status, got.body)
	}
	token, _ := got.value(t, "token").(string)
	return token
}

// TestEveryRouteWithEveryRole: a stranger gets 401 from each call, who may not gets 403 and changes nothing, and who may gets neither.
func TestEveryRouteWithEveryRole(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, "zones: [{zoneId: SALE-1, perMinute: 60}]")})
	who := map[string]people.Identity{"": {}, "qs_nobody": {}}
	add := func(role route.Role, zones ...string) {
		name := fmt.Sprint(role, "-", len(who))
		who[s.issue(t, name, role, zones...)] = people.Identity{Name: name, Proof: audit.Token, Grants: []people.Grant{{Role: role, Zones: zones}}}
	}
	for _, role := range route.Roles {
		add(role)
		add(role, "SALE-*")
		add(role, "OTHER")
	}
	routes := slices.Concat((*operator.HTTP)(nil).Routes(), (*policyset.HTTP)(nil).Routes(), (*people.HTTP)(nil).Routes())
	for _, path := range []string{"", "cmdline", "heap", "symbol"} {
		routes = append(routes, route.Route{Method: http.MethodGet, Path: "/debug/pprof/" + path, Role: route.Admin})
	}
	fill := strings.NewReplacer("{zoneId}", "SALE-1", "{event}", "noon", "{do}", "hold", "{name}", "api", "{token}", "nobody", "{subject}", "nobody", "{ref}", "TCZCSP2ZH57NC5")
	for _, token := range slices.Sorted(maps.Keys(who)) {
		for _, r := range routes {
			if r.Role == "" {
				t.Errorf("%s %s has no role", r.Method, r.Path)
			}
			want := 0
			switch {
			case who[token].Proof == "":
				want = http.StatusUnauthorized
			case who[token].Allows(r, "SALE-1") != nil:
				want = http.StatusForbidden
			case r.Method != http.MethodGet:
				continue // TestWhoMayChanges
			}
			got := request(t, r.Method, s.operators+fill.Replace(r.Path), "{}", "Authorization", "Bearer "+token)
			if got.status == http.StatusTooManyRequests && want == http.StatusUnauthorized {
				continue // guesses are slowed
			}
			if want != 0 && got.status != want || want == 0 && got.status != http.StatusOK && got.status != http.StatusNotFound {
				t.Errorf("%s %s by %+v: %d, want %d: %s", r.Method, r.Path, who[token], got.status, want, got.body)
			}
		}
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/SALE-1", ""); got.value(t, "perMinute") != 60.0 {
		t.Errorf("somebody changed the zone: %s", got.body)
	}
}

// TestCallsByProxy: whom the proxy names calls the API without a token, for what the group may do; a browser does so for no other site;
// and the headers of others count for nothing.
func TestCallsByProxy(t *testing.T) {
	env := map[string]string{
		"QUEUE_CONFIG":            config(t, "zones: [{zoneId: SALE-1, perMinute: 60}, {zoneId: SHOP, perMinute: 60}]\ngroups: [{group: sale, role: operator, zones: [SALE-*]}]"),
		"QUEUE_ADMIN_USER_HEADER": "X-User", "QUEUE_ADMIN_GROUPS_HEADER": "X-Groups", "QUEUE_ADMIN_PROXIES": "127.0.0.1",
	}
	s := start(t, env)
	ask := func(s *server, zoneID string, want int, headers ...string) {
		t.Helper()
		if got := request(t, "PATCH", s.operators+"/admin/zones/"+zoneID, `{"perMinute":70}`, append([]string{"Authorization", "Bearer of the proxy's", "X-User", "anna", "X-Groups", "all,sale"}, headers...)...); got.status != want {
			t.Errorf("%s %v: %d, want %d: %s", zoneID, headers, got.status, want, got.body)
		}
	}
	ask(s, "SALE-1", 403, "Sec-Fetch-Site", "cross-site")
	ask(s, "SALE-1", 403, "Origin", "https://evil.example")
	ask(s, "SALE-1", 403, "X-Groups", "others")
	ask(s, "SALE-1", 401, "X-User", "")
	ask(s, "SALE-1", 200, "X-Operator", "Eve")
	ask(s, "SHOP", 403)
	if got := s.admin(t, http.MethodGet, "/admin/audit?zoneId=SALE-1&limit=1", ""); !strings.Contains(got.body, `"by":"anna","proof":"proxy"`) {
		t.Errorf("recorded: %s", got.body)
	}
	env["QUEUE_ADMIN_PROXIES"] = "10.0.0.0/8"
	ask(start(t, env), "SALE-1", 401)
}

// TestWhoMayChanges: the record has the token's name, whatever the request claims; root must claim one; a machine makes zones of its own
// and no others; lists have what somebody may see.
func TestWhoMayChanges(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, "zones: [{zoneId: SALE-1, perMinute: 60}, {zoneId: SHOP, perMinute: 60}]")})
	anna, ci := s.issue(t, "anna", route.Operator, "SALE-*"), s.issue(t, "ci", route.Admin, "TEAM-*", "SALE-9")
	for _, tt := range []struct {
		token, method, path, body, by string
		want                          int
	}{
		{anna, "PATCH", "zones/SALE-1", `{"perMinute":0}`, "Eve", 200},
		{anna, "PATCH", "zones/SHOP", `{"perMinute":0}`, "", 403},
		{anna, "PUT", "zones/SALE-1", `{"perMinute":90}`, "", 200},
		{anna, "PUT", "zones/SALE-2", `{"perMinute":90}`, "", 403},
		{anna, "DELETE", "zones/SALE-1", "", "", 403},
		{anna, "PUT", "limits/api", `{"rules":[]}`, "", 403},
		{anna, "POST", "tokens", `{"name":"eve","role":"admin"}`, "", 403},
		{ci, "PUT", "zones/TEAM-A", `{"perMinute":90}`, "", 201},
		{ci, "DELETE", "zones/TEAM-A", "", "", 204},
		{ci, "PUT", "zones/SHOP", `{"perMinute":90}`, "", 403},
		{ci, "POST", "tokens", `{"name":"eve","role":"admin"}`, "", 403},
		{operatorToken, "PATCH", "zones/SHOP", `{"perMinute":70}`, "", 400},
		{operatorToken, "PATCH", "zones/SHOP", `{"perMinute":70}`, "Olga", 200},
	} {
		headers := []string{"Authorization", "Bearer " + tt.token}
		if tt.by != "" {
			headers = append(headers, "X-Operator", tt.by)
		}
		if got := request(t, tt.method, s.operators+"/admin/"+tt.path, tt.body, headers...); got.status != tt.want {
			t.Errorf("%s %s: %d, want %d: %s", tt.method, tt.path, got.status, tt.want, got.body)
		}
	}
	if got := request(t, "GET", s.operators+"/admin/audit?zoneId=SALE-1&limit=2", "", "Authorization", "Bearer "+anna); strings.Count(got.body, `"by":"anna"`) != 2 {
		t.Errorf("recorded: %s", got.body)
	}
	for _, path := range []string{"zones", "audit"} {
		if got := request(t, "GET", s.operators+"/admin/"+path, "", "Authorization", "Bearer "+anna); got.status != 200 || strings.Contains(got.body, "SHOP") || !strings.Contains(got.body, "SALE-1") {
			t.Errorf("anna's %s: %d %s", path, got.status, got.body)
		}
	}
	if got := request(t, "GET", s.operators+"/admin/audit?zoneId=SHOP", "", "Authorization", "Bearer "+anna); got.status != http.StatusForbidden {
		t.Errorf("the record of another zone: %d", got.status)
	}
	if got := s.admin(t, "DELETE", "/admin/tokens/anna", ""); got.status != http.StatusNoContent {
		t.Errorf("revoke: %d %s", got.status, got.body)
	}
	if got := request(t, "GET", s.operators+"/admin/zones", "", "Authorization", "Bearer "+anna); got.status != http.StatusUnauthorized {
		t.Errorf("after the revocation: %d", got.status)
	}
	// Providers have subjects with slashes, and names with commas.
	const subject = "https://id.example/7, Doe"
	s.admin(t, "DELETE", "/admin/sessions/"+url.PathEscape(subject), "")
	if got := s.admin(t, "GET", "/admin/audit?limit=5", ""); !strings.Contains(got.body, `"`+subject+`"`) {
		t.Errorf("revoked sessions of %s: %s", subject, got.body)
	}
}

// TestAThousandWrongTokens from one address are slowed and counted; a right one from there is always taken.
func TestAThousandWrongTokens(t *testing.T) {
	s := start(t, nil)
	anna := s.issue(t, "anna", route.Viewer)
	var guessing sync.WaitGroup
	for worker := range 10 {
		guessing.Go(func() {
			for i := range 100 {
				got := request(t, "GET", s.operators+"/admin/zones", "", "Authorization", fmt.Sprintf("Bearer qs_guess-%d-%d", worker, i))
				if got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") == "" || got.status != http.StatusTooManyRequests && got.status != http.StatusUnauthorized {
					t.Errorf("a guess: %d", got.status)
				}
			}
		})
	}
	for range 50 {
		if got := request(t, "GET", s.operators+"/admin/zones", "", "Authorization", "Bearer "+anna); got.status != http.StatusOK {
			t.Errorf("the right token: %d %s", got.status, got.body)
		}
	}
	guessing.Wait()
	counted := 0
	text := request(t, "GET", s.operators+"/metrics", "").body
	for _, code := range []string{"unauthorized", "too_many_wrong_tokens"} {
		var n int
		_, after, _ := strings.Cut(text, `code="`+code+`"`)
		if _, err := fmt.Sscanf(after[strings.Index(after, "}")+1:], " %d", &n); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		counted += n
	}
	if counted != 1000 {
		t.Errorf("%d were counted", counted)
	}
}
