// Package pass makes the proof of admission that the protected service
// verifies: a JWT (RFC 7519), signed with EdDSA over Ed25519 (RFC 8037), ES256 or RS256 (RFC 7518).
//
// # Claims
//
//	header  alg    EdDSA, ES256 or RS256
//	        typ    JWT
//	        kid    the key's thumbprint (RFC 7638)
//	claims  iss    who signed: the installation's name, DefaultIssuer unless the operator
//	               set another
//	        aud    the zone that let the visitor in, for gateways that look there
//	        zone   the zone, as in aud
//	        sub    the visitor's id, 16 hex digits
//	        admittedAt  when the visitor was admitted, in Unix milliseconds
//	        iat    10 s before that, in whole Unix seconds, rounded down: some verifiers
//	               refuse a pass from their future, and their clocks may be behind
//	        exp    until when the pass is good, in whole Unix seconds, rounded down: it
//	               never outlives the admission, and ends up to 999 ms before it
//	        jti    a UUID made from zone, id and time of admission
//	        local  true if a server let the visitor in by itself while the store
//	               was away; absent otherwise
//
// A service must check that aud, or zone, is its own zone, and that iss is what it expects: all zones of an installation
// have the same keys, and so has every other installation with the same secret. To accept each admission once, it
// remembers jti until exp. The public package pass does all of this; docs/integrate/pass.md shows how in other languages.
//
// A pass is a pure function of the admission and the key. A poll that is repeated after admission, on any server, gets
// the same pass to the byte while the newest secret is the same, and the same jti and exp in any case.
//
// # Keys
//
// HKDF-SHA256 derives an Ed25519 seed and a key of P-256 from each secret, without a salt, each with an info string of its own. So all
// servers that share the secrets share the keys. Keys for RS256 are a file's. The newest key of the algorithm that the operator chose
// signs; the public keys of all are published as a JWK set. Each algorithm signs the same pass the same: ES256 as RFC 6979 says.
package pass
