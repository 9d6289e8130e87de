package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// attackHTML would run, fetch, hide or stand for something of the page. EVIL is an address that must never be fetched.
const attackHTML = `<script>pwned = 1</script><script src="EVIL/s.js"></script><img src=x onerror="pwned=2"><img src="EVIL/i.png"><img srcset="EVIL/i2.png 1x" src="data:image/png;base64,AA==">
<a href="javascript:pwned=3" class="bait" onclick="pwned=4" onfocus="pwned=5" autofocus tabindex=1>link</a><svg onload="pwned=6"><script>pwned=7</script><image href="EVIL/svg.png"/><style>main{opacity:0}</style></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=pwned=8&gt;"></table></mtext></math><base href="EVIL/"><meta http-equiv="refresh" content="0;url=EVIL/gone">
<link rel="stylesheet" href="EVIL/l.css"><iframe src="EVIL/f" srcdoc="<script>parent.pwned=9</script>"></iframe><object data="EVIL/o"></object><embed src="EVIL/e"><video src="EVIL/v" autoplay></video>
<form action="EVIL/form" id="options"><input name="leave" autofocus onfocus="pwned=10"><button formaction="EVIL/b">go</button></form><style>#told, main { display: none }</style>
<p id="heading" name="told">no heading</p><p id="place">1</p><p id="message" style="position:fixed;inset:0;z-index:9;background:red">over all</p><p class="cover">cover</p><noscript><img src="EVIL/n.png"></noscript>
<template><img src="EVIL/t.png" onerror="pwned=11"></template>{{.Nonce}} ${pwned=12} {{template "told" .}}</div></main></body></html><p class="cover">after</p>`

// attackCSS would hide the message, lie above it, or fetch something.
const attackCSS = `@import "EVIL/a.css"; @import url(EVIL/b.css); @font-face { font-family: f; src: url(EVIL/f.woff) }
#message, #told, main, body, .slot, * { opacity: 0; visibility: hidden; display: none } p { width: expression(pwned=20); behavior: url(EVIL/x.htc); -moz-binding: url(EVIL/x.xml) }
.cover { position: fixed; inset: 0; z-index: 9999; background: #000; box-shadow: 0 0 0 9999px #000; outline: 9999px solid #000; transform: scale(99) translate(0, -900px); margin: -9999px; width: 99999px; height: 99999px }
.cover { background: url(EVIL/c.png) } .cover::before { content: url("EVIL/d.png"); position: absolute } p { cursor: url(EVIL/cur), auto; list-style: url(EVIL/li) }
~ main { opacity: 0 } p ~ main { opacity: 0 } :is(main, p):has(h1) { opacity: 0 } :root { opacity: 0; --ink: #ffffff; --card: #ffffff; --background: url(EVIL/bg); --radius: 99rem; --font: "x"; } body { display: none } }
main { opacity: 0 } @media all { } } main { opacity: 0 } </style><script>pwned=21</script><style> .x { color: red } } main { opacity: 0 }
@layer a { main { opacity: 0 } } @keyframes k { to { opacity: 0 } } @page { size: 1px } p { & main, main & { opacity: 0 } } .y { --card: red; color: r\65 d; animation: k 1s forwards }`

// inSight is how many of these elements cannot be read: not there or twice there, with another colour of text than its ground, transparent, or
// with something else at the places where their text is.
const inSight = `(selectors) => selectors.filter((selector) => {
	const all = document.querySelectorAll(selector);
	if (all.length !== 1) return true;
	const el = all[0];
	el.scrollIntoView({ block: 'center' });
	for (let up = el; up; up = up.parentElement) {
		const s = getComputedStyle(up);
		if (Number(s.opacity) < 1 || s.visibility !== 'visible' || s.display === 'none' || s.filter !== 'none') return true;
	}
	if (getComputedStyle(el).color === getComputedStyle(document.querySelector('main')).backgroundColor) return true;
	const range = document.createRange();
	range.selectNodeContents(el);
	return [...range.getClientRects()].some(({ left, right, top, bottom }) => [[left + 1, top + 3], [right - 1, bottom - 3], [(left + right) / 2, (top + bottom) / 2]]
		.some(([x, y]) => !el.contains(document.elementFromPoint(x, y))));
}).join()`

