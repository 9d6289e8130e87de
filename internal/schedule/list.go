package schedule

import "context"

// list is what this server knows of the list of a draw. It has 16 bytes a ticket, so that a store which loses the list
// gets the same one back: who was let in meanwhile comes back to no line.
type list struct {
	// head is that of a list which is done; nil as long as the list is not known.
	head    *head
	tickets []byte
	// lookMillis is when to look for it again.
	lookMillis int64
}

// list returns what is known of a draw's list. One goroutine, that of RunOnce, uses it.
func (s *Schedule) list(nonce string) *list {
	if s.lists[nonce] == nil {
		s.lists[nonce] = new(list)
	}
	return s.lists[nonce]
}

// remember takes over a list that another server has written.
func (s *Schedule) remember(ctx context.Context, zoneID string, l *list, h *head) error {
	var tickets []byte
	for n := range h.Parts {
		part, err := s.Zones.Draw(ctx, zoneID, partName(h), n+1)
		if err != nil || part == nil {
			return err // nil: it is lost already, and who asks for it is told so
		}
		tickets = append(tickets, part...)
	}
	l.head, l.tickets = h, tickets
	return nil
}

// restore writes a list anew that the store has lost.
func (s *Schedule) restore(ctx context.Context, zoneID string, l *list) error {
	h := *l.head
	if err := s.keep(ctx, zoneID, &h, l.tickets); err != nil {
		return err
	}
	l.head = &h
	s.Logger.Warn("the store had lost the list of a draw, and has it again", "zone", zoneID, "event", h.Event, "tickets", h.Tickets)
	return nil
}
