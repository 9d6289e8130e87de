// Package keyset reads the JWK sets (RFC 7517) with which signatures of others are verified,
// from a file or a URL. It bounds the size of a set and the time that its server may take,
// and refuses a key from a URL with which anybody who reads the set could sign.
//
// The caller decides when to read a set again. Package identity has a set of keys for bearer
// tokens, the public package pass one for passes.
package keyset
