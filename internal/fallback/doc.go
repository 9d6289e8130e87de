// Package fallback is what a server does while the store is away. It stands between the guard and the registry, and
// every call of a visitor to the store passes through it: here, and only here, such a call gets its deadline.
//
// With onStoreFailure "hold" a call that fails is refused with 503. The visitor keeps the place, in the token and in
// the store. With "admit" each server goes on letting visitors in, at its share of the limit.
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
// In failing and away the probes go on even if no visitor calls, so a zone soon returns to calm by itself. A probe asks
// for Stats. A store that was stopped, not killed, later works off all that it was sent. Late Stats do no harm, but late
// polls would admit their senders.
//
// # Local admission
//
// A server's share of the window's limit, of the minute's and of the second's is the limit divided by Options.Servers,
// rounded down. A server logs its own admissions and counts them as the stores do: in milliseconds, over all three spans
// (bucket.go). A zone whose limit is smaller than the number of servers has no share, and is held. So is a zone of whose
// line this server never heard. Where the limit of the second is auto, its share is rounded up: together the servers may
// exceed that limit by less than one admission each.
//
// # Whose token is good
//
// A token is judged as a store judges a token whose place it lost, by what this server last heard of the line
// (standing):
//
//	this server saw the visitor leave, or the pass has expired    410
//	this server saw the admission, and the pass is good           held: the store knows it
//	the token's epoch is not the line's, or the visitor had fallen
//	silent when the store was last heard (window.Silent)          held: it may have been swept
//	else                                                          the place stands
//
// Tokens are not renewed meanwhile, so a token's age is taken at the last contact with the store, not now. Newcomers do
// not wait for visitors who are held for one of these reasons. Tokens of a line of version 1, which do not say how fresh
// they are, are believed.
//
// # Order
//
// For window.FreezeMillis after the first failure, only visitors whom the store had released may enter: those up to the
// edge that was last heard. In that time everybody who waits must have asked and been refused, whenever the store had
// told them to poll. From then on the earliest of the visitors who asked lately may enter, too (order.go); a refusal
// tells those in front to come back within 3 s. How many of the earliest may enter is adapted four times a second: more
// while some of the share lies idle, fewer while there is no room. So no slot waits long for a visitor who has left or
// who entered at another server, and the whole line does not race for a slot. TestOrderInAnOutage says how much of the
// share is used, and in which order.
//
// Token holders go before newcomers: newcomers enter only if no token holder was refused for one polling round.
//
// # When those who are refused come back
//
// When every call fails, what visitors are told decides how many requests come (later.go, docs/decisions/0037). The
// store may be away or overloaded: nobody can tell these apart, so both are treated alike.
//
//	wait    as this server last knew it, as if the store were back now (Lines.Expect), and what is left of settling
//	longest 5/14 of that, as in a settled line; at least 3 s, 4 s after 20 s of failing; at
//	        most the longest period there
//	told    evenly over the last three eighths of the longest, or the last 3 s of it
//
// For a newcomer, in mode open, and on a server that never heard of the line, the longest depends on how many such
// refusals there were in the last ten seconds: 3 s for up to 1,500 of them, 20 s for 10,000 and more. With admit,
// visitors whose turn is within 25 s of the reach come back within 3 s: the servers need to know who is there.
//
// # What is remembered of it
//
// A local admission is remembered for as long as its pass is good: a repeated call, during the outage or after it, gets
// the same admission from memory, and the store is not asked. The store is told of the admission when it is back
// (Lines.Depart). It then takes the visitor out of the line, and other servers repeat the admission. Until then other
// servers know nothing of it: a visitor who asks one of them may be let in again, and counts again. If a server is
// killed in an outage, the store does not learn of its admissions.
//
// # Never over
//
// The store and all servers together admit at most the window's limit in any interval as long as the window, and at
// most perMinute in any 60 s. This holds if Options.Servers is not less than the number of servers, and if all of them
// lose the store and find it again within Apart of one another. Two pauses make it so:
//
//   - The store may have admitted visitors before the outage without any server hearing of it. So each server counts
//     its share of the most that the store can have admitted (window.Phantoms), and admits nobody until one window
//     after away began.
//   - The store learns of a server's admissions when that server finds the store again, or never. Another server may
//     ask the store before that. So every server holds all visitors when the store is back, for one window up to a
//     minute (holdMillis). After that no interval can have so many local admissions and admissions of the store that
//     together they exceed a limit. In an outage no longer than a window nobody was let in, and there is no such pause.
//
// So "admit" helps in long outages; in an outage of a few windows it costs more than it brings. What can exceed the
// limit nevertheless:
//
//   - Servers that disagree for longer than Apart on whether the store is there: while n servers are cut off from a
//     store that serves the others, up to n shares come on top.
//   - A server that no visitor of the zone asked during the whole outage does not know of the outage, and does not
//     pause after it: up to one window's limit, once.
//   - Calls that a stopped store works off when it goes on. Those that reached it before away began may admit up to
//     one window's limit at that moment. Their senders were told to come back, and enter when they do.
//
// # Time
//
// Spans are measured on this process's monotonic clock. Times that visitors see are on the store's clock, reckoned from
// its last noted answer.
package fallback
