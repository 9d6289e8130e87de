// Package zones is what a server remembers of its zones, and what it does while their store is away. It is the last
// link of the chain before the store, which decides. A Zone is one zone on this server: its settings, what is known of its
// line, its estimates, and its outage. All of it is in the process only.
//
// The registry reads the settings of every zone every 500 ms, so that a change made on one server is in force on all
// within a second. It answers from memory where that is harmless: a zone's settings; and that a zone does not exist, so
// that a crowd with invented zone ids costs no store call.
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
// The refresh does the same for a remembered zone that the store no longer lists. Before any poll reaches the zone, the
// store is told who departed (recall.go). A zone from the configuration counts as one that the store may have lost.
//
// # When the store is away
//
// With onStoreFailure "hold" a call that fails is refused with 503, and the error says when to come back (later.go,
// decision 0037). With "admit" this server admits its share of the limit (admit.go, decision 0004):
//
//	         a call fails             no success for AwayAfter,
//	                                  and the policy is admit
//	calm ─────────────────> failing ─────────────────────────> away
//	 ^ ^                       │                                │
//	 │ └───────────────────────┘                                │
//	 │       a call succeeds          a probe succeeds, and the │
//	 │                                store was told who went in│
//	 └─────────────────────── returning <───────────────────────┘
//	        after Apart
//
//	calm, failing  every call goes to the store; its failure is passed on
//	away           no visitor's call goes there; a probe asks every ProbeEvery
//	returning      nobody is admitted, until the other servers have told, too
//
// A change that only tightens a zone is in force on this server before the store is asked, and is sent until the store
// has taken it (brake.go).
//
// Spans are measured on this process's monotonic clock (Registry.Millis). Times that visitors see are on the store's
// clock, reckoned from its latest answer.
package zones
