// Package keyset reads the JWK sets (RFC 7517) of those who sign, from a file or a URL,
// and takes nothing on trust: not a set's size, not how long its server takes, and no
// key that whoever reads the set could sign with.
//
// When to read again is the caller's to say: package identity has a set of bearer
// tokens' keys, the public package pass one of passes'.
package keyset
