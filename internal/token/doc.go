// Package token makes and checks the signed strings that a visitor holds: the token, which carries a place in one zone's
// line, and the session on a site (see Sessions). Whoever holds the string holds the place, or the session.
//
// # Layout
//
// A token is 56 or 62 characters of base64url without padding, over 42 or 46 bytes:
//
//	byte   0       version: 1, 2 for a visitor who was admitted, or 3 for one who was told a position
//	byte   1       key id: which secret signed it
//	bytes  2..9    the visitor's id
//	bytes 10..17   arrival, Unix microseconds, big-endian
//	bytes 18..21   epoch of the zone's data, big-endian; not 0
//	bytes 22..25   when the visitor was told to poll again, Unix seconds, rounded
//	               down, big-endian; in version 2 when it was admitted, in milliseconds
//	               after the arrival, with a sign
//	bytes 26..29   in version 3 alone: the position that the visitor was last told, big-endian
//	16 bytes       the first 128 bits of
//	               HMAC-SHA256(token key, length of zone | zone | all bytes before)
//
// Every answer renews the token, so the newest token of a place says how lately its visitor was in the line. That
// matters only if a store has lost the place: see package line.
//
// The request names the zone, and the code covers it, so a token of one zone is worth nothing in another. The zone's length has
// 4 bytes, big-endian. Nothing in a token is hidden, only signed: a visitor may read the id and the arrival.
//
// Base64 that decodes to the same bytes but is written otherwise is refused.
//
// # Keys
//
// A secret is never used as it is. HKDF-SHA256 derives from each one, without
// a salt, one key for one use, told apart by its info string:
//
//	"openqueue/waitingroom/v1 token key"        signs tokens
//	"openqueue/waitingroom/v1 token key id"     one byte: the key id
//	"openqueue/waitingroom/v1 visitor id key"   turns a clientId into an id (of the first secret: Keys.UseVisitorKey)
//	"openqueue/waitingroom/v1 session key"      signs sessions
//	"openqueue/waitingroom/v1 draw key"         makes the seeds of draws
//	"openqueue/waitingroom/v1 challenge key"    signs challenges
//
// The newest secret signs and all of them verify. The key id saves trying
// every secret; two secrets that happen to share one are both tried.
//
// # Sessions
//
// A visitor who was let into a site holds a session: 71 characters of base64url without
// padding, over 53 bytes.
//
//	byte   0       version, 1
//	bytes  1..16   the admission: jti of the pass
//	bytes 17..24   when it began, Unix seconds, big-endian; a renewal keeps it
//	bytes 25..32   when this text was issued, Unix seconds, big-endian
//	bytes 33..36   for how many seconds it is good from then on, big-endian
//	bytes 37..52   the first 128 bits of
//	               HMAC-SHA256(session key, length of zone | zone | bytes 0..36)
//
// # What else follows from a secret
//
// The seed of a draw is HMAC-SHA256(draw key, length of zone | zone | nonce), so it is stored nowhere. A visitor with a clientId
// has the first 64 bits of HMAC-SHA256(visitor id key, length of zone | zone | clientId) as id, so a repeated join finds
// the same place. One without gets 64 random bits.
package token
