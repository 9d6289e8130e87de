// Package writer writes the log of admissions (package admissionlog).
//
// A visitor never waits for it: what happened goes into a queue in memory, and once a second one goroutine writes what is there. While
// the disk is full, hangs, or the store does not say the pseudonyms' key, the queue fills up to a bound. What does not fit is counted, and a
// line in the log says how much is missing. What was not written when a server is killed is missing, too: a second at most.
package writer
