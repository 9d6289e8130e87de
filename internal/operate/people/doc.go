// Package people knows who operates the room: persons and machines, what each may do, and in which zones.
//
//	identity.go  Identity: who asks, how that was proven, and what they may do
//	book.go      the document that a store keeps: tokens, and what has ended; how it is signed
//	registry.go  Registry: what is in force on this server; reads the store twice a second
//	session.go   sessions of the console
//	http.go      the calls for tokens
//
// A token is a name, a role and zones, with 256 random bits that are shown once. The store keeps its SHA-256 in a document that
// is signed with a key of the room's secret, so whoever writes to the store makes no operator. The document also has what has
// ended before its time: tokens that were revoked, sessions that were logged out, people whose sessions were ended. Servers never
// forget such an end: they put it back where a store lost it, and it holds while the store is away.
package people
