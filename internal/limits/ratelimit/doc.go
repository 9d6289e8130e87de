// Package ratelimit tells a client what is left of its limits: the header fields of an
// answer, and the problem document of a refusal. They are the same from the limits'
// listener and from services that have the limits built in.
//
//	RateLimit-Policy       "api";q=100;w=60      every rule: quota and window
//	RateLimit              "api";r=37;t=12       what is left of each
//	X-RateLimit-Limit      100                   of the rule with least left:
//	X-RateLimit-Remaining  37                    its quota, what is left of it,
//	X-RateLimit-Reset      12                    and t, in seconds
//	Retry-After            3                     with a refusal, in seconds
//
// The first two are structured fields (RFC 9651) as in version 11 of
// draft-ietf-httpapi-ratelimit-headers. If a policy has several rules, their numbers
// follow the name: "api.1", "api.2".
//
// t is in how many seconds, rounded up, all of the quota is there again. With a refusal
// it is at most Retry-After: by the draft, no client may be told to come back before t
// has passed. What is not known is left out: with a refusal from memory, what is left of
// several rules; while the store is away, all but the policy.
//
// X-RateLimit-Reset is in use for seconds from now, and for a time of the clock. Here it
// is seconds from now, for which a client needs no clock.
package ratelimit
