package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesOfOtherSites: a page of a site that is allowed may join, and read
// what it is told, refusals included; a page of another may not.
func TestPagesOfOtherSites(t *testing.T) {
	const shop, evil = "https://shop.example", "https://evil.example"
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot), "QUEUE_ALLOWED_ORIGINS": shop})
	for site, allowed := range map[string]string{shop: shop, evil: ""} {
		for _, tt := range []struct {
			method, path, body string
			status             int
		}{
			{http.MethodPost, "/traffic/wait", `{"zoneId":"TEST_ZONE"}`, 200},
			{http.MethodPost, "/traffic/wait", `{"zoneId":"NONE"}`, 404},
			{http.MethodPost, "/traffic/entry", `{`, 400},
			{http.MethodPost, "/traffic/leave", `{`, 400},
			{http.MethodGet, "/traffic/zones/TEST_ZONE", "", 200},
			{http.MethodGet, "/nowhere", "", 404},
			{http.MethodGet, "/openapi.yaml", "", 200},
			{http.MethodOptions, "/traffic/wait", "", 204},
		} {
			got := request(t, tt.method, s.public+tt.path, tt.body, "Origin", site, "Content-Type", "application/json",
				"Access-Control-Request-Method", http.MethodPost, "Access-Control-Request-Headers", "content-type")
			if tt.method == http.MethodPost && allowed == "" {
				tt.status = http.StatusForbidden
			}
			if got.status != tt.status || got.header.Get("Access-Control-Allow-Origin") != allowed ||
				!strings.HasPrefix(got.header.Get("Vary"), "Origin") {
				t.Errorf("%s %s for %s: %d %v", tt.method, tt.path, site, got.status, got.header)
			}
			if asked := tt.method == http.MethodOptions && allowed != ""; (got.header.Get("Access-Control-Allow-Methods") != "") != asked {
				t.Errorf("preflight for %s: %v", site, got.header)
			}
		}
	}
	if got := request(t, http.MethodGet, s.operators+"/openapi.yaml", "", "Origin", shop); got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the operators' listener allows %s", shop)
	}
}

// TestNoSiteHasItsReadersJoin: by default a browser's join for a page of another site is
// refused and takes no place, in whatever way it is sent; those of this site's pages and
// of apps are answered. Nor is there anything that allows other sites, not even a Vary.
func TestNoSiteHasItsReadersJoin(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, "zones:\n  - {zoneId: TEST_ZONE, perMinute: 0}\n")})
	const text, form = "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"
	places := 0
	for _, tt := range []struct {
		who    string
		status int
		header []string
	}{
		{"a page elsewhere", 403, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Content-Type", text}},
		{"a form elsewhere", 403, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Content-Type", form}},
		{"a frame without an origin", 403, []string{"Sec-Fetch-Site", "cross-site", "Origin", "null", "Content-Type", text}},
		{"a page of a neighbour", 403, []string{"Sec-Fetch-Site", "same-site", "Origin", "https://blog.example", "Content-Type", text}},
		{"an old browser's page elsewhere", 403, []string{"Origin", "https://evil.example", "Content-Type", text}},
		{"an old browser's frame", 403, []string{"Origin", "null", "Content-Type", text}},
		{"a page of this site", 200, []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://shop.example"}},
		{"an old browser's page of this site", 200, []string{"Origin", s.public}},
		{"an app", 200, nil},
	} {
		got := request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"TEST_ZONE"}`, tt.header...)
		if got.status != tt.status || got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Vary") != "" {
			t.Errorf("%s: %d %v", tt.who, got.status, got.header)
		}
		if got.status == http.StatusOK {
			places++
		} else if got.value(t, "code") != "cross_origin" {
			t.Errorf("%s: %s", tt.who, got.body)
		}
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/TEST_ZONE/stats", ""); got.value(t, "waiting") != float64(places) {
		t.Errorf("%d were answered; %s", places, got.body)
	}
	if got := request(t, http.MethodGet, s.public+"/traffic/zones/TEST_ZONE", "", "Sec-Fetch-Site", "cross-site"); got.status != http.StatusOK {
		t.Errorf("a page elsewhere may look: %+v", got)
	}
}
