// Package pass makes the proof of admission that the protected service
// verifies: a JWT signed with EdDSA over Ed25519 (RFC 7519, RFC 8037).
//
// # Claims
//
//	header  alg    EdDSA
//	        typ    JWT
//	        kid    the key's thumbprint (RFC 7638)
//	claims  iss    who signed: the installation's name, DefaultIssuer unless the operator
//	               set another
//	        aud    the zone that let the visitor in, for gateways that look there
//	        zone   the same
//	        sub    the visitor's id, 16 hex digits
//	        iat    when, in whole Unix seconds, rounded down
//	        exp    until when, the same: the pass never outlives the admission,
//	               and ends up to 999 ms before it
//	        jti    a UUID made from zone, id and time of admission
//	        local  true if a server let the visitor in by itself while the store
//	               was away; absent otherwise
//
// A service must check that aud, or zone, is its own, and iss what it expects: the keys
// are those of all zones of the installation, and of every other with the same secret.
// It may remember jti until exp to take each admission
// once. The public package pass does all of it; docs/pass.md shows how in other languages.
//
// All of a pass follows from the admission and the key. A poll that is repeated
// after admission, on any server, gets the same pass to the byte, as long as
// the newest secret is the same, and the same jti and exp in any case.
//
// # Keys
//
// HKDF-SHA256 derives an Ed25519 seed from each secret, without a salt, with
// the info string "openqueue/waitingroom/v1 pass key". So all servers that
// share the secrets share the keys, and need no other configuration. The newest
// secret's key signs; the public keys of all are published as a JWK set.
package pass
