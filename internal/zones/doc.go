// Package zones is what a server remembers of its zones, and what it does while their store is away. The
// store decides. A Zone is one zone on this server: its settings, what is known of its
// line, its estimates, and its outage. All of it is in the process only.
//
// Zones reads the settings of every zone every 500 ms, so that a change made on one server is in force on all
// within a second. It answers from memory where that is harmless: a zone's settings; and that a zone does not exist, so
// that a crowd with invented zone ids costs no store call.
//
// Which file does what:
//
//	the zones of a server: find, put, delete           zones.go, refresh.go
//	one zone: settings in force, what was heard last   zone.go, memory.go
//	a visitor's join, poll and leave                   visit.go
//	a call to the store, with its time limit           call.go, deadline.go
//	polls that are answered from memory                polls.go
//	how long visitors wait, and how good that was      estimate.go, judge.go
//	places that a draw gives                           draw.go
//	who departed, and telling a store that lost it     departures.go, recall.go
//	the store is away: phases, local admission         outage.go, admit.go
//	when refused visitors come back                    later.go
//	a change that the store does not take, or loses    brake.go, lost_change.go
//	the sessions inside a zone with a cap              inside.go, sessions.go
//	what may be used once                              spend.go
//
// # Early polls
//
// A visitor who polls before the time that it was told gets its last answer again: the same position and total, the
// estimate and the period less the time that has passed. So it is told what a patient visitor has on the screen at that
// moment, and that costs the store nothing. These polls are let through before their time:
//
//   - the last early poll of a client that polls in a rhythm of its own, if its next poll would be later than the
//     stores allow;
//   - one poll a second of each released visitor: a slot opens whenever somebody else does not come;
//   - one poll of every visitor after a change of the zone's mode, limit, window, burst or idle timeout; and all polls
//     in mode open.
//
// After a poll that went to the store, further polls of that visitor are answered from memory for apart (100 ms), so
// that a hundred at once ask the store once. A visitor who is admitted or gone is answered from memory for a second.
//
// # While the store is behind
//
// A visitor whose poll the store did not answer, though it answered others lately, gets the last answer again with another
// time to come back (late): a refusal would bring many an app back within a second, and the store further behind.
//
// # What is remembered
//
// The cache holds 262,144 visitors in a table of 17 MB, which does not grow (polls.go). When it is full, visitors who
// always came in time are forgotten first: an early poll of theirs then goes to the store. Each server has its own
// cache. So a visitor whose early polls go to several servers may be told a position that is up to a period old, and
// reaches the store once a period through each server.
//
// The stores sweep a visitor only if no poll comes for the idle timeout after the time that the visitor was told. So
// early polls that they do not see cost nobody the place (G4).
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
// Spans are measured on this process's monotonic clock (Zones.Millis). Times that visitors see are on the store's
// clock, reckoned from its latest answer.
package zones
