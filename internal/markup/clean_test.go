package markup_test

import (
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"

	"github.com/openqueue/waitingroom/internal/markup"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// attacks is HTML that would run, hide, or fetch something, or stand for an element of the page.
var attacks = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<a href="javascript:alert(1)">x</a>`, `<a href="java&#10;script:alert(1)">x</a>`,
	`<svg onload=alert(1)><script>1</script></svg>`, `<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>`,
	`<p id="told" name="heading">x</p>`, `<p style="position:fixed;inset:0">x</p>`, `<form action=/wait/S><input name=leave><button>x</button></form>`,
	`<iframe src="https://evil.example"></iframe>`, `<object data=x></object><embed src=x>`, `<base href="https://evil.example/">`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`, `<link rel=stylesheet href=//evil.example>`, `<style>#message{opacity:0}</style>`,
	`<img src="https://evil.example/x.png">`, `<img src="//evil.example/x.png">`, `<img srcset="https://evil.example/x 1x" src="data:image/png;base64,AA==">`,
	`<a href="data:text/html,<script>1</script>">x</a>`, `<img src="data:image/svg+xml;base64,PHN2Zz4=">`, `<img src="https://images.shop.example@evil.example/x">`,
	`</div></main></body><p>outside`, `<div><div><div>`, `<template><p>x</p></template>`, `<noscript><p title="</noscript><img src=x onerror=1>">`,
	`<p title="a" onmouseover=alert(1)`, `<!--><img src=x onerror=1>-->`, `<textarea></textarea><select><option>`, `<a target=_top rel=opener href="/x">x</a>`,
}

// TestAttacksOfHTML: nothing runs, nothing is fetched from elsewhere, nothing has the name of an element of the page, and all is closed.
func TestAttacksOfHTML(t *testing.T) {
	t.Parallel()
	sources := []string{"images.shop.example"}
	for _, text := range append(attacks, strings.Join(attacks, ""), strings.Repeat("<div>", 32<<10/5)) {
		shown := markup.HTML(text, sources)
		for _, bad := range []string{
			"<script", "<style", "<iframe", "<form", "<input", "<button", "<svg", "<math", "<object", "<embed", "<base", "<meta", "<link", "<template",
			"<textarea", "<select", " on", " id=", " name=", " style=", " srcset=", "evil.example", "javascript", "_top", "opener\" rel", "svg+xml", "text/html",
		} {
			if strings.Contains(strings.ToLower(shown), bad) {
				t.Errorf("%.60q is shown as %.200q, with %q", text, shown, bad)
			}
		}
		if open, closed := strings.Count(shown, "<div"), strings.Count(shown, "</div>"); open != closed {
			t.Errorf("%.60q: %d opened, %d closed", text, open, closed)
		}
	}
	const good = `<div class="hero big"><img src="https://images.shop.example/a.png" alt="A"><a href="/imprint">x</a> <a href="https://shop.example/">y</a></div>`
	if shown := markup.HTML(good, sources); !strings.Contains(shown, `class="shop-hero shop-big"`) || !strings.Contains(shown, `images.shop.example/a.png`) ||
		strings.Count(shown, `target="_blank" rel="noopener"`) != 2 {
		t.Errorf("what may be is shown as %s", shown)
	}
}

