package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/page"
)

// TestFetchedInAdvance: a browser that guesses where its visitor goes next takes no place, nor does a crawler, which is told when
// to come again.
func TestFetchedInAdvance(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 10)
	const crawler = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
	for value, name := range map[string]string{
		"prefetch;prerender": "Sec-Purpose", "prefetch": "Purpose", "preview": "X-Purpose", "image": "Sec-Fetch-Dest", crawler: "User-Agent", "WhatsApp/2.23.20.0 A": "User-Agent",
	} {
		b := r.browser()
		b.header.Set(name, value)
		w := b.get("")
		if again := w.Header().Get("Retry-After"); (again != "") != (name == "User-Agent") || w.Header().Get("X-Robots-Tag") != "" {
			t.Errorf("%s: %v", value, w.Header())
		}
		if w.Code != http.StatusServiceUnavailable || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", value, w.Code, w.Result().Cookies())
		} else if caching := w.Header().Get("Cache-Control"); caching != "no-store" { // a CDN would answer visitors with it
			t.Errorf("%s: Cache-Control %q", value, caching)
		}
	}
	fetched := r.browser()
	fetched.header.Set("Sec-Fetch-Dest", "empty")
	fetched.header.Set("Sec-Fetch-Mode", "cors")
	shows(t, fetched.get(""), http.StatusServiceUnavailable)
	if s, err := r.Observe(t.Context(), zoneID, 0); err != nil || s.Totals.Joined != 0 {
		t.Errorf("%d joined, %v", s.Totals.Joined, err)
	}
	fetched.header.Set("Sec-Fetch-Mode", "navigate") // by a service worker, for one who opens the page
	shows(t, fetched.get("?to=/x"), http.StatusSeeOther)
}

// BenchmarkCrawls measures what each request without a session costs at the gate, and each page: of a phone, and of the longest
// User-Agent that the listeners take.
func BenchmarkCrawls(b *testing.B) {
	for name, agent := range map[string]string{
		"phone":   "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		"longest": strings.Repeat("cubot", 6<<10),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page.Crawls(agent) {
					b.Fatal("it is none")
				}
			}
		})
	}
}
