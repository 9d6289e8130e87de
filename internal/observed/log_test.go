package observed_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/observed"
)

// TestWhatIsKept: of paths no query and no id is kept, and of programs the name.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	for uri, want := range map[string]string{
		"/": "/", "/healthz?token=s3cret": "/healthz", "/api/v2/cart": "/api/v2/cart", "/orders/4711/notify": "/orders/*/notify",
		"/u/7": "/u/*", "/u/anna@shop.example/x": "/u/*/x", "/p/0b5f9c1e-8d5e-4a55-9f8a-1c2d3e4f5a6b": "/p/*", "/reset/QmFzZTY0VGV4dHdpdGhvdXRu": "/reset/*",
		"/img/IMG_20240101.jpg": "/img/*.jpg", "/saml2/acs": "/saml2/acs", "/a/b/c/d/e/f/g/h/i/j": "/a/b/c/d/e/f/g/h/*", "/x%20y/z": "/*/z",
		"/signin-oidc": "/signin-oidc", "/Shibboleth.sso/SAML2/POST": "/Shibboleth.sso/SAML2/POST", "/" + strings.Repeat("a", 9000): "/*",
		"/wc-api/WC_Gateway_Paypal": "/wc-api/WC_Gateway_Paypal",
	} {
		var l observed.Log
		l.Add("Z", &observed.Request{Method: "GET", Path: uri, Would: observed.Refuse}, time.Now())
		if got := l.List("Z").Kinds[0].Path; got != want {
			t.Errorf("%.60s: %s, want %s", uri, got, want)
		}
	}
	for agent, want := range map[string]string{
		"": "none", "kube-probe/1.34": "kube-probe", "ELB-HealthChecker/2.0": "ELB-HealthChecker", "Blackbox Exporter/0.27": "Blackbox Exporter",
		chrome: "browser", "ShopApp/4.2 (id 550e8400)": "ShopApp", "550e8400-e29b": "none", "\x00\xff": "none", strings.Repeat("a", 9000): strings.Repeat("a", 32),
	} {
		var l observed.Log
		l.Add("Z", &observed.Request{Method: "BREW", Path: "/", UserAgent: agent, Would: observed.Refuse}, time.Now())
		if got := l.List("Z").Kinds[0]; got.Agent != want || got.Method != "OTHER" {
			t.Errorf("%.60s: %+v, want %s", agent, got, want)
		}
	}
}

// TestFewAreKept: a scanner that asks for any number of paths leaves at most a thousand kinds, and displaces nothing that comes again.
func TestFewAreKept(t *testing.T) {
	t.Parallel()
	var l observed.Log
	now := time.Now()
	hook := observed.Request{Method: "POST", Path: "/hook", UserAgent: "Shipping/1", Would: observed.Refuse}
	l.Add("Z", &hook, now)
	l.Add("Z", &hook, now)
	for i := range 5000 {
		path := fmt.Sprintf("/%c%c%c/%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i%7)
		l.Add("Z", &observed.Request{Method: "GET", Path: path, Would: observed.Wait, Agent: observed.Browser}, now)
	}
	got := l.List("Z")
	if len(got.Kinds) != 1000 || got.Kinds[0].Path != "/hook" || got.Kinds[0].Requests != 2 || got.Forgotten == 0 {
		t.Errorf("%d kinds, %d forgotten, first %+v", len(got.Kinds), got.Forgotten, got.Kinds[0])
	}
}

// TestSuggestions: what cannot wait is suggested, and no page is.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	var l observed.Log
	for _, r := range []observed.Request{
		{Method: "GET", Path: "/", Agent: observed.Browser, Would: observed.Wait},
		{Method: "GET", Path: "/sale", Agent: observed.Browser, Would: observed.Wait},
		{Method: "GET", Path: "/", UserAgent: "ELB-HealthChecker/2.0", Would: observed.Refuse},
		{Method: "GET", Path: "/status", UserAgent: "kube-probe/1.34", Would: observed.Refuse},
		{Method: "HEAD", Path: "/status", UserAgent: "Pingdom.com_monitor", Would: observed.Refuse},
		{Method: "GET", Path: "/sale", Would: observed.Refuse},
		{Method: "GET", Path: "/news", Agent: observed.Crawler, Would: observed.Refuse},
		{Method: "POST", Path: "/stripe/webhook", Agent: observed.Crawler, Would: observed.Refuse},
		{Method: "POST", Path: "/saml/acs", Agent: observed.Browser, Would: observed.Lose},
		{Method: "POST", Path: "/", UserAgent: "PayPal IPN", Would: observed.Refuse},
		{Method: "GET", Path: "/api/me", Agent: observed.Page, Would: observed.Refuse},
	} {
		l.Add("SHOP", &r, time.UnixMilli(1))
	}
	list := l.List("SHOP")
	var got []string
	for _, s := range list.Suggestions {
		got = append(got, s.Setting+" "+s.Value)
	}
	want := []string{"bypassAgents ELB-HealthChecker", " ", " ", "bypassPaths /saml/acs", "bypassPaths /status", "bypassPaths /stripe/webhook"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q: %+v", got, want, list.Suggestions)
	}
	const line = `'bypassAgents=ELB-HealthChecker' 'bypassPaths=/assets/*,/status,/saml/acs,/stripe/webhook'`
	if got := list.Line([]string{"/assets/*", "/status"}, nil); got != line {
		t.Errorf("%s\nwant %s", got, line)
	}
}
