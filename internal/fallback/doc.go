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
// A server's share of the window's limit, of the minute's and of the second's is the
// limit divided by Options.Servers, rounded down. What it lets in, it logs, and
// counts as the stores do: in milliseconds, over all three spans (bucket.go).
// Nobody has a share of a limit that is smaller than the number of servers: such
// a zone is held; and so is one of whose line this server never heard. A share of the
// second is rounded up where that is auto: together the servers may exceed it by less
// than one each.
//
// # Whose token is good
//
// A token is judged as a store judges one whose place it lost, by what this
// server heard last of the line (standing):
//
//	this server saw the visitor leave, or the pass has expired    410
//	this server saw the admission, and the pass is good           held: the store knows it
//	of other data than the line's, or the visitor had fallen
//	silent when the store was last heard (window.Silent)          held: it may have been swept
//	else                                                          the place stands
//
// Tokens are not renewed meanwhile, so what counts is the last contact, not now.
// Who is held for such a reason counts for nothing: newcomers do not wait for it.
// Those of a line of version 1, whose tokens do not say how fresh they are, are
// believed.
//
// # Order
//
// For window.FreezeMillis after the first failure those may enter whom the store
// had released: up to the edge, as it was last heard. By then everybody who waits
// must have asked, and been refused, whatever the store had told them. From then
// on the earliest may enter, too, of those who are there (order.go): who asked
// lately, since a refusal says to come back within 3 s to those in front. How many of the earliest,
// is adapted four times a second: more while some of the share lies idle, fewer
// while there is no room. So no slot waits long for one who has left or who went
// in at another server, and nobody has to race for one with the whole line. Which
// use of the share and which order that brings, TestOrderInAnOutage says.
//
// Whoever holds a token goes before newcomers: these enter only if for one
// polling round no token holder was refused.
//
// # When those who are refused come back
//
// By then everybody asks, so what they are told decides how many requests there are (later.go,
// docs/decisions/0037). It is made for a call that the store did not answer, because it is away or because it
// is overloaded: nobody can tell these apart.
//
//	wait    as this server last knew it, as if the store were back now (Lines.Expect), and what is left of settling
//	longest 5/14 of that, as in a settled line; at least 3 s, 4 s after 20 s of failing; at
//	        most the longest period there
//	told    evenly over the last three eighths of the longest, or the last 3 s of it
//
// Who is refused as a newcomer, in the mode open, or by a server that never heard of the line is told by
// how many such there were in the last ten seconds: 3 s up to 1,500, 20 s from 10,000 on.
// With admit, those come back within 3 s whose turn is within 15 s of the reach: the servers need to know
// who is there.
//
// # What is remembered of it
//
// Who was let in is remembered for as long as the pass is good: a repeated
// call, during the outage or after, gets the same admission from memory, and
// the store is not asked. The store is told when it is back (Lines.Depart): it
// takes the visitor out of the line and knows the admission, so that other
// servers repeat it. Until then they know nothing of it: a visitor who asks one of
// them may be let in again, and counts again. What a server that is killed in an
// outage let in, the store does not learn.
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
//   - What the servers admitted, the store learns from each when that one finds it
//     again, or never, and some may ask it before others have told. So all of them
//     hold when it is back, from one window to a minute (holdMillis): until no interval
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
