package zone_test

import (
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWhatCanNeverMatchIsRefused: each pattern of the gate, with a word of the reason; "" for one that is taken.
func TestWhatCanNeverMatchIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set   func(*zone.Settings, string)
		texts map[string]string
	}{
		"bypassPaths": {func(s *zone.Settings, text string) { s.BypassPaths = []string{"/ok", text} }, map[string]string{
			"/assets/*": "", "*.css": "", "/": "", "*": "", "/?wc-api=*": "", "/index.php?a=1&b[]=*": "", "/a/.b": "", "/café/*": "", "/a b": "", "/?ping": "",
			"/?next=//x": "", "/?a=b?c": "", "/?wc-api=*&*": "", "/?*&*": "parameters", "/?a=1&*&*": "parameters", "/?*&a=1": "parameters",
			"healthz": "begins with /", "https://shop.example/x": "begins with /", " /a": "begins with /", "?wc-api=*": "begins with /",
			"/caf%C3%A9": "decoded", "/?wc%2Dapi=*": "decoded", "/a//b": "always queues", "/a/../b": "always queues", "/a/./b": "always queues", "/a/.": "always queues",
			"/a..b": "always queues", `/a\b`: "always queues", "/a#b": "always queues", "/a;b": "always queues",
			"/a?": "parameters", "/?*": "parameters", "/?*wc-api=*": "parameters", "/?a=1&": "parameters", "/?=1": "parameters", "/?a;b=1": "neither", "/?a=1#b": "neither",
			"/?a=1&a=2": "twice",
		}},
		"bypassAgents": {func(s *zone.Settings, text string) { s.BypassAgents = []string{text} }, map[string]string{"Googlebot": "", "*bot*": "without *"}},
		"bypassNetworks": {func(s *zone.Settings, text string) { s.BypassNetworks = []string{text} }, map[string]string{
			"192.0.2.0/24": "", "192.0.2.7": "", "2001:db8::/32": "", "2001:db8::7": "", "127.0.0.1": "",
			"192.0.2.7/24": "write 192.0.2.0/24", "0.0.0.0/0": "everybody", "::/0": "everybody", "shop.example": "must be a network", "192.0.2": "must be a network",
			"192.0.2.0/33": "must be a network", "192.0.2.*": "must be a network", "::ffff:192.0.2.0/120": "IPv4", "fe80::1%eth0": "must be a network",
		}},
		"corsOrigins": {func(s *zone.Settings, text string) { s.CORSOrigins = []string{text} }, map[string]string{
			"https://www.shop.example": "", "http://localhost:3000": "", "capacitor://localhost": "", "https://[2001:db8::1]:8443": "",
			"*": "must be an origin", "https://*.shop.example": "must be an origin", "https://shop.example/": "must be an origin", "www.shop.example": "must be an origin",
			"https://Shop.example": "must be an origin", "null": "must be an origin", "https://shop.example:443": "usual port", "http://shop.example:80": "usual port",
		}},
	} {
		for text, want := range tt.texts {
			s := zone.Defaults("Z")
			tt.set(&s, text)
			err := s.Validate()
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s %q: %v, want %q", name, text, err, want)
			}
		}
	}
}
