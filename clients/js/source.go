// Package js hands out the JavaScript client, for the room's own page.
package js

import _ "embed" // the client

// Source is index.js, an ES module.
//
//go:embed index.js
var Source string
