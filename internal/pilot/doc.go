// Package pilot is the autopilot's arithmetic: what was seen of a site in, by how much its zone's cap is to change out. It has no
// goroutine, no clock and no I/O; package steer asks it.
//
//	decide.go    Decide: the rule
//	look.go      Look, what was seen of a site in ten seconds; Tally, which makes one of answers
//	site.go      Site, a model of a site that slows down as it fills, for simulate and for tests
//
// # The rule
//
// The pilot changes maxInside, because a visitor who is admitted loads the site for minutes: a cap acts at once, a rate after that
// time. A look is in breach if the site was slower than the bound or failed more often. Two looks in breach of the last three lower
// the cap to 70 % of how many were inside at the first of them. If half of the answers or more failed in both, the cap falls to the least. Nobody
// inside is thrown out; so while more are inside than the cap, looks in breach lower it no further.
//
// A minute in which no look was above half of a bound raises the cap if it is in use. The last breach is remembered as the ceiling. As
// in CUBIC (RFC 9438), raises are large far from the ceiling and small near it, so that the pilot stays close below what the site
// bears, and finds out carefully when it bears more.
package pilot
