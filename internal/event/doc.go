// Package event is the arithmetic of sales that have a time: what an operator lists, when
// each of its steps is due, and the draw that can be proved to be fair.
//
// # Time
//
//	   preQueueAt            settles             opensAt        closesAt     endsAt
//	-------|--------------------|-------------------|---------------|-----------|---->
//	       people gather:       places are fixed,   people are      no          the settings
//	       nobody's number      numbers are told,   admitted        newcomers   from before
//	       is known             appointments made
//
// People settle drawClosesSeconds before the opening, in either order: by then a draw is
// closed, and those at the front hear in time when to be there.
//
// # The draw
//
// The seed of a draw is 32 bytes. Its SHA-256, the commitment, is public before anybody can
// gather; the seed itself from the opening on. With || for one after the other:
//
//	ticket = first 16 bytes of SHA-256(zone || 0 || event || 0 || visitor's id, 8 bytes)
//	h      = first 8 bytes of HMAC-SHA256(seed, ticket), big-endian
//	score  = fromMicros + floor(h * (uptoMicros - fromMicros) / 2^64)
//
// The line is in the order of scores. Two visitors may have one score: a million of them,
// in ten minutes, about 800 pairs; the order of such two says nothing.
package event