// TestAttacksOfCSS: a stylesheet selects nothing outside of the slots, fetches nothing from elsewhere, and hides no text.
func TestAttacksOfCSS(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`@import "https://evil.example/x.css";`, `@import url(//evil.example);`, `@font-face { font-family: x; src: url(https://evil.example/f) }`,
		`p { background: url(https://evil.example/x) }`, `p { background: url("https://evil.example/x") }`, `p { background: image-set("https://evil.example/x" 1x) }`,
		`p { width: expression(alert(1)) }`, `p { behavior: url(x.htc) }`, `p { position: fixed; inset: 0 }`, `p { position: absolute }`, `p { POSITION: STICKY }`,
		`#message { opacity: 0 }`, `> #told { display: none }`, `+ main { display: none }`, `~ main { opacity: 0 }`, `:root { opacity: 0 }`, `:host { opacity: 0 }`,
		`:root { --ink: transparent }`, `:root { --ink: #ffffff }`, `:root { --card: #16191f }`, `:root { --background: url(https://evil.example/x) }`,
		`:root { --font: x; } </style><script>alert(1)</script>`, `p { content: "</style><script>alert(1)</script>" }`, `p { color: \72 ed; background: u\72l(https://evil.example) }`,
		`@media print { @import "https://evil.example"; }`, `p { & main { opacity: 0 } }`, `p { color: red } } main { opacity: 0 }`, `@media x { } } main { opacity: 0 }`,
		`p:has(main) { color: red }`, `p { view-transition-name: x }`, `p/**/+/**/main{opacity:0}`, `@supports (x: y) { main { opacity: 0 } }`, strings.Repeat("a{", 16<<10),
	} {
		shown := markup.CSS(text, nil)
		for _, bad := range []string{"evil", "@import", "@font-face", "expression", "behavior", "fixed", "absolute", "sticky", "<", `\`, "#message", "#told", "--ink", "--card", "transition"} {
			if strings.Contains(strings.ToLower(shown), bad) {
				t.Errorf("%.60q is shown as %.200q, with %q", text, shown, bad)
			}
		}
		for rule := range strings.SplitSeq(shown, "}") {
			selector, _, is := strings.Cut(rule, "{")
			if selector = strings.TrimSpace(selector); is && !strings.HasPrefix(selector, ".slot ") && !strings.HasPrefix(selector, ":root") && !strings.HasPrefix(selector, "@media") {
				t.Errorf("%.60q selects %q", text, selector)
			}
		}
		if strings.Count(shown, "{") != strings.Count(shown, "}") {
			t.Errorf("%.60q is not closed: %q", text, shown)
		}
	}
	const good = `:root { --accent: #0f7b4f; --card: #fffbe6 } @media (prefers-color-scheme: dark) { :root { --card: #181c25; --accent: #7fd09b } }
		.hero > h2, .hero p:first-child { color: #fff; background: linear-gradient(90deg, #123456, #654321) }`
	shown := markup.CSS(good, nil)
	for _, want := range []string{"--card: #fffbe6", "--on-accent: #", ".slot .shop-hero", "linear-gradient(", "@media (prefers-color-scheme: dark)"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
}

// TestNothingStaysOpen: a string, an address or a comment that ends with the text, or with a line, takes in nothing of what is shown behind it.
func TestNothingStaysOpen(t *testing.T) {
	t.Parallel()
	const behind = `.a { background: url("data:image/png;base64,') ; opacity: 0; x: (") } `
	for _, text := range []string{
		behind + ":root { --font: \"'\"'\n}", behind + ":root { --background: url('data:image/png;base64,", behind + ":root { --background: url(data:image/png;base64,",
		".b { content: 'x", `.b { background: url("data:image/png;base64,x`, ".b { background: url('data:image/png;base64,x'", ".b { color: rgb(1, 2", ".b { margin: 1px / * }",
	} {
		p, root, selectors := css.NewParser(parse.NewInputString(markup.CSS(text, nil)+" main { top: 0 }"), false), false, ""
		for kind := css.CommentGrammar; kind != css.ErrorGrammar; {
			var data []byte
			kind, _, data = p.Next()
			switch kind {
			case css.BeginRulesetGrammar:
				written := ""
				for _, v := range p.Values() {
					written += string(v.Data)
				}
				root, selectors = written == ":root", selectors+written+";"
			case css.DeclarationGrammar:
				if root {
					t.Errorf("%q sets %s of :root", text, data)
				}
			default:
			}
		}
		if !strings.HasSuffix(selectors, "main;") {
			t.Errorf("%q takes in what is behind it: %s", text, selectors)
		}
	}
}

// TestClean: what was removed is said, and to clean what is clean changes nothing.
func TestClean(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("S")
	s.PageHeader = setting.TextsOf(`<p class="a" onclick="x()">Hello<script>x()</script></p>`)
	s.PageStyle = `.a { position: fixed; color: red } @import "x"; :root { --ink: #fff }`
	once, said := markup.Clean(s)
	if all := strings.Join(said, " "); !strings.Contains(all, "onclick of <p>") || !strings.Contains(all, "<script>") || !strings.Contains(all, "position: fixed") ||
		!strings.Contains(all, "@import") || !strings.Contains(all, "contrast") {
		t.Errorf("said %q", said)
	}
	if once.PageHeader[zone.DefaultText] != `<p class="a">Hello</p>` || once.PageStyle != ".a { color: red }" {
		t.Errorf("%q %q", once.PageHeader, once.PageStyle)
	}
	for _, text := range attacks {
		s.PageFooter = setting.TextsOf(text)
		first, _ := markup.Clean(s)
		if again, more := markup.Clean(first); !again.Equal(first) || len(more) > 0 {
			t.Errorf("%q: cleaned again it is %q (%q)", text, again.PageFooter, more)
		}
	}
}
