package main

import (
	"net/http"
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
			{http.MethodGet, "/traffic/zones/TEST_ZONE", "", 200},
			{http.MethodGet, "/nowhere", "", 404},
			{http.MethodGet, "/openapi.json", "", 200},
			{http.MethodOptions, "/traffic/wait", "", 204},
		} {
			got := request(t, tt.method, s.public+tt.path, tt.body, "Origin", site, "Content-Type", "application/json",
				"Access-Control-Request-Method", http.MethodPost, "Access-Control-Request-Headers", "content-type")
			if got.status != tt.status || got.header.Get("Access-Control-Allow-Origin") != allowed ||
				got.header.Get("Vary") != "Origin" {
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

// Off by default: not even a Vary.
func TestPagesOfOtherSitesAreNotAllowedByDefault(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot)})
	got := request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"TEST_ZONE"}`, "Origin", "https://shop.example")
	if got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Vary") != "" {
		t.Errorf("got %d %v", got.status, got.header)
	}
}
