// Package rehearse plays a waiting room on its worst day, and judges the client that goes
// through it.
//
//	act.go     the acts: each a script of answers for one client
//	rule.go    the rules, and the table "What each answer asks of you" of /openapi.yaml
//	play.go    one act being played: what is answered, and what the client does with it
//	server.go  HTTP: which request is of which act
//	verdict.go what is told of it all
//
// Each act is a zone of its own: a client plays it by joining the zone of that name. So
// acts can be played one after the other, or all at once by as many clients.
//
// Answers are those of the real room: its tokens, passes and problems, made by the same
// code. Every answer carries Connection: close. Without it, some HTTP libraries send a
// request again by themselves when a connection that they used before breaks, and the
// client would be judged by what its library did.
//
// # Times
//
// A pause is measured from when the answer was about to be sent until the next request
// has arrived, so that a slow network or a busy machine makes no client look hasty. In
// a test a client may make its pauses ten times as short as it is told; the rehearsal
// is told so, and multiplies what it measures. How long a call is given stays as it is:
// on a busy machine, less would be no sign of anything.
package rehearse
