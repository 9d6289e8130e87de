package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/issuer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

var groups = login.Groups{{Group: "shop", Role: route.Operator, Zones: []string{"SHOP"}}}

// visit follows a browser to the provider and back, to the console's answer.
func (p *person) visit(t *testing.T, next string) *httptest.ResponseRecorder {
	t.Helper()
	w := p.get("login/provider?next=" + url.QueryEscape(next))
	if w.Code != http.StatusSeeOther {
		return w
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Header().Get("Location"), nil)
	parts.Must(t, err)
	answer, err := client.Do(r)
	parts.Must(t, err)
	parts.Must(t, answer.Body.Close())
	back, err := answer.Location()
	parts.Must(t, err)
	return p.get(strings.TrimPrefix(back.RequestURI(), "/console/"), "Sec-Fetch-Site", "cross-site")
}

// TestLogInByProvider: somebody of a group gets a session that is good on every server, for what the group may do; until its time is
// over, it is revoked, or its owner logs out. Whoever has no group is told whom to ask.
func TestLogInByProvider(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("SHOP")
	r.put("OTHER")
	at := issuer.New(t, r.Now)
	at.LogIn(map[string]any{"sub": "7", "email": "anna@shop.example", "groups": []string{"shop"}}, nil)
	provider := login.NewProvider(login.ProviderOptions{
		Issuer: at.URL, ClientID: issuer.Client, ClientSecret: issuer.Secret, Scopes: []string{"openid"}, NameClaim: "email", RolesClaim: "groups",
		AdminURL: "https://queue.example", Groups: groups, Secrets: parts.Secrets(), Now: r.Now,
	})
	r.http = r.server(r.people, provider, nil)
	second := people.New(people.Options{Store: r.store, Secrets: parts.Secrets(), Root: []string{token}, Logger: slog.New(slog.DiscardHandler), Now: r.Now})
	anna := &person{room: r, cookies: map[string]string{}, host: "queue.example"}
	shows(t, anna.get("login"), "Log in with "+provider.Name(), "Or with a token")
	w := anna.visit(t, "/console/zones/SHOP?tab=record")
	if w.Code != http.StatusOK || w.Header().Get("Refresh") != "0; url=/console/zones/SHOP?tab=record" {
		t.Fatalf("back from the provider: %d %v %s", w.Code, w.Header(), words(w.Body.String()))
	}
	if set := strings.Join(w.Header().Values("Set-Cookie"), "\n"); !strings.Contains(set, "__Host-queue_console=") || !strings.Contains(set, "Max-Age=3600") || !strings.Contains(set, "queue_login=; Path=/; Max-Age=0") {
		t.Errorf("cookies: %s", set)
	}
	if w := anna.post("zones/SHOP/change", url.Values{"was.perMinute": {"600"}, "perMinute": {"90"}}); w.Code != http.StatusSeeOther {
		t.Errorf("a change: %d %s", w.Code, words(w.Body.String()))
	}
	changes, err := r.store.Changes(t.Context(), "SHOP")
	if err != nil || changes[0].Name != "anna@shop.example" || changes[0].Proof != audit.OIDC || changes[0].ProofID != "7" {
		t.Errorf("recorded: %+v, %v", changes[0], err)
	}
	other := &person{room: &room{Clock: r.Clock, tb: t, http: r.server(second, provider, nil)}, cookies: anna.cookies, host: anna.host}
	for path, want := range map[string]int{"": 200, "zones/SHOP": 200, "zones/OTHER": 403, "tokens": 403, "new": 403} {
		if w := other.get(path); w.Code != want {
			t.Errorf("on another server, %q: %d, want %d", path, w.Code, want)
		}
	}
	inside := func(what string, want int) {
		t.Helper()
		if w := anna.get("zones/SHOP"); w.Code != want {
			t.Errorf("%s: %d, want %d", what, w.Code, want)
		}
	}
	at.Close() // the provider is away
	inside("the provider is away", http.StatusOK)
	r.people.EndAll(t.Context(), "7", audit.By{Name: "Olga", Proof: audit.Root})
	inside("revoked while inside", http.StatusSeeOther)
}

