package page

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	sites := []string{"https://shop.example", "http://localhost:3000"}
	for _, tt := range []struct{ to, want, alone string }{
		{"", "https://shop.example/", "/"},
		{"/", "https://shop.example/", "/"},
		{"/cart?item=7&n=2#top", "https://shop.example/cart?item=7&n=2#top", "/cart?item=7&n=2#top"},
		{"https://shop.example/cart", "https://shop.example/cart", "/"},
		{"HTTPS://SHOP.example/cart", "HTTPS://SHOP.example/cart", "/"},
		{"http://localhost:3000/x", "http://localhost:3000/x", "/"},
		{"http://shop.example/", "https://shop.example/", "/"},
		{"https://shop.example.evil.example/", "https://shop.example/", "/"},
		{"https://shop.example:444/", "https://shop.example/", "/"},
		{"https://shop.example@evil.example/", "https://shop.example/", "/"},
		{"https://evil.example/?https://shop.example", "https://shop.example/", "/"},
		{"//evil.example/", "https://shop.example/", "/"},
		{"/%2fevil.example/é", "https://shop.example/%2fevil.example/%C3%A9", "/%2fevil.example/%C3%A9"},
		{"/%2fevil.example/e", "https://shop.example/%2fevil.example/e", "/%2fevil.example/e"},
		{`/\evil.example`, "https://shop.example/", "/"},
		{`\\evil.example`, "https://shop.example/", "/"},
		{"/\t/evil.example", "https://shop.example/", "/"},
		{" //evil.example", "https://shop.example/", "/"},
		{"javascript:alert(1)", "https://shop.example/", "/"},
		{"data:text/html,x", "https://shop.example/", "/"},
		{"cart", "https://shop.example/", "/"},
		{"https:/evil.example", "https://shop.example/", "/"},
		{"https:evil.example", "https://shop.example/", "/"},
		{"%", "https://shop.example/", "/"},
		{"/50%-off", "https://shop.example/50%-off", "/50%-off"},
		{"/s/AC%2FDC|live?q=a|b&c=%7E", "https://shop.example/s/AC%2FDC|live?q=a|b&c=%7E", "/s/AC%2FDC|live?q=a|b&c=%7E"},
		{"https://shop.example", "https://shop.example", "/"},
		{"https://shop.example?q=50%", "https://shop.example?q=50%", "/"},
	} {
		if got := target(tt.to, sites); got != tt.want {
			t.Errorf("target(%q) = %q, want %q", tt.to, got, tt.want)
		}
		if got := target(tt.to, nil); got != tt.alone {
			t.Errorf("target(%q) without sites = %q, want %q", tt.to, got, tt.alone)
		}
	}
}

// TestTargetLeadsNowhereElse: whatever is asked for, the browser ends at a site of the
// zone, or at the page's own origin.
func TestTargetLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	const site = "https://shop.example"
	own, err := url.Parse("https://queue.example/wait/SALE")
	if err != nil {
		t.Fatal(err)
	}
	parts := rapid.SliceOf(rapid.SampledFrom([]string{
		"/", "//", `\`, "https:", "http:", "shop.example", "evil.example", "@", ":", "443", "?", "#", "%2f", "%5c", "\t", " ", ".", "..", "a", "é", "javascript:",
	}))
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.SampledFrom([]string{"", "/", "/%2f", "https://shop.example"}).Draw(t, "begins with")
		for _, p := range parts.Draw(t, "to") {
			to += p
		}
		for _, sites := range [][]string{nil, {site}} {
			got := target(to, sites)
			there, err := own.Parse(strings.ReplaceAll(got, "%", "%25")) // a browser takes a % alone as one
			if err != nil {
				t.Fatalf("%q leads to %q: %v", to, got, err)
			}
			if host := there.Scheme + "://" + there.Host; host != site && host != "https://queue.example" {
				t.Fatalf("%q leads to %q", to, got)
			}
			if len(sites) == 0 && there.Host == "shop.example" {
				t.Fatalf("%q leads to a site that the zone does not have", to)
			}
		}
	})
}

func TestWithPass(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/":                            "/?waiting_room_pass=a.b",
		"https://s.example/x?y=%20z+":  "https://s.example/x?y=%20z+&waiting_room_pass=a.b",
		"https://s.example/?q=1#there": "https://s.example/?q=1&waiting_room_pass=a.b#there",
		"/50%-off":                     "/50%-off?waiting_room_pass=a.b",
	} {
		if got := WithPass(target, "a.b"); got != want {
			t.Errorf("WithPass(%q) = %q, want %q", target, got, want)
		}
	}
}
