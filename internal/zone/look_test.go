package zone_test

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// dataURL is a data: URL of these bytes.
func dataURL(kind, image string) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(image))
}

const (
	png  = "\x89PNG\r\n\x1a\n"
	webp = "RIFF\x00\x00\x00\x00WEBPVP8 "
)

func TestLook(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault  string // "" for settings that may be
		change func(*zone.Settings)
	}{
		{"", func(s *zone.Settings) {
			s.Sites = []string{"https://shop.example", "http://localhost:3000", "https://[::1]:8443"}
			s.CookieDomain = "shop.co.uk"
		}},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"https://shop.example/"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"https://Shop.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"https://a@shop.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"shop.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"javascript://shop.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"https://shop.example\\.evil.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = []string{"https://*.example"} }},
		{"sites", func(s *zone.Settings) { s.Sites = make([]string, zone.MaxSites+1) }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "example" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "co.uk" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "github.io" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = ".shop.example" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "Shop.example" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "192.0.2.1" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "shop.example; Path=/x" }},
		{"cookieDomain", func(s *zone.Settings) { s.CookieDomain = "localhost" }},
		{"", func(s *zone.Settings) { s.PageColor = "#0fA0b0" }},
		{"pageColor", func(s *zone.Settings) { s.PageColor = "red" }},
		{"pageColor", func(s *zone.Settings) { s.PageColor = "#fff}*{" }},
		{"pageColor", func(s *zone.Settings) { s.PageColor = "#fff; } body { display: none" }},
		{"", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", png) }},
		{"", func(s *zone.Settings) { s.PageLogo = dataURL("image/jpeg", "\xff\xd8\xff") }},
		{"", func(s *zone.Settings) { s.PageLogo = dataURL("image/webp", webp) }},
		{"", func(s *zone.Settings) { s.PageLogo = dataURL("image/svg+xml", "<svg/>") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", "<svg/>") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/svg+xml", "<html>") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/gif", "GIF89a") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("text/html", "<svg onload=alert(1)>") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = "data:image/svg+xml,<svg/>" }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = "https://evil.example/logo.png" }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", png) + "\n" }}, // which base64 skips
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", "") }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", png) + "\" onerror=\"alert(1)" }},
		{"pageLogo", func(s *zone.Settings) { s.PageLogo = dataURL("image/png", png+strings.Repeat("x", zone.MaxLogoLength)) }},
		{"", func(s *zone.Settings) {
			s.PageTitle, s.Message = "<script>", setting.TextsOf("</p><script>alert(1)</script>")
		}}, // text, and shown as such
		{"message", func(s *zone.Settings) { s.Message = setting.TextsOf("one\ntwo") }},
		{"message", func(s *zone.Settings) { s.Message = setting.TextsOf("turned \u202e round") }},
	} {
		s := zone.Defaults("Z")
		tt.change(&s)
		err := s.Validate()
		if (err == nil) != (tt.fault == "") || err != nil && !strings.HasPrefix(err.Error(), "zone: invalid settings: "+tt.fault) {
			t.Errorf("%+v: %v, want a fault of %q", s, err, tt.fault)
		}
		if tt.fault == "pageLogo" && len(s.PageLogo) <= zone.MaxLogoLength && zone.LogoOf(s) != "" || tt.fault == "pageColor" && zone.ColorOf(s) != "" {
			t.Errorf("%+v: shown all the same", s)
		}
	}
}

// TestContrast: by WCAG's own examples.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b, text string
		want       float64
	}{
		{"#000000", "#ffffff", "#ffffff", 21}, {"#ffffff", "#ffffff", "#000000", 1}, {"#777777", "#ffffff", "#000000", 4.48},
		{"#1d4ed8", "#ffffff", "#ffffff", 6.70}, {"#ffdd00", "#ffffff", "#000000", 1.35},
	} {
		if got := zone.Contrast(tt.a, tt.b); math.Abs(got-tt.want) > 0.01 || zone.Contrast(tt.b, tt.a) != got || zone.TextOn(tt.a) != tt.text {
			t.Errorf("%s on %s: %.2f, want %.2f; text %s", tt.a, tt.b, got, tt.want, zone.TextOn(tt.a))
		}
	}
}

func TestNotice(t *testing.T) {
	t.Parallel()
	seen := map[int64]zone.Texts{0: nil}
	for _, m := range []zone.Texts{{"default": "a"}, {"default": "b"}, {"default": "a", "de": "b"}, {"default": "a", "fr": "b"}, {"default": "a", "de": "c"}} {
		s := zone.Settings{Message: m}
		n := s.Notice()
		if was, known := seen[n]; known || n < 1 || n > 1<<32 {
			t.Errorf("%v: %d, as %v", m, n, was)
		}
		seen[n] = m
	}
	if none := (&zone.Settings{Message: zone.Texts{}}).Notice(); none != 0 {
		t.Errorf("none: %d", none)
	}
}
