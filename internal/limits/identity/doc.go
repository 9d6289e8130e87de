// Package identity finds out who asks, for limits: which key counts a request, and
// in which tier.
//
//	jwt     Authorization: Bearer, a JSON Web Token that verifies   member:<claim>
//	apiKey  X-API-Key, one that is known                            apikey:<hash>
//	ip      the client's address, of IPv6 the network of 64 bits    ip:<address>
//
// A policy names the sources, and the first that a request has counts. The last
// resort is always the address, whether the policy names it or not: there is no
// request that nothing counts.
//
// # Why a key must be proven
//
// Whoever can choose the key has no limit: with an invented API key in each
// request, each request is the first. So
//
//   - a token counts only if a key of the configured set signed it, with an
//     algorithm of that key (a shared secret, for HS256, only where the set is a
//     file: what a URL shows, others can sign with), and its exp, nbf, iss and aud are good. One that does
//     not verify is as good as none, and the next source counts: garbage gets
//     nobody a fresh quota, and an expired session none a refusal.
//   - an API key counts only if its SHA-256 is in the configured list; or any, if
//     the operator says that whoever asks has checked it before (AnyAPIKey).
//   - an address is that of the connection, or what the trusted proxies say of it.
//
// Keys are told to a limiter, which hashes them: neither a store nor a log nor a
// metric has them.
package identity
