package site_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestObserve: a gate that only observes lets everybody go on, also in a pause and with questions that it cannot read, and keeps what would
// wait or be refused. What has a session, or is bypassed, is not kept. The cases hold who goes on.
func TestObserve(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) { s.SiteGate, s.BypassPaths = zone.GateObserve, []string{"/healthz"} })
	own := []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}
	foreign := []string{"Accept", "text/html", "Origin", "https://idp.example"}
	for _, tt := range []struct {
		method, uri string
		header      []string
	}{
		{"GET", "/sale?id=7", opens}, {"GET", "/", []string{"User-Agent", "kube-probe/1.34"}}, {"POST", "/saml/acs", foreign},
		{"POST", "/signin-oidc", with(opens, "Sec-Fetch-Site", "cross-site", "Origin", "null")}, {"GET", "/api/me", own},
		{"GET", "/healthz", nil}, {"GET", "/api/me", []string{"Cookie", "__Host-waitingroom-SHOP=" + r.session(zoneID, 1<<40)}},
		{"GET", "/next", with(opens, "Sec-Purpose", "prefetch")}, {"GET", "/favicon.ico", nil},
		{"GET", "/twice", []string{"X-Original-Uri", "/a", "X-Forwarded-Uri", "/b"}},
	} {
		for _, gateway := range gatewayNames {
			if w := r.askAt(r.bare, gateway, tt.method, tt.uri, tt.header...); w.Code != 200 || w.Header().Get("Location") != "" {
				t.Errorf("%s: %s %s: %d %v", gateway, tt.method, tt.uri, w.Code, w.Header())
			}
		}
	}
	var got []string
	for _, k := range r.observed.List(zoneID).Kinds {
		got = append(got, fmt.Sprint(k.Requests, " ", k.Method, " ", k.Path, " ", k.Agent, " ", k.Would))
	}
	for _, want := range []string{
		"4 GET /sale browser wait", "4 GET / kube-probe refuse", "4 POST /saml/acs browser lose", "4 POST /signin-oidc browser lose", "4 GET /api/me page refuse",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return s[0] == '8' }) || len(got) > 7 {
		t.Errorf("more is kept: %q", got)
	}
}
