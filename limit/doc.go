// Package limit limits what one client may take of a Go service: 100 requests a
// minute, and 20 in 10 s, counted together by all servers in Redis, or by each in
// its own memory.
//
//	limits, err := limit.Open(ctx, limit.Options{
//		RedisURL: "redis://127.0.0.1:6379",
//		Secret:   secret, // the same 16 bytes or more on all servers
//		Policies: []limit.Policy{{
//			Name:  "api",
//			Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60}},
//		}},
//	})
//	...
//	mux.Handle("/api/", limits.Middleware("api", limit.ByIP())(api))
//
// A request over the limit is answered 429, with Retry-After, the RateLimit fields
// of draft-ietf-httpapi-ratelimit-headers, their X-RateLimit- elders, and a problem
// document; one within it goes on, with the same fields. For echo it is
// echo.WrapMiddleware(limits.Middleware("api", key)). Where there is no HTTP, ask Allow.
//
// It is what queue-server decides with, without its listener. Services count together
// that have the same Redis, names of policies and Secret. They never count together with
// queue-server, whose secret is its own: a service that has to asks its listener.
//
// # Which algorithm
//
//   - SlidingLog is exact: at most Limit in any Window. It keeps every permit, so
//     Limit is at most 10,000.
//   - SlidingCounter keeps two numbers, and is a little off where a client's rate
//     changes abruptly.
//   - TokenBucket is for a steady user who sometimes wants a burst after a quiet while.
//   - LeakyBucket makes the outflow even: it allows, and says how long to wait. See
//     MaxWait.
//   - FixedWindow is the cheapest, and lets twice the limit pass where two windows
//     meet.
//
// # Choosing the key
//
// Whoever can choose the key has no limit. ByIP counts by address, and believes
// X-Forwarded-For only of the proxies that it is given. A key of your own should
// come from what you have verified: a session, the subject of a token. An API key
// straight from a header is the client's choice, and a new one for every request is
// no limit at all.
//
// # When Redis is away
//
// Each policy says what happens: FailLocal, the default, has each server enforce its
// share from memory, one in Options.Servers; FailOpen lets everything through;
// FailClosed nothing. Redis is asked again by itself, and believed after three answers
// in a row. No request waits for it meanwhile.
package limit
