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
// The policies that are remembered stay in force. A server that finds an older
// version in the store than the one that it remembers, or none, puts its own back:
// of several servers the newest version wins, whoever is first. Policies that were
// deleted from the store behind the servers' back come back the same way.
//
// What the configuration names, and the server's own defaults, are added where a
// policy of that name is absent, and was not deleted by an operator.
// A server that has never reached the store goes by those alone.
package policyset
