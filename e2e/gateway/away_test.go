package gateway

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// soon is when a page of a gateway is loaded again, in seconds: after 5 to 14, drawn for each visitor.
var soon = regexp.MustCompile(`^([5-9]|1[0-4])$`)

// TestAway: while no queue-server runs, each gateway does what was chosen. With hold a visitor sees a page in the visitor's language,
// with the name and the colour of the zone, which needs no script; what was sent is not sent again, and an app gets no page.
func TestAway(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for name, gateway := range gateways {
		for _, away := range []string{"hold", "enter"} {
			t.Run(name+", "+away, func(t *testing.T) {
				t.Parallel()
				shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("the shop: " + r.URL.Path)) }))
				t.Cleanup(shop.Close)
				f := newShopfront(t, nil)
				f.server.Operate(t, http.MethodPut, "/admin/zones/SHOP", `{"pageTitle":"Café Zoë","pageColor":"#0a7d32","message":"The doors open at noon.","pageLinks":[{"url":"https://shop.example/imprint","text":"Imprint"}]}`)
				f.addr = gateway.starts(f.server, t, "SHOP", away, shopAt(name, shop.Listener.Addr().String()), "")
				f.server.Stop(t)
				c := newClient(t, f.addr)
				if away == "enter" {
					if got := c.ask(http.MethodGet, "/cart", "", "Accept", browser); got.Status != http.StatusOK || got.Body != "the shop: /cart" {
						t.Errorf("enter: %+v", got)
					}
				}
				for _, tt := range []struct{ method, path, languages, lang, says string }{
					{http.MethodGet, "/cart", "de-DE,de;q=0.9,en;q=0.8", "de", "Die Seite antwortet gerade nicht"},
					{http.MethodGet, "/cart", "nb-NO,nb;q=0.9,ja;q=0.8", "ja", "このページは自動的に再試行します。"},
					{http.MethodGet, "/cart", "zh-TW,zh;q=0.9,en", "zh-Hant", ""},
					{http.MethodGet, "/cart", "zh-CN", "zh-Hans", ""},
					{http.MethodGet, "/cart", "ar", "ar", `dir="rtl"`},
					{http.MethodGet, "/cart", "deutsch, ../../etc/passwd", "en", "The site does not answer at the moment"},
					{http.MethodPost, "/pay", "", "en", "Nothing was sent. Please go back and send it again."},
					{http.MethodGet, "/wait/SHOP?to=/cart", "fr", "fr", "Votre place est gardée"},
					{http.MethodPost, "/wait/SHOP", "en", "en", "Nothing was sent."},
				} {
					atRoom := strings.HasPrefix(tt.path, "/wait/")
					if away == "enter" && !atRoom {
						continue
					}
					got := c.ask(tt.method, tt.path, "", "Accept", browser, "Accept-Language", tt.languages)
					refresh := got.Header.Get("Refresh")
					if got.Status != http.StatusServiceUnavailable || !soon.MatchString(got.Header.Get("Retry-After")) || got.Header.Get("Cache-Control") != "no-store" ||
						!strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") || soon.MatchString(refresh) != (tt.method == http.MethodGet) {
						t.Errorf("%s %s: %d %v", tt.method, tt.path, got.Status, got.Header)
					}
					for _, want := range []string{`<html lang="` + tt.lang + `"`, tt.says, "Café Zoë", "#0a7d32", ">Imprint</a>", "default-src 'none'; style-src"} {
						if !strings.Contains(strings.ReplaceAll(got.Body, "&#39;", "'"), want) {
							t.Errorf("%s %s in %q has no %q: %.300s", tt.method, tt.path, tt.languages, want, got.Body)
						}
					}
					if strings.Contains(got.Body, "<script") || strings.Contains(got.Body, "at noon") {
						t.Errorf("%s %s: %s", tt.method, tt.path, got.Body)
					}
				}
				if away == "hold" {
					if got := c.ask(http.MethodGet, "/api", "", "Accept", "application/json"); got.Status != http.StatusServiceUnavailable || !soon.MatchString(got.Header.Get("Retry-After")) || strings.Contains(got.Body, "<") {
						t.Errorf("an app: %+v", got)
					}
				}
			})
		}
	}
}
