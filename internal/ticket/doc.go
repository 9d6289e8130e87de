// Package ticket knows who is invited. A zone whose settings have an invitation takes joins
// that show a ticket for it alone: a JSON Web Token that the shop has signed, with a key of
// QUEUE_TICKETS_JWKS.
//
//	aud    has the zone
//	event  is the zone's invitation
//	sub    names the one who is invited, or jti where there is no sub
//	exp    until when it may be used to join
//
// # One place
//
// The visitor's id is made of the zone, the invitation and the name: so all joins with tickets
// of one name are one visitor, whose place is taken once, and may be taken again after it was
// given up. Who was let in has used the ticket: it is good for the same admission while that
// lasts, and for nothing more. That is counted by a policy of limits, Policy, for a day, and by the
// servers' store where there is one.
//
// A setting that an event switches on makes an event by invitation.
package ticket
