package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestShopsOwn: links, slots and style of a shop are on the page in the visitor's language, also on one without a place. The policy
// names the sources, and what a store has of an attack is not shown.
func TestShopsOwn(t *testing.T) {
	t.Parallel()
	r := newServer(t, 1)
	r.set(func(s *zone.Settings) {
		s.Sites = []string{"https://shop.example"}
		s.PageLinks = zone.Links{{URL: "/imprint", Text: zone.Texts{"default": "Imprint", "de": "Impressum"}}, {URL: "https://help.example/", Text: zone.Texts{"default": "Help"}}}
		s.PageHeader = zone.Texts{"default": `<p class="hero" id="told" onclick="evil()">Hello<script>evil()</script></p>`, "de": `<p>Hallo</p>`}
		s.PageStyle, s.PageSources = `.hero { color: red; position: fixed } #told { opacity: 0 }`, []string{"images.shop.example"}
		s.Message = zone.Texts{"default": "See https://shop.example/news. <b>"}
	})
	r.browser().get("")
	b := r.browser()
	w := b.get("")
	shows(t, w, http.StatusOK, `<div class="slot top" dir="auto"><p class="shop-hero">Hello</p></div>`, `<a href="https://shop.example/imprint" target="_blank" rel="noopener" dir="auto">Imprint</a>`,
		`.slot .shop-hero { color: red }`, `See <a href="https://shop.example/news" target="_blank" rel="noopener">https://shop.example/news</a>. &lt;b&gt;`)
	if body, policy := w.Body.String(), w.Header().Get("Content-Security-Policy"); strings.Contains(body, "evil") || strings.Contains(body, "position: fixed") ||
		strings.Contains(body, "#told { opacity") || !strings.Contains(policy, "img-src data: https://images.shop.example;") {
		t.Errorf("%s\n%s", policy, body)
	}
	r.set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} })
	b.header.Set("Accept-Language", "de")
	shows(t, b.get(""), http.StatusGone, "<p>Hallo</p>", "Impressum</a>", "https://help.example/")
	stored := zone.Settings{PageSources: []string{"x.example; script-src *"}, PageLinks: zone.Links{{URL: "javascript:x()", Text: zone.Texts{"default": "X"}}}}
	if hosts, links := zone.SourcesOf(stored), zone.LinksOf(stored); hosts != nil || links != nil {
		t.Errorf("of what no operator can set: %q %v", hosts, links)
	}
}

// TestNear: the second message is for those near the front, and a warning is marked.
func TestNear(t *testing.T) {
	t.Parallel()
	r := newServer(t, 1)
	r.set(func(s *zone.Settings) {
		s.MessageNear, s.MessageSeverity = zone.Texts{"default": "Have your card ready."}, zone.SeverityWarning
	})
	r.browser().get("")
	shows(t, r.browser().get(""), http.StatusOK, `data-severity="warning"`, `<p id="near" dir="auto">Have your card ready.</p>`)
	r.set(func(s *zone.Settings) { s.PerMinute = 0 })
	shows(t, r.browser().get(""), http.StatusOK, `<p id="near" dir="auto" hidden>`)
}
