package page

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/openqueue/waitingroom/internal/markup"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Look is what an operator sets of a zone's page.
type Look struct {
	// Title is the name above the page; "" for none.
	Title string
	// Logo is an image as a data: URL; "" for none.
	Logo template.URL
	// Accent colours bar and buttons; "" for the page's own.
	Accent template.CSS
	// Message is to all who wait, Near to those near the front, in the visitor's language; "" for none.
	Message, Near string
	Severity      zone.Severity
	// Links are below the page. Header, Aside and Footer are clean HTML; "" for none.
	Links                 []shownLink
	Header, Aside, Footer template.HTML
}

// shownLink is one of zone.Links as the visitor sees it.
type shownLink struct {
	URL  template.URL
	Text string
}

// nearMillis is with which expected wait a visitor is near the front: time enough to get a card.
const nearMillis = 120_000

// leastContrast is the contrast that WCAG 2.2 asks for where there is no text (1.4.11), as of a button's edge.
const leastContrast = 3

// paint adds the logo, the colours, the links and the slots, which a poll of the script does not need. They are checked once more, because
// html/template does not escape them, and what is in a store may not come from an operator.
func (look *Look) paint(s zone.Settings, accept string) {
	sources := zone.SourcesOf(s)
	slot := func(texts zone.Texts) template.HTML {
		return template.HTML(markup.HTML(serve.TextFor(texts, accept), sources))
	}
	look.Header, look.Aside, look.Footer = slot(s.PageHeader), slot(s.PageAside), slot(s.PageFooter)
	for _, one := range zone.LinksOf(s) {
		to := one.URL
		if strings.HasPrefix(to, "/") {
			to = target(to, s.Sites)
		}
		look.Links = append(look.Links, shownLink{template.URL(to), serve.TextFor(one.Text, accept)})
	}
	look.Logo = template.URL(zone.LogoOf(s))
	if accent := zone.ColorOf(s); accent != "" {
		edge := accent
		for _, ground := range zone.Grounds {
			if zone.Contrast(accent, ground.Color) < leastContrast {
				edge = "var(--ink)" // a button that can hardly be seen has an edge that can
			}
		}
		look.Accent = template.CSS(":root { --accent: " + accent + "; --on-accent: " + zone.TextOn(accent) + "; --edge: " + edge + "; }")
	}
	look.Accent += template.CSS(markup.CSS(s.PageStyle, sources))
}

// style is the page's own, and the shop's. Rules for what a shop sets are left out where it sets nothing.
func (look *Look) style() template.CSS {
	own, shop, _ := strings.Cut(pageCSS, "/* What a shop sets")
	if len(look.Links) > 0 || look.Header+look.Aside+look.Footer != "" {
		own += "/* What a shop sets" + shop
	}
	return template.CSS(own) + look.Accent
}

// addresses are those of a message that become links.
var addresses = regexp.MustCompile(`https://[A-Za-z0-9.-]+(/[A-Za-z0-9._~%!$&()*+,;=:@/?#-]*)?`)

// linked is a text whose https addresses are links. A full stop, comma or bracket at the end of one belongs to the sentence.
func linked(text string) template.HTML {
	var b strings.Builder
	for {
		at := addresses.FindStringIndex(text)
		if at == nil {
			return template.HTML(b.String() + template.HTMLEscapeString(text))
		}
		to := strings.TrimRight(text[at[0]:at[1]], ".,;:!?)")
		fmt.Fprintf(&b, `%s<a href="%[2]s" target="_blank" rel="noopener">%[2]s</a>`, template.HTMLEscapeString(text[:at[0]]), template.HTMLEscapeString(to))
		text = text[at[0]+len(to):]
	}
}

// images are sources of images for the policy, beside data: URLs.
func images(s zone.Settings) string {
	var b strings.Builder
	for _, host := range zone.SourcesOf(s) {
		b.WriteString(" https://" + host)
	}
	return b.String()
}
