// Package checkapi is the limits' listener: other services ask there whether a client
// may go on.
//
//	POST /limits/{policy}/check   the one who asks names the key, the tier and the cost
//	any  /limits/{policy}/auth    the key is found in the request, as a gateway forwards
//	any  /limits/{policy}/auth/*  it: for auth_request, forwardAuth and ext_authz
//
// An answer is 200 or 429, with what is left (internal/limits/ratelimit), or 400 and 404 where
// the question is wrong. A closed policy, while the store is away, is a 429, too, with
// a code of its own: to a gateway a 5xx means that whom it asks is broken, and Envoy's
// failure_mode_allow, which is for that, would let the request through.
//
// # Who is believed
//
// Whoever reaches this listener can ask in anybody's name, and use anybody's quota
// up. It is for the services and gateways behind the same wall, never for the
// public: it is off unless it is given an address, and warns of one that other
// machines reach.
//
// A gateway forwards the headers of its client, and with them whatever the client
// made up. So auth believes
//
//   - the path up to /auth: the gateway's configuration has it. What follows, and the
//     query, are the client's with ext_authz, and are not looked at: not for another
//     policy, and not for a cost, which is always 1.
//   - X-Forwarded-For as far as trusted proxies wrote it, and no other header about
//     the address: X-Real-IP, Forwarded and the like can be the client's, with one
//     gateway or another.
//   - a bearer token that verifies, and an API key that is known: see internal/limits/identity.
//     Neither the tier nor the key is taken from anything else.
package checkapi
