// Package registry is what a server remembers of its zones, and stands between
// the rooms and the store.
//
// # What is remembered
//
// The settings of every zone, read anew every 500 ms, so that a change made on
// one server is in force on all within a second; and, from each answer that
// passes through, how far the zone's line had come (line.Memory). Memory is in
// the process only: the embedded store keeps its own on disk, and with Redis
// the other servers remember too.
//
// # Departures
//
// Who was admitted or left by an answer that passed through is remembered as long as a
// token of theirs may pass for fresh (departures.go). A store that lost a zone is told
// before anybody's poll goes there, one that noticed a loss by itself (a fail-over)
// within a second. So nobody is put back who had departed, and nobody gets a second
// pass.
//
// # Estimates
//
// Once a second the line of each zone in which people wait is sampled, and a table made of
// how long they will wait (estimate.go). What some visitors are told by it is kept until they are
// let in, and judged then (judge.go).
//
// # What is authoritative
//
// The store. The registry answers from memory where that is harmless: a zone's
// settings (which a server must know while the store is away), and that a zone
// does not exist, for as long as the list that says so is less than a second
// old. So a crowd with invented zone ids costs no store call and no memory.
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
// A change that only tightens a zone (a pause, a close, a lower limit) is made on
// this server before the store is asked, and stays in force here if that refuses it
// or does not answer. Until the store has taken it, this server asks it nothing more
// about the zone: it would let people in by the old settings. So visitors get what
// the zone's onStoreFailure says, under the new settings. The store is tried again
// four times a second (brake.go). Other servers know nothing of it meanwhile.
//
// # Zones from the configuration
//
// They are remembered from the start as zones that the store may have lost, and
// are created by the same path. In a store whose loss cannot go unnoticed (the
// embedded one) they begin fresh; in one that cannot tell "new" from "emptied"
// (Redis) they begin as restored, so that their window counts as full once.
package registry
