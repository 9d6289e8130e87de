// Package loadtest sends the crowds of its folder k6 through real servers, and judges what they saw.
//
//	k6 --a story: one line a visitor--> Read -> Judge -> findings, figures
//
// # Who judges what
//
// What one visitor can see alone, k6 checks while it runs: that a position never rises, that a repeated join finds the
// same place, that Retry-After is right. A virtual user knows nothing of the others, though. So each tells at its end what
// it was told and when, and this package judges what only all of them together show: how many entered in any interval, who
// overtook whom, whether the server let in more than ever heard of it, how far the estimates were off. Package
// internal/measure works out the figures, as it does for the simulator and the faults.
//
// What a story's bounds are, the scenario says in its first line; the limits are those of the zone. No figure is taken
// from the server, but for its own counts of places and admissions, which must be the visitors'.
//
// # Clocks
//
// Admissions and arrivals are on the store's clock, and alone decide on limits and order. Where the two clocks meet, in the
// estimates' errors and the capacity, they are taken to agree: k6 on another machine wants NTP.
package loadtest
