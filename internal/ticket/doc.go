// Package ticket knows who is invited. A zone whose settings have an invitation accepts a join only with a ticket for
// that invitation: a JSON Web Token that the shop has signed, with a key of QUEUE_TICKETS_JWKS.
//
//	aud    has the zone
//	event  is the zone's invitation
//	sub    names the invited person; without sub, jti does
//	exp    until when the ticket may be used to join
//
// # One place
//
// The visitor's id is made of the zone, the invitation and the name. So all joins with tickets of one name are one
// visitor, who has one place at a time, and may take a place again after giving one up. Once the visitor is admitted, the
// ticket is used: it is good for the same pass until that begins a session, and then moves the visit to another device, where
// the first one's ends. The store keeps a ticket's newest visit until a day after its end (store.Spender). While the store is
// away, nobody joins by ticket, and nobody is given an admission by one.
//
// For an event by invitation, the event's settings include the invitation.
package ticket
