// Package identity finds out, for limits, which client a request comes from: under which
// key it is counted, and in which tier.
//
//	jwt     Authorization: Bearer, a JSON Web Token that verifies   member:<claim>
//	apiKey  X-API-Key, one that is known                            apikey:<hash>
//	ip      the client's address, of IPv6 the network of 64 bits    ip:<address>
//
// A policy names the sources, and the first one that a request has counts. If it has none,
// the address counts, even if the policy does not name it. So every request is counted.
//
// # Why a key must be proven
//
// A client that can choose its key has no limit: with an invented API key in each
// request, each request is the first one of its key. So
//
//   - a token counts only if a key of the configured set signed it, with an algorithm of
//     that key, and its exp, nbf, iss and aud are good. A shared secret, as for HS256,
//     verifies tokens only if the set is a file: others could sign with a secret that a
//     URL serves. A token that does not verify counts as absent, and the next source
//     counts. So garbage gives no new quota, and an expired session no refusal.
//   - an API key counts only if its SHA-256 is in the configured list. With AnyAPIKey
//     every key counts: the gateway has checked it.
//   - an address is that of the connection, or the one that trusted proxies tell.
//
// A limiter hashes the keys: they are in no store, no log and no metric.
package identity
