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
// of draft-ietf-httpapi-ratelimit-headers, the older X-RateLimit- fields, and a problem
// document. A request within the limit goes on, with the same fields. For echo, use
// echo.WrapMiddleware(limits.Middleware("api", key)). Without HTTP, call Allow.
//
// queue-server decides with the same code. Services that have the same Redis, names of
// policies and Secret count together. They never count together with queue-server, which
// has a secret of its own: a service that must count with it asks its listener.
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
// A client that can choose its key has no limit. ByIP counts by address, and reads
// X-Forwarded-For only from the proxies that it is given. Take a key of your own from
// what you have verified: a session, the subject of a token. The client chooses what it
// writes into an API key header, so do not count by a header that you have not checked.
//
// # When Redis is away
//
// Each policy says what happens: FailLocal, the default, has each server enforce its
// share from memory, one in Options.Servers; FailOpen lets everything through;
// FailClosed nothing. The limiter asks Redis by itself every 250 ms, and uses it again
// after three answers in a row. No request waits for Redis meanwhile.
package limit
