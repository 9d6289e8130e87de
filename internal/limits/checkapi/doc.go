// Package checkapi is the limits' listener: other services ask it whether a client may
// go on.
//
//	POST /limits/{policy}/check   the service names the key, the tier and the cost
//	any  /limits/{policy}/auth    the key is found in the request that a gateway forwards:
//	any  /limits/{policy}/auth/*  for auth_request, forwardAuth and ext_authz
//
// An answer is 200 or 429, with what is left (internal/limits/ratelimit), or 400 and 404 if
// the question is wrong. While the store is away, a closed policy refuses with a 429, too,
// which has a code of its own. A gateway takes a 5xx for a failure of this server, and Envoy's
// failure_mode_allow would then let the request through.
//
// # Who is believed
//
// Anybody who reaches this listener can ask in the name of any client, and use up that
// client's quota. It is for services and gateways in the same private network, never for the
// public. It is off unless it has an address, and logs a warning if other machines can
// reach that.
//
// A gateway forwards the headers of its client, and the client may have made them up. So
// auth believes
//
//   - the path up to /auth, which is in the gateway's configuration. With ext_authz the
//     client writes the rest of the path and the query. They are not read: neither another
//     policy nor a cost can be in them. The cost is always 1.
//   - X-Forwarded-For as far as trusted proxies wrote it, and no other header about the
//     address. Some gateways pass on X-Real-IP, Forwarded and the like from the client.
//   - a bearer token that verifies, and an API key that is known: see internal/limits/identity.
//     Neither the tier nor the key comes from anything else.
package checkapi
