// Package uplot holds uPlot, the one script in our pages that is not our own: the
// console's charts and the load test's are drawn by it. It is kept as its authors
// made it, with its licence, and never fetched from elsewhere.
package uplot

import "embed"

// Files are the script, its style sheet and its licence.
//
//go:embed uPlot.iife.min.js uPlot.min.css uPlot.LICENSE.txt
var Files embed.FS
