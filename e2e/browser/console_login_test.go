package browser

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/openqueue/waitingroom/e2e/room"
)

// openProvider starts zitadel/oidc's server, whose users log in by a form. It is another site than the console: localhost, not 127.0.0.1.
func openProvider(t *testing.T, client, secret, back string) (issuer string) {
	t.Helper()
	p := httptest.NewUnstartedServer(nil)
	_, port, err := net.SplitHostPort(p.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	issuer = "http://localhost:" + port
	storage.RegisterClients(storage.WebClient(client, secret, back))
	p.Config.Handler = exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), nil, false)
	p.Start()
	t.Cleanup(p.Close)
	return issuer
}

// TestLogInByAProvider: a real provider, another site, and a real browser. Who is in the group gets in, on every server; without the
// provider they stay, and a revoked session ends.
func TestLogInByAProvider(t *testing.T) {
	t.Parallel()
	const client, secret, subject = "waiting-room", "the secret of the client", "id1"
	s, second := room.New(t, nil), room.New(t, nil)
	issuer := openProvider(t, client, secret, s.Operators+"/console/login/callback")
	file := filepath.Join(t.TempDir(), "queue.yaml")
	config := func(group string) {
		text := "zones: [{zoneId: SHOP, perMinute: 600}]\ngroups: [{group: " + group + ", role: operator, zones: [SHOP]}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"QUEUE_CONFIG": file, "QUEUE_ADMIN_URL": s.Operators, "QUEUE_OIDC_ISSUER": issuer, "QUEUE_OIDC_CLIENT_ID": client, "QUEUE_OIDC_CLIENT_SECRET": secret,
		"QUEUE_OIDC_SCOPES": "openid,email,custom_scope", "QUEUE_OIDC_ROLES_CLAIM": "custom_claim.other",
	}
	s.Set(env)
	second.Set(env)
	config("others")
	s.Start(t)
	b := openBrowser(t)
	logIn := func(waitFor string) {
		t.Helper()
		b.start(t, s.Operators+"/console/zones/SHOP?tab=record")
		b.until(t, "the log in", `location.pathname === "/console/login"`)
		b.do(t, "go to the provider", chromedp.Click(css(`a[href^="/console/login/provider"]`)), chromedp.WaitVisible(css("#password")))
		b.do(t, "log in", chromedp.SendKeys(css("#username"), "test-user@localhost"), chromedp.SendKeys(css("#password"), "verysecure"),
			chromedp.Click(css("button")))
		b.until(t, "back at the console", waitFor)
	}
	logIn(`document.querySelector("h1")?.textContent === "None of your groups may operate this waiting room"`)
	b.check(t, "no group")
	s.Stop(t)
	config("stuff")
	s.Start(t)
	second.Start(t)
	b.start(t, s.Operators+"/console/login")
	b.check(t, "log in")
	logIn(`location.pathname + location.search === "/console/zones/SHOP?tab=record" && document.querySelector(".who .name")?.textContent === "test-user@zitadel.ch"`)
	b.start(t, second.Operators+"/console/zones/SHOP")
	b.until(t, "the same session on another server", `location.pathname === "/console/zones/SHOP"`)
	b.start(t, s.Operators+"/console/zones/SHOP")
	if got := s.Admin(t, http.MethodDelete, "/admin/sessions/"+subject, ""); got.Status != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", got.Status, got.Body)
	}
	b.start(t, s.Operators+"/console/zones/SHOP")
	b.until(t, "the session is over", `location.pathname === "/console/login"`)
}
