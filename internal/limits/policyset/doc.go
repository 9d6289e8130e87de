// Package policyset holds the policies of limits that are in force on this server:
// see internal/limits/limit for what a policy is, internal/limits/limiter for who asks.
//
// # One document
//
// All policies are one document with a version. The store keeps it; each server
// reads it twice a second, remembers it, and has the limiter use it. A change is
// made to the version that was read, and to no other. If two operators change the same
// version, the second change reads the document again, and its condition (If-Match) is
// checked again.
//
// # When the store is away, or has lost the policies
//
// The remembered policies stay in force. A server that finds in the store an older
// version than its own, or none, puts its own back. If several servers do, the newest
// version wins in any order. Policies that somebody deleted from the store itself, not
// by a server, come back the same way.
//
// The policies of the configuration, and the server's own, are added if there is no
// policy of that name, and no operator has deleted one. A server that has never reached
// the store has only these in force.
package policyset
