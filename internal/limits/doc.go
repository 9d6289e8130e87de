// Package limits has no code: it is the wing of rate limiting, a product of its own.
// Its packages know nothing of waiting. Package guard, through which visitors' requests
// pass, and the public package limit, for services of others, are made of them.
//
//	limit        rules, policies and states: pure words and arithmetic
//	limit/local  the counts in the server's own memory; package lua has those in Redis
//	limiter      decides for all who ask, also while the store is away; counts decisions
//	policyset    the policies in force; operators read and change them
//	ratelimit    what a client is told: header fields, and the refusal
//	checkapi     the limits' listener, which other services and gateways ask
//	identity     who is counted: address, API key or token of a request
//	address      where a request came from, behind proxies
//
// They import one another downwards: checkapi, then identity and ratelimit, then limiter, then
// limit. Of what lies outside, they import zone, line and serve.
package limits
