// Package embedded is the store that lives in the server's own process: one
// machine, no other program, as fast as memory allows. It gives the same
// answers as package lua; the conformance suite holds the two together.
//
// A zone is one queue under one lock (zone_queue.go; healing.go says
// which places come back after a loss). Places in the line are not written to disk: they come
// back with the visitors' own tokens, as they do after the loss of a Redis.
// Settings, and what bounds the healing (see line.Memory), survive in
// zones.json. A journal (journal.go) has the visitors who were admitted or left, so that
// no token is used twice. Another has the places that are set aside, since nobody polls for them, and a third one
// the keys that were spent (spend.go). The data directory is locked against a second process.
//
// A change is in force before it is on the disk, even if it cannot be written: an
// operator's pause must not wait for a full disk. NotKept says why a restart would
// not bring back all that is in force. What is missing is written as soon as possible. A visitor who is admitted waits for
// the journal, but not for a disk that hangs: NotKept says that, too.
package embedded
