// Package limits has no code: it is the wing of rate limiting, a product of its own.
// Its packages know nothing of waiting; what is in front of a visitor's way (package
// guard) and package limit, for services of others, are made of them.
//
//	limit        rules, policies and what they are counted with: words and arithmetic, pure
//	limit/local  the counts, in the server's own memory; the other counts are Redis's, in lua
//	limiter      decides, for whoever asks; what holds while the store is away; what was seen
//	policyset    the policies in force; operators read and change them
//	ratelimit    what a client is told: header fields, and the refusal
//	checkapi     the limits' listener: other services and gateways ask there
//	identity     who is counted, of what a gateway forwards: address, API key, token
//	address      where a request came from, behind proxies
//
// They import one another downwards: checkapi, then identity and ratelimit, then limiter, then
// limit. Of what lies outside, they import zone, line and serve.
package limits
