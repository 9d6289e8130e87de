// Package js hands out the JavaScript client, for the room's own page.
package js

import (
	_ "embed" // the client
	"regexp"
	"strings"
)

// Source is index.js, an ES module.
//
//go:embed index.js
var Source string

// Work is work.js, an ES module: it does the work of a challenge.
//
//go:embed work.js
var Work string

// comments are lines that say something to whoever reads a script.
var comments = regexp.MustCompile(`(?m)^\s*(//|/\*\*).*\n`)

// WorkFunction returns the function worker of work.js, as an expression, without comments.
func WorkFunction() string {
	return strings.ReplaceAll(comments.ReplaceAllString(Work, ""), "export ", "")
}
