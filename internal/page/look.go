package page

import (
	"html/template"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Look is what an operator sets of a zone's page.
type Look struct {
	// Sites are the origins that the page may lead to, such as https://shop.example.
	Sites []string
	// Title is the name above the page; "" for none.
	Title string
	// Logo is an image as a data: URL; "" for none.
	Logo template.URL
	// Message is to all who wait; "" for none.
	Message string
}

// lookOf is how a zone's page looks.
func lookOf(zone.Settings) Look { return Look{} }
