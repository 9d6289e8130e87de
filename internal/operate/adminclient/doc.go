// Package adminclient is the operators' API from the other side: what the command
// line asks a running server.
//
//	Client ── GET, PUT, PATCH, DELETE under /admin ──> a server's operators' listener
//	   |
//	   Request: one of the calls in the tables of routes, by its ID
//	   Reply: what came back, decoded, and as it came, for scripts
//	   ProblemError: a refusal, with its status, code and sentence
//	   ErrUnreachable: no answer, or none of a waiting room
//
// A call is made once. What reads may be repeated by whoever calls; what writes
// may be, too, when the error is ErrUnreachable or ErrUnavailable, since every
// change says what is to be, not by how much; but then somebody else's change
// may have come between, unless the call names the version that it changes
// (Reply.Version).
//
// Answers are decoded leniently: a newer server may say more than this client
// knows, an older one less.
package adminclient
