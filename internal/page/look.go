package page

import (
	"html/template"

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

// leastContrast is the contrast that WCAG 2.2 asks for where there is no text (1.4.11), as of a button's edge.
const leastContrast = 3

// paint adds the logo and the colour, which a poll of the script does not need. They are checked once more, because
// html/template does not escape them, and what is in a store may not come from an operator.
func (look *Look) paint(s zone.Settings) {
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
}
