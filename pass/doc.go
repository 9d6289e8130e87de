// Package pass lets into a Go service only those whom the waiting room has let in: it
// verifies their passes with the room's public keys alone, and never asks the room about
// a request.
//
//	passes, err := pass.Open(ctx, pass.Options{KeySet: "https://queue.example/.well-known/jwks.json"})
//	...
//	mux.Handle("/", passes.Middleware("TEST_ZONE", pass.Room("https://queue.example"))(shop))
//
// A request with a good pass goes on, and From says whose it is. Any other is refused: a
// browser that goes to a page is sent to the waiting page, and from there back to where it
// wanted to go; everything else gets a problem document (RFC 9457). For echo, use
// echo.WrapMiddleware(passes.Middleware(...)), and From with the request's context. Where there is
// no HTTP, ask Verify. Other languages: docs/integrate/pass.md.
//
// # What is checked
//
// A pass is a JSON Web Token. It is good if its algorithm is EdDSA and its signature that
// of a key in the set; if iss is Options.Issuer, and aud and zone are the zone that you
// ask for; and until exp. With Options.Once, it is good once.
//
// A pass lasts for minutes (the zone's passTtlSeconds). Whoever is in should stay in for
// longer: begin a session of your own when a pass comes, as the example of Middleware
// does, and ask for passes of those only who have none.
//
// # The keys
//
// The key set is fetched in the background, every five minutes, and besides when a pass
// names a key that is not known; at most once a minute, whatever comes. What was fetched
// stays in force while the room is away.
//
//   - A request whose pass names a known key never waits.
//   - One whose pass names an unknown key waits for the fetch that is under way or is due,
//     for at most two seconds. Only a pass whose claims are as they should be makes a
//     fetch due.
//   - If the set could not be had, so that nobody knows whether the key is good, the
//     request is answered 503 with Retry-After: not 401, and it is not sent to the waiting
//     page, which would send it straight back.
//
// # Where the pass is found
//
// In this order: the query parameter waiting_room_pass, which the waiting page leads back
// with; the headers that Header names; Authorization: Bearer; the cookies that Cookie
// names. The first good one counts, so a bearer token that is something else does no harm.
package pass
