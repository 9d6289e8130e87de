package page

import (
	"html/template"

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
	// Message is to all who wait, in the visitor's language; "" for none.
	Message string
}

// leastContrast is what WCAG 2.2 wants of what is no text.
const leastContrast = 3

// lookOf is how a zone's page looks. Logo and colour are looked at again: what is in a
// store may not be from an operator, and html/template takes them as they are. accept is the
// browser's Accept-Language.
func lookOf(s zone.Settings, accept string) Look {
	look := Look{Title: s.PageTitle, Logo: template.URL(zone.LogoOf(s)), Message: serve.TextFor(s.Message, accept)}
	if accent := zone.ColorOf(s); accent != "" {
		edge := accent
		for _, ground := range zone.Grounds {
			if zone.Contrast(accent, ground.Color) < leastContrast {
				edge = "var(--ink)" // a button that can hardly be seen has an edge that can
			}
		}
		look.Accent = template.CSS(":root { --accent: " + accent + "; --on-accent: " + zone.TextOn(accent) + "; --edge: " + edge + "; }")
	}
	return look
}
