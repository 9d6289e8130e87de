package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/token"
)

// Published is a draw with its whole list: all that it takes to check the draw.
type Published struct {
	Draw
	List []Part
}

// ReadPublished reads the answers about a draw, one after the other: the draw itself, then
// the parts of its list.
func ReadPublished(r io.Reader) (p Published, err error) {
	all := json.NewDecoder(r)
	if err := all.Decode(&p.Draw); err != nil {
		return p, fmt.Errorf("schedule: read the draw: %w", err)
	}
	if p.Commitment == "" {
		return p, errors.New("schedule: read the draw: it has no commitment")
	}
	for {
		var part Part
		switch err := all.Decode(&part); {
		case errors.Is(err, io.EOF):
			return p, nil
		case err != nil:
			return p, fmt.Errorf("schedule: read part %d of the list: %w", len(p.List)+1, err)
		}
		p.List = append(p.List, part)
	}
}

// OwnTicket is the ticket that the visitor with the token has in the draw of an event. The token's signature is not
// verified; ok is false for a text that is no token.
func OwnTicket(zoneID, name, tok string) (ticket string, ok bool) {
	id, ok := token.VisitorID(tok)
	t := event.TicketOf(zoneID, name, id)
	return hex.EncodeToString(t[:]), ok
}

// Number is the number of a ticket, 0 for one that is not on the list.
func (p *Published) Number(ticket string) int {
	n := 0
	for _, part := range p.List {
		if i := slices.Index(part.Tickets, ticket); i >= 0 {
			return n + i + 1
		}
		n += len(part.Tickets)
	}
	return 0
}

// Fault says in a sentence why the list is not what the seed makes of it; "" if it is. It goes by what is published, of
// which the seed must be a part. earlier is the draw as somebody kept it before the opening; nil for nothing.
func (p *Published) Fault(earlier *Draw) string {
	seed, fault := p.seed(earlier)
	if fault != "" {
		return fault
	}
	tickets, fault := p.tickets(earlier)
	if fault != "" {
		return fault
	}
	return p.misplaced(seed, tickets)
}

// seed is the seed, if it is the one of the commitment.
func (p *Published) seed(earlier *Draw) (seed event.Seed, fault string) {
	text, err := hex.DecodeString(p.Seed)
	if err != nil || len(text) != len(seed) {
		return seed, fmt.Sprintf("the seed %q is not %d bytes in hexadecimal", p.Seed, len(seed))
	}
	copy(seed[:], text)
	switch {
	case earlier != nil && earlier.Commitment != p.Commitment:
		return seed, fmt.Sprintf("this is another draw: the commitment was %s, and is %s now", earlier.Commitment, p.Commitment)
	case seed.Commitment() != p.Commitment:
		return seed, fmt.Sprintf("the seed is not the one of the commitment %s: its SHA-256 is %s", p.Commitment, seed.Commitment())
	case p.FromMicros >= p.UptoMicros:
		return seed, fmt.Sprintf("there are no places from %d up to %d", p.FromMicros, p.UptoMicros)
	}
	return seed, ""
}

// tickets are the tickets of the list, if that is complete and has each of them once.
func (p *Published) tickets(earlier *Draw) (tickets []event.Ticket, fault string) {
	sum := sha256.New()
	numbers := make(map[event.Ticket]int, max(0, min(p.Tickets, 1<<20)))
	for i, part := range p.List {
		switch {
		case part.ZoneID != p.ZoneID || part.Event != p.Event:
			return nil, fmt.Sprintf("part %d is of %s in %s, not of this draw", i+1, part.Event, part.ZoneID)
		case part.Part != i+1 || part.First != len(tickets)+1:
			return nil, fmt.Sprintf("part %d is missing, or some of it: the next one is part %d and begins with number %d, not %d",
				i+1, part.Part, part.First, len(tickets)+1)
		}
		for _, text := range part.Tickets {
			var t event.Ticket
			if raw, err := hex.DecodeString(text); err != nil || len(raw) != len(t) {
				return nil, fmt.Sprintf("number %d is no ticket: %q", len(tickets)+1, text)
			} else if copy(t[:], raw); numbers[t] > 0 {
				return nil, fmt.Sprintf("ticket %s is there twice, with the numbers %d and %d", text, numbers[t], len(tickets)+1)
			}
			tickets = append(tickets, t)
			numbers[t] = len(tickets)
			sum.Write(t[:])
		}
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	switch {
	case len(p.List) != p.Parts:
		return nil, fmt.Sprintf("the list has %d parts, and should have %d", len(p.List), p.Parts)
	case len(tickets) != p.Tickets:
		return nil, fmt.Sprintf("the list has %d tickets, and should have %d: some were added or dropped", len(tickets), p.Tickets)
	case p.ListHash != "" && p.ListHash != hash:
		return nil, fmt.Sprintf("the list was changed: its SHA-256 is %s, and should be %s", hash, p.ListHash)
	case earlier != nil && earlier.ListHash != "" && earlier.ListHash != hash:
		return nil, fmt.Sprintf("the list was changed since it was published: its SHA-256 is %s, and was %s", hash, earlier.ListHash)
	}
	return tickets, ""
}

// misplaced says which ticket is not where the seed puts it.
func (p *Published) misplaced(seed event.Seed, tickets []event.Ticket) string {
	scores := make([]int64, len(tickets))
	backwards := 0
	for i, t := range tickets {
		if scores[i] = p.Score(seed, t); i > 0 && scores[i] < scores[i-1] {
			backwards++
		}
	}
	if backwards == 0 {
		return ""
	}
	// In a list that has nothing to do with the seed, every other ticket is.
	if n := len(tickets); n >= 10 && backwards >= n/4 {
		return fmt.Sprintf("the order is not that of the seed: %d of %d stand before one whom they should follow, as with the seed of another draw", backwards, n)
	}
	// Of all tickets that are out of place, the one that was moved is the farthest from its place.
	right := slices.Sorted(slices.Values(scores))
	moved, to, farthest := 0, 0, -1
	for i, score := range scores {
		first, _ := slices.BinarySearch(right, score)
		last, _ := slices.BinarySearchFunc(right, score, func(a, b int64) int { return cmp.Or(cmp.Compare(a, b), -1) })
		at := min(max(i, first), last-1)
		if far := max(at-i, i-at); far > farthest {
			moved, to, farthest = i, at, far
		}
	}
	return fmt.Sprintf("ticket %x was moved: it has number %d, and the seed gives it number %d", tickets[moved], moved+1, to+1)
}
