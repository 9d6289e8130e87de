// Package guard is what a server does against those who ask too much, before it asks
// the store: joins are limited by address and by clientId, and polls that come
// before their time by place. What is counted is decided here; package limiter counts.
//
//	join ──> joins-client ──> joins-address, joins-zone ──> room ──> store
//	           (clientId)              (address)
//	            429 <───────────────────── 429
//
//	poll before its time ──> polls-token ──> the last answer, from the memory of package zones
//	                            429
//
// A Guard whose Limiter is Unlimited refuses nobody: so it is with QUEUE_DOOR_LIMITS=off.
package guard
