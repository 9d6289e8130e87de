// Package js hands out the JavaScript client, for the room's own page.
package js

import _ "embed" // the client

// Source is index.js, an ES module.
//
//go:embed index.js
var Source string

// Work is work.js, an ES module: it does the work of a challenge.
//
//go:embed work.js
var Work string
