// Package fallback is what a server does while the store is away. It stands
// between the registry and the rooms, and every call of a visitor passes
// through it: here, and only here, a call gets its deadline.
//
// With onStoreFailure "hold" a call that fails is refused: 503, and the place
// is kept, in the token and in the store. With "admit" each server goes on
// letting visitors in, at its share of the limit.
//
// # A zone on one server
//
//	         a call fails             no success for AwayAfter,
//	                                  and the policy is admit
//	calm ─────────────────> failing ─────────────────────────> away
//	 ^ ^                       │                                │
//	 │ └───────────────────────┘                                │
//	 │       a call succeeds                a probe succeeds    │
//	 └──────────────────────── settling <───────────────────────┘
//	     the limits hold again          (or straight to calm, where nobody
//	                                     can have been let in)
//
//	calm, failing  every call goes to the store; its failure is passed on
//	away           no visitor's call goes there. Local admission, below. A
//	               probe asks every ProbeEvery whether the store is back
//	settling       nobody is let in; the probes have stopped
//
// In failing and away the probes go on without visitors, so a zone returns to
// calm by itself, and soon. They ask for Stats, which may be worked on late
// without harm: a store that was stopped, not killed, works off what it was
// sent, and must not find a heap of polls there and admit their senders.
//
// # Local admission
//
// A server's share of the window's limit and of the minute's is the limit
// divided by Options.Servers, rounded down. What it lets in, it logs, and
// counts as the stores do: in milliseconds, over both spans (bucket.go).
// Whoever holds a token goes before newcomers: these enter only if for one
// polling round no token holder was refused. Nobody has a share of a limit
// that is smaller than the number of servers: such a zone is held.
//
// Who was let in is remembered for as long as the pass is good: a repeated
// call, during the outage or after, gets the same admission from memory, and
// the store is not asked. Other servers do not know of it: a visitor who asks
// one of them may be let in again, and counts again.
//
// # Never over
//
// In any interval as long as the window at most its limit is admitted, by the
// store and all servers together, and in any 60 s at most perMinute, if Servers
// is not less than the number of servers, and if all of them lose the store and
// find it again within Apart of one another. Two pauses make it so:
//
//   - What the store admitted before, and perhaps did not get to tell, is
//     counted as the most that it may have been (window.Phantoms, a share of
//     them each). So a server admits nobody until one window after away began.
//   - What the servers admitted, the store does not learn. So all of them hold
//     when it is back, from one window to a minute (settle): until no interval
//     can have both their admissions and so many of the store's that together
//     they exceed a limit. After an outage no longer than a window, nobody was
//     let in, and there is no such pause.
//
// So "admit" helps in long outages; in one of a few windows it costs more than
// it brings. What can exceed the limit nevertheless:
//
//   - Servers that see it differently for longer than Apart: while n servers are
//     cut off from a store that serves the others, up to n shares come on top.
//   - A server that no visitor of the zone asked during the whole outage does not
//     know of it, and does not pause after it: up to one window's limit, once.
//   - Calls that a stopped store works on when it goes on. Those that reached it
//     before away began may admit up to one window's limit at that moment. Their
//     senders have been told to come back; they enter when they do.
//
// # Time
//
// Spans are measured on this process's monotonic clock. Times that visitors see
// are on the store's clock, as far as its last answers told what it says.
package fallback
