// Package registry is what a server remembers of its zones, and what it does while their store is away. It is the last
// link of the chain before the store. A Zone is one zone on this server: its settings, what is known of its line, its
// estimates, and its outage. A call looks it up once, and one forgetting ends all of it.
//
// # What is remembered
//
// The registry remembers the settings of every zone. It reads them anew every 500 ms, so that a change made on one
// server is in force on all within a second. From each answer of the store it learns how far the zone's line has come
// (memory.go). All this is in the process only: the embedded store keeps its own on disk, and with Redis the other
// servers remember, too.
//
// # Departures
//
// The registry remembers every visitor whom it saw admitted or leave, for as long as a token of that visitor may pass
// for fresh and as long as the pass is good (departures.go): 1,048,576 departures of all zones; of older ones, only whose
// they were. The store is told in parts, and no part twice (recall.go). A store that lost a zone is told of them before any poll reaches it. A store that noticed a
// loss by itself (a fail-over) is told within a second. So no departed visitor is put back, and none gets a second pass.
//
// # Estimates
//
// Once a second the watch has the registry observe each zone. From the answer the registry makes a table of how long those
// who wait will wait (call.go, estimate.go). Some of the estimates that visitors are told are kept, and judged when those visitors are
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
// the store is asked. The server keeps it and sends it four times a second until the store has taken it (brake.go).
// Meanwhile this server asks the store nothing more about the zone: the store would let people in by the old settings.
// Visitors get what the zone's onStoreFailure says, under the new settings. Other servers know nothing of the change.
//
// # When the store is away
//
// A visitor's call may take Within. With onStoreFailure "hold" a call that fails is refused with 503. The visitor keeps
// the place, in the token and in the store. With "admit" each server goes on letting visitors in, at its share of the
// limit. A zone on one server (outage.go):
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
//	away           no visitor's call goes there. Local admission, below. A
//	               probe asks every ProbeEvery whether the store is back
//	returning      nobody is let in, until the other servers have told, too
//
// In failing and away the probes go on even if no visitor calls, so a zone soon returns to calm by itself.
//
// # Local admission
//
// A server's share is the limit divided by Options.Servers, rounded down, let in by a token bucket (admit.go). A zone
// whose limit is smaller than the number of servers has no share, and is held. So is a zone of whose line this server
// never heard. Local admission begins a window after the phase away did, in some zones a minute (pauseMillis).
//
// Who may enter: visitors up to the edge that was last heard, and those whose turn would have come since, had the store
// been there, by the table of estimates. Where the share lies idle, because visitors have left or entered at other
// servers, the line is taken faster. Newcomers enter only if no token holder was refused for one polling round. So the
// order is about that of arrival, and no more than that: of those who may enter, whoever asks first is first.
//
// A token is judged as a store judges a token whose place it lost, by what this server last heard of the line. Its
// holder is held if it may have been swept; gets 410 if this server saw it leave; and gets its admission again if this
// server saw that. Tokens are not renewed meanwhile, so their age is taken at the last contact with the store.
//
// An admission made here is repeated from memory while its pass is good, during the outage and after it. The store is
// told of it when it is back (Healer.Recall): it counts it against its limits, takes the visitor out of the line, and
// repeats the admission at other servers. Until then other servers know nothing of it: a visitor who shows one of them a
// token of before may be let in again. That is an admission of its own, which counts again, with a pass of its own; both
// passes are marked as local. The gate begins a session for one of them (package site). A service that verifies
// passes by itself and takes each once remembers the visitor of a local pass (docs/integrate/pass.md).
//
// # Never over
//
// The store and all servers together stay within every limit, if Options.Servers is not less than the number of servers,
// and if all of them lose the store and find it again within Apart of one another. The pause before local admission
// keeps the store's last admissions and the first local ones out of one window; on return the store counts what it was
// told. What can exceed a limit nevertheless:
//
//   - Servers that disagree for longer than Apart on whether the store is there: while n servers are cut off from a
//     store that serves the others, up to n shares come on top. So it is for a window or a minute after a server that
//     admitted was killed before it told the store, or after a store came back whose clock is behind.
//   - A server that no visitor of the zone asked during the whole outage does not know of it, and does not wait for
//     the others to tell: up to their shares of one window, once.
//   - Calls that a stopped store works off when it goes on. Those that reached it before away began may admit up to
//     one window's limit at that moment. Their senders were told to come back, and enter when they do.
//
// # When those who are refused come back
//
// When every call fails, what visitors are told decides how many requests come (later.go, docs/engineering/decisions/0037). The
// store may be away or overloaded: nobody can tell these apart at once, so both are treated alike. But while it answered
// others in the last AwayAfter, it is behind rather than away (LaterError.Behind): then the guard gives visitors who wait
// their last answer, with that time to come back (docs/engineering/decisions/0055).
//
//	wait    as this server last knew it, as if the store were back now
//	longest 5/14 of that, as in a settled line; at least 3 s, 4 s after 20 s of failing; at
//	        most the longest period there
//	told    evenly over the last three eighths of the longest, or the last 3 s of it
//
// For a newcomer, in mode open, and on a server that never heard of the line, the longest depends on how many such
// refusals there were in the last ten seconds: 3 s for up to 1,500 of them, 20 s for 10,000 and more.
//
// # Time
//
// Spans are measured on this process's monotonic clock (Registry.Millis). Times that visitors see are on the store's
// clock, reckoned from its latest answer.
//
// # Zones from the configuration
//
// They are remembered from the start as zones that the store may have lost, and are created in the same way. In a store
// whose loss cannot go unnoticed (the embedded one) their window begins empty. Redis cannot tell "new" from "emptied":
// there they begin as restored zones, so that their window counts as full once.
package registry
