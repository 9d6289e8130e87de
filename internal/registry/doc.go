// Package registry is what a server remembers of its zones. It is the last link of the chain before the store.
//
// # What is remembered
//
// The registry remembers the settings of every zone. It reads them anew every 500 ms, so that a change made on one
// server is in force on all within a second. From each answer of the store it learns how far the zone's line has come
// (line.Memory). All this is in the process only: the embedded store keeps its own on disk, and with Redis the other
// servers remember, too.
//
// # Departures
//
// The registry remembers every visitor whom it saw admitted or leave, for as long as a token of that visitor may pass
// for fresh (departures.go). A store that lost a zone is told of them before any poll reaches it. A store that noticed a
// loss by itself (a fail-over) is told within a second. So no departed visitor is put back, and none gets a second pass.
//
// # Estimates
//
// Once a second the registry samples the line of each zone in which people wait, and makes a table of how long they
// will wait (estimate.go). Some of the estimates that visitors are told are kept, and judged when those visitors are
// let in (judge.go).
//
// # What is authoritative
//
// The store is. The registry answers from memory where that is harmless: a zone's settings, which a server must know
// while the store is away; and that a zone does not exist, while the list of zones is less than a second old. So a crowd
// with invented zone ids costs no store call and no memory.
//
// # When the store has lost a zone
//
//	call ──> store: zone unknown ──> remembered? ──no──> unknown (404)
//	                                     │yes
//	                                     v
//	             one RestoreZone, shared by all who wait for it
//	                │ done             │ deleted         │ store away
//	                v                  v                 v
//	       the call, once more    forget (404)      unavailable (503)
//
// The refresh does the same for a remembered zone that the store no longer
// lists, so that a lost zone comes back without waiting for its visitors. A
// zone that an operator deleted is never put back: the store remembers
// deletions for a while and says so.
//
// # When the store does not take a change
//
// A change that only tightens a zone (a pause, a close, a lower limit) is a brake: it is in force on this server before
// the store is asked, and stays in force here if the store fails or does not answer. Until the store has taken the
// change, this server asks it nothing more about the zone: the store would let people in by the old settings. Visitors
// get what the zone's onStoreFailure says, under the new settings. The store is asked again four times a second
// (brake.go). Other servers know nothing of the change meanwhile.
//
// # Zones from the configuration
//
// They are remembered from the start as zones that the store may have lost, and are created in the same way. In a store
// whose loss cannot go unnoticed (the embedded one) their window begins empty. Redis cannot tell "new" from "emptied":
// there they begin as restored zones, so that their window counts as full once.
package registry