// TestAttacks: what somebody who may set a zone's page writes into it runs nothing, hides nothing and fetches nothing: on the waiting page, whose settings went
// through the server, and on the pages of a gateway, made here of settings that nobody has cleaned.
func TestAttacks(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		t.Errorf("fetched: %s", r.URL)
	}))
	t.Cleanup(evil.Close)
	bad := strings.NewReplacer("EVIL", evil.URL, "\n", " ")
	s := zone.Defaults("BAD")
	s.PerMinute = 0
	s.PageTitle, s.Message = "</title><script>pwned=30</script>${pwned=31}", setting.TextsOf("See https://shop.example/a?b=1\"onclick=pwned=32 <img src=x onerror=pwned=33> {{.Nonce}} ${pwned=34}")
	s.PageHeader, s.PageAside = setting.TextsOf(bad.Replace(attackHTML)), setting.TextsOf(strings.Repeat("<div>", 8<<10/len("<div>"))+"deep")
	s.PageFooter = setting.TextsOf(`<p class="cover">cover</p><p class="x">x</p>`)
	s.PageStyle = bad.Replace(attackCSS)
	s.PageLinks = zone.Links{{URL: "https://shop.example/imprint", Text: setting.TextsOf("<b onclick=pwned=35>Imprint</b>")}}

	b := openBrowser(t)
	calm := func(what string, selectors ...string) {
		t.Helper()
		for _, width := range []int64{390, 1280} {
			b.look(t, width, "light")
			named, err := json.Marshal(selectors)
			must(t, err)
			if hidden := value[string](t, b, fmt.Sprintf("(%s)(%s)", inSight, named)); hidden != "" {
				t.Errorf("%s, %d wide: hidden: %s", what, width, hidden)
			}
		}
		b.do(t, "click the bait", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(".slot a, .slot p").forEach((el) => { el.click(); el.focus(); })`))
		if got := value[string](t, b, `typeof pwned + " " + document.querySelectorAll("[id]").length + " " + new Set([...document.querySelectorAll("[id]")].map((el) => el.id)).size`); !strings.HasPrefix(got, "undefined ") ||
			strings.Fields(got)[1] != strings.Fields(got)[2] {
			t.Errorf("%s: something ran, or an ID is there twice: %s", what, got)
		}
		if complaints := b.errors(); len(complaints) > 0 { // also of the policy
			t.Errorf("%s: the browser complains: %q", what, complaints)
		}
	}

	front := openShopFrontWith(t, "zones:\n  - {zoneId: BAD, perMinute: 0}\n")
	change := map[string]any{"pageTitle": s.PageTitle, "message": s.Message, "pageHeader": s.PageHeader, "pageAside": s.PageAside, "pageFooter": s.PageFooter, "pageStyle": s.PageStyle, "pageLinks": s.PageLinks}
	body, err := json.Marshal(change)
	must(t, err)
	front.Operate(t, http.MethodPatch, "/admin/zones/BAD", string(body))
	for _, source := range []string{`x.example; script-src *`, `*`, `https://x.example`, `x.example/a`, "x.example\n"} {
		body, err := json.Marshal(map[string]any{"pageSources": []string{source}})
		must(t, err)
		if got := front.Admin(t, http.MethodPatch, "/admin/zones/BAD", string(body)); got.Status != http.StatusBadRequest {
			t.Errorf("the source %q: %d", source, got.Status)
		}
	}
	b.start(t, front.url+"/wait/BAD")
	b.until(t, "a place", `document.getElementById("place")?.textContent === "1"`)
	calm("the page", "h1", "#place", "#notice", "#reference", "main nav a", "#leave")
	front.Operate(t, http.MethodPatch, "/admin/zones/BAD", `{"message":"It goes on."}`)
	b.until(t, "a poll", `document.getElementById("notice").textContent === "It goes on."`)
	if got := b.text(t, "main nav a"); got != "<b onclick=pwned=35>Imprint</b>" {
		t.Errorf("the link says %q", got)
	}
	calm("the page after a poll", "h1", "#place", "#notice", "main nav a", "#leave")

	// Of a store, where nobody has cleaned it.
	s.PageSources = []string{"x.example; script-src * 'unsafe-inline'"}
	pages, err := page.Export(s)
	must(t, err)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(pages[strings.TrimPrefix(r.URL.Path, "/")])
	}))
	t.Cleanup(gateway.Close)
	for _, state := range []string{"busy", "away", "room", "unsent"} {
		b.do(t, state, chromedp.Navigate(gateway.URL+"/"+state+"-de.html"))
		calm(state, "h1", "#text", "main nav a")
	}
	if fetched.Load() > 0 {
		t.Errorf("%d addresses were fetched", fetched.Load())
	}
}
