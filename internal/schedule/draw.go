package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// ErrNoDraw: the zone has had no draw under that name lately, or there is no list of it.
var ErrNoDraw = refusal.New("schedule: no such draw", refusal.Refusal{
	Status: http.StatusNotFound, Code: "draw_unknown",
	Title:   "There is no such draw",
	Detail:  "The zone has had no draw under that name in the last week, or the draw has not closed yet: its list is there a few seconds later.",
	Readers: refusal.Visitors,
	Doc: "The zone has had no draw under this name in the last week, or the draw has not closed yet. The list is " +
		"there from a few seconds after the draw has closed.",
})

// Draw is what everybody may know of a draw.
type Draw struct {
	ZoneID string `json:"zoneId"`
	event.Draw
	// Seed is the seed in hexadecimal, from the opening on; absent before.
	Seed string `json:"seed,omitempty"`
	// Tickets is how many are on the list. ListHash is the list's SHA-256, in hexadecimal; absent while there is no list.
	// It is there before the seed is.
	Tickets  int    `json:"tickets,omitempty"`
	ListHash string `json:"listHash,omitempty"`
}

// list is the list of a draw: the tickets one after the other, in the order of their numbers.
type list struct {
	tickets []byte
	hash    string
	// lookMillis is when to look again whether the store has it.
	lookMillis int64
}

func newList(tickets []byte) *list {
	sum := sha256.Sum256(tickets)
	return &list{tickets: tickets, hash: hex.EncodeToString(sum[:])}
}

// list returns what this server remembers of the list of a draw; nil for nothing.
func (s *Schedule) list(nonce string) *list {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[nonce]
}

// Draw returns the latest draw of an event. The error is a *serve.FieldError, ErrNoDraw or one of the store's.
func (s *Schedule) Draw(ctx context.Context, zoneID, name string) (Draw, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return Draw{}, err
	}
	z, err := s.Zones.Zone(ctx, zoneID)
	if err != nil {
		return Draw{}, err
	}
	i := lastIndex(z.EventState.Draws, name)
	if i < 0 {
		return Draw{}, ErrNoDraw
	}
	d := Draw{ZoneID: zoneID, Draw: z.EventState.Draws[i]}
	opened := true
	if now := z.EventState.Draw(); now != nil && now.Nonce == d.Nonce {
		_, opened = z.EventState.Now.Step(event.StepOpens)
	}
	if seed, known := s.Seeds.Seed(zoneID, d.Draw); known && opened {
		d.Seed = hex.EncodeToString(seed[:])
	}
	if l := s.list(d.Nonce); l != nil {
		d.Tickets, d.ListHash = len(l.tickets)/len(event.Ticket{}), l.hash
	}
	return d, nil
}

// List returns the tickets of the draw that Draw returns, 16 bytes each, in the order of their numbers. The caller must
// not change them. Its errors are those of Draw; ErrNoDraw, too, while there is no list.
func (s *Schedule) List(ctx context.Context, zoneID, name string) (Draw, []byte, error) {
	d, err := s.Draw(ctx, zoneID, name)
	if err != nil {
		return d, nil, err
	}
	l := s.list(d.Nonce)
	if l == nil || l.hash != d.ListHash {
		return d, nil, ErrNoDraw
	}
	return d, l.tickets, nil
}

func lastIndex(draws []event.Draw, name string) int {
	for i := range slices.Backward(draws) {
		if draws[i].Event == name {
			return i
		}
	}
	return -1
}

// ReadTickets reads a list.
func ReadTickets(list []byte) ([]event.Ticket, error) {
	if len(list)%len(event.Ticket{}) != 0 {
		return nil, fmt.Errorf("schedule: a list of %d bytes is no whole number of tickets", len(list))
	}
	all := make([]event.Ticket, 0, len(list)/len(event.Ticket{}))
	for ticket := range slices.Chunk(list, len(event.Ticket{})) {
		all = append(all, event.Ticket(ticket))
	}
	return all, nil
}
