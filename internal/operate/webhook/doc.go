// Package webhook tells other services what happens: place.soon and place.turn, of places that are set aside, and zone.changed.
//
//	watch ── zones, how far each line is ──┐
//	store ── places set aside, changes ────┴─> Teller ── calls, signed by the Standard Webhooks scheme ──> a receiver
//	store <── Progress: how far this webhook has been told ──┘
//
// # What is told
//
// The store is the queue. For each zone and event the progress of a webhook has a mark: a score in the line and a time. All
// places are told that stood at the mark or before it when they were set aside before its time. A step moves the mark on to where
// turns come now, and tells those places that the move takes in: they stand beyond the old mark, or were set aside since its time. The
// mark of changes is a time, and how many changes of that millisecond are told. A mark moves when the receiver has answered with 2xx,
// or when the call is given up.
//
// # Who tells
//
// One server at a time works for a webhook. It writes the progress once in renewEvery at least, by compare-and-set. A server
// that has seen no write for takeOver takes the work over. Whoever loses a compare-and-set stops. So a call is made twice only if a server
// ends between the receiver's answer and the write. webhook-id is made from what is told, so a repeated call has the same one if it
// tells the same.
//
// # Failures
//
// A call that fails is made again after 1 s, then after twice as long each time, up to maxPause, for giveUpAfter. Other zones and
// events go on meanwhile. While calls with maxPending bytes wait, no new ones are made: places and changes stay in the store.
package webhook
