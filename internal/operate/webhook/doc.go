// Package webhook tells other services what happens: place.soon and place.turn, of places that are set aside, and zone.changed.
//
//	watch ── zones, how far each line is ──┐
//	store ── places set aside, changes ────┴─> Sender ── calls, signed by the Standard Webhooks scheme ──> a receiver
//	store <── progress: how far this webhook has been told ──┘
//
// # What is told
//
// The store is the queue. For each zone the progress of a webhook has a mark for each event. Of places it is a score in the line and a
// time: all are told that stand at the score or before it and were set aside before the time. A round moves the mark to where turns come
// now, and tells the places that the move takes in: they stand beyond the old score, or were set aside since the old time. A round is
// told in the order of the line, and the progress has the last place that was told: so another server goes on behind it. Of changes the
// mark is the running number of the last one that was told. A mark moves when the receiver has answered with 2xx, or when the call is given up.
//
// A mark never moves back. After a limit was lowered, a place can be told that is set aside before the old score, earlier than
// soonSeconds says.
//
// # Who tells
//
// One server at a time works for a webhook. It writes the progress once in renewEvery at least, by compare-and-set. A server
// that has seen no write for takeOver takes the work over. Whoever loses a compare-and-set stops. So a call is made twice only if a server
// ends between the receiver's answer and the write, or the receiver took a call that it answered too late. webhook-id is made from what
// is told: a repeated call has the same one, unless some of its places came back meanwhile.
//
// # Failures
//
// A call that fails is made again after 1 s, then after twice as long each time, up to maxPause, for giveUpAfter. What fails of one zone
// and event keeps that alone waiting: after a failure the next tick tries another. While calls of maxPending bytes wait, the store is not
// asked for more; what one look adds is bounded.
package webhook
