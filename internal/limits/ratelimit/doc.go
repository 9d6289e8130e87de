// Package ratelimit writes down, for whoever was counted, what is left to them: the
// header fields of an answer, and the problem document of a refusal. It is the
// same for the limits' listener and for services that have the limits built in.
//
//	RateLimit-Policy       "api";q=100;w=60      every rule, as it stands
//	RateLimit              "api";r=37;t=12       what is left of each
//	X-RateLimit-Limit      100                   of the rule with least left:
//	X-RateLimit-Remaining  37                    its quota, what is left of it,
//	X-RateLimit-Reset      12                    and t, in seconds
//	Retry-After            3                     with a refusal, in seconds
//
// The first two are structured fields (RFC 9651) as in version 11 of
// draft-ietf-httpapi-ratelimit-headers. Where a policy has several rules they are
// named after their places: "api.1", "api.2".
//
// t is in how many seconds, rounded up, all of the quota is there again. With a
// refusal it is at most Retry-After, since the draft wants nobody to be told to come
// back before the window of r is over. What is not known is left out: when a refusal
// comes from memory, the other rules; when the store is away, all but the policy.
//
// Of X-RateLimit-Reset there are two customs. Seconds from now is the one that
// needs no clock of the client's.
package ratelimit