// TestLogInByProviderLeadsNowhereElse, in no session that has ended, and not without a group.
func TestLogInByProviderLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("SHOP")
	at := issuer.New(t, r.Now)
	r.http = r.server(r.people, login.NewProvider(login.ProviderOptions{
		Issuer: at.URL, ClientID: issuer.Client, ClientSecret: issuer.Secret, Scopes: []string{"openid"}, NameClaim: "email", RolesClaim: "groups",
		AdminURL: "http://127.0.0.1", Groups: groups, Secrets: parts.Secrets(), Now: r.Now,
	}), nil)
	at.LogIn(map[string]any{"sub": "7", "email": "anna@shop.example", "groups": []string{"shop"}}, nil)
	var anna *person
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", `/console/\evil.example`, "/console/../admin", "/console/login/provider", "\r\nX: y"} {
		anna = &person{room: r, cookies: map[string]string{}}
		if w := anna.visit(t, next); w.Code != http.StatusOK || w.Header().Get("Refresh") != "0; url=/console/" {
			t.Errorf("%q leads to %q", next, w.Header().Get("Refresh"))
		}
	}
	used := anna.cookies["queue_console"]
	r.Forward(time.Hour)
	if w := anna.get("zones/SHOP"); w.Code != http.StatusSeeOther {
		t.Errorf("after its time: %d", w.Code)
	}
	anna.visit(t, "")
	if anna.cookies["queue_console"] == used {
		t.Error("the second session is the first")
	}
	last := anna.cookies["queue_console"]
	anna.post("logout", nil)
	anna.cookies["queue_console"] = last
	if w := anna.get("zones/SHOP"); w.Code != http.StatusSeeOther {
		t.Errorf("after the log out: %d", w.Code)
	}
	at.LogIn(map[string]any{"sub": "8", "email": "eve@shop.example", "groups": []string{"others"}}, nil)
	eve := &person{room: r, cookies: map[string]string{}}
	w := eve.visit(t, "")
	shows(t, w, "None of your groups may operate this waiting room", "You are logged in as eve@shop.example, with others.", "Ask an admin")
	if w.Code != http.StatusForbidden || eve.cookies["queue_console"] != "" || eve.get("zones/SHOP").Code != http.StatusSeeOther {
		t.Errorf("without a group: %d", w.Code)
	}
	if logs := r.logs.String(); !strings.Contains(logs, "operator's log in failed") {
		t.Errorf("logged: %s", logs)
	}
	without := newRoom(t).enter("Olga")
	for _, path := range []string{"login/provider", "login/callback?code=x&state=y"} {
		if w := without.get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s without a provider: %d", path, w.Code)
		}
	}
}

// TestLogInByProxy: whom the proxy names needs no session, and what a browser sends for another site is refused.
func TestLogInByProxy(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("SHOP")
	proxy := &login.Proxy{UserHeader: "X-User", GroupsHeader: "X-Groups", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Groups: groups}
	r.http = r.server(r.people, nil, proxy)
	anna := &person{room: r, cookies: map[string]string{}}
	named := []string{"X-User", "anna@shop.example", "X-Groups", "shop"}
	if page := anna.get("", named...).Body.String(); !strings.Contains(page, ">anna@shop.example<") || strings.Contains(page, "Log out") {
		t.Errorf("the first page:\n%s", words(page))
	}
	slower := url.Values{"was.perMinute": {"600"}, "perMinute": {"90"}}
	if w := anna.post("zones/SHOP/change", slower, append(named, "Sec-Fetch-Site", "cross-site")...); w.Code != http.StatusForbidden {
		t.Errorf("for another site: %d", w.Code)
	}
	if w := anna.post("zones/SHOP/change", slower, named...); w.Code != http.StatusSeeOther {
		t.Errorf("a change: %d", w.Code)
	}
	if changes, err := r.store.Changes(t.Context(), "SHOP"); err != nil || changes[0].Name != "anna@shop.example" || changes[0].Proof != audit.Proxy {
		t.Errorf("recorded: %+v, %v", changes[0], err)
	}
	shows(t, anna.get("", "X-User", "eve", "X-Groups", "others"), "None of your groups")
	if w := anna.get(""); w.Code != http.StatusSeeOther {
		t.Errorf("without the headers: %d", w.Code)
	}
	proxy.From = nil
	if w := anna.get("", named...); w.Code != http.StatusSeeOther {
		t.Errorf("from elsewhere: %d", w.Code)
	}
}
