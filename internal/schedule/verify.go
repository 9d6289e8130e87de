package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/event"
)

// Fault says in a sentence why the list is not what the seed of the draw makes of it; "" if it is. earlier is the draw as
// somebody kept it before the opening; nil for nothing.
func (d *Draw) Fault(list []byte, earlier *Draw) string {
	seed, fault := d.seed(earlier)
	if fault != "" {
		return fault
	}
	tickets, fault := d.tickets(list, earlier)
	if fault != "" {
		return fault
	}
	wrong, first := 0, 0
	for i := 1; i < len(tickets); i++ {
		if d.Score(seed, tickets[i]) < d.Score(seed, tickets[i-1]) {
			if wrong++; first == 0 {
				first = i
			}
		}
	}
	if wrong > 0 {
		return fmt.Sprintf("the order is not that of the seed: %x has number %d, and the seed puts it behind %x, which has number %d; %d of %d neighbours stand so",
			tickets[first-1], first, tickets[first], first+1, wrong, len(tickets)-1)
	}
	return ""
}

// seed is the seed, if it is the one of the commitment.
func (d *Draw) seed(earlier *Draw) (seed event.Seed, fault string) {
	text, err := hex.DecodeString(d.Seed)
	if err != nil || len(text) != len(seed) {
		return seed, fmt.Sprintf("the seed %q is not %d bytes in hexadecimal", d.Seed, len(seed))
	}
	copy(seed[:], text)
	switch {
	case earlier != nil && earlier.Commitment != d.Commitment:
		return seed, fmt.Sprintf("this is another draw: the commitment was %s, and is %s now", earlier.Commitment, d.Commitment)
	case seed.Commitment() != d.Commitment:
		return seed, fmt.Sprintf("the seed is not the one of the commitment %s: its SHA-256 is %s", d.Commitment, seed.Commitment())
	case d.FromMicros >= d.UptoMicros:
		return seed, fmt.Sprintf("there are no places from %d up to %d", d.FromMicros, d.UptoMicros)
	}
	return seed, ""
}

// tickets are the tickets of the list, if it is the one that was published and has each of them once.
func (d *Draw) tickets(list []byte, earlier *Draw) (tickets []event.Ticket, fault string) {
	tickets, err := ReadTickets(list)
	sum := sha256.Sum256(list)
	hash := hex.EncodeToString(sum[:])
	switch {
	case err != nil || len(tickets) != d.Tickets:
		return nil, fmt.Sprintf("the list has %d bytes, and should have %d tickets of %d: some were added or dropped", len(list), d.Tickets, len(event.Ticket{}))
	case d.ListHash != hash:
		return nil, fmt.Sprintf("the list was changed: its SHA-256 is %s, and should be %s", hash, d.ListHash)
	case earlier != nil && earlier.ListHash != "" && earlier.ListHash != hash:
		return nil, fmt.Sprintf("the list was changed since it was published: its SHA-256 is %s, and was %s", hash, earlier.ListHash)
	}
	sorted := slices.Clone(tickets)
	slices.SortFunc(sorted, func(a, b event.Ticket) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return nil, fmt.Sprintf("ticket %x is there twice", sorted[i])
		}
	}
	return tickets, ""
}
