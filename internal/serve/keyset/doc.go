// Package keyset keeps the public keys with which signatures of others are verified: a JWK set (RFC 7517) in a file or behind a
// URL. It bounds the size of a set and the time that its server may take, and refuses a key from a URL with which anybody who
// reads the set could sign.
//
// A Set reads its place again in the background. Keys that were read stay in force while the place cannot be read. Package
// identity has a set for bearer tokens and tickets, the public package pass one for passes.
package keyset
