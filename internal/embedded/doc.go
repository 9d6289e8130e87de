// Package embedded is the store that lives in the server's own process: one
// machine, no other program, as fast as memory allows. It gives the same
// answers as package lua; the conformance suite holds the two together.
//
// A zone is one queue under one lock (zone_queue.go; healing.go has
// what a loss brings back). Places are not written to disk: they come
// back with the visitors' own tokens, as they do after the loss of a Redis.
// Settings, and what bounds the healing (see line.Memory), survive in
// zones.json; who was admitted or left, in a journal (journal.go), so that no token is
// used twice. The data directory is locked against a second process.
//
// A change is in force before it is on the disk, and also if it does not get
// there: an operator's pause must not wait for a full disk. NotKept says what a
// restart would not bring back, and why; it is written as soon as that is possible.
package embedded
