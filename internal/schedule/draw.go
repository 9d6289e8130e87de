package schedule

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/store"
)

// ErrNoDraw: the zone has had no draw under that name lately, or no such part of its list.
var ErrNoDraw = errors.New("schedule: no such draw")

// Draw is what everybody may know of a draw.
type Draw struct {
	ZoneID string `json:"zoneId"`
	event.Draw
	// Seed is the seed in hexadecimal, from the opening on; absent before.
	Seed string `json:"seed,omitempty"`
	// Tickets is how many are on the list, in so many Parts; absent before it is there.
	Tickets int `json:"tickets,omitempty"`
	Parts   int `json:"parts,omitempty"`
	// ListHash is the SHA-256 of all tickets of the list, one after the other, in
	// hexadecimal. It is there before the seed is.
	ListHash string `json:"listHash,omitempty"`
}

// Part is a part of the list of a draw.
type Part struct {
	ZoneID string `json:"zoneId"`
	Event  string `json:"event"`
	Part   int    `json:"part"`
	Parts  int    `json:"parts"`
	// First is the number of the first ticket: 1 in part 1.
	First int `json:"first"`
	// Tickets are in the order of their numbers, in hexadecimal.
	Tickets []string `json:"tickets"`
}

// Draw returns the latest draw of an event. The error is a *serve.FieldError, ErrNoDraw or one of the store's.
func (s *Schedule) Draw(ctx context.Context, zoneID, name string) (Draw, error) {
	d, _, err := s.find(ctx, zoneID, name)
	return d, err
}

// find returns the latest draw of an event, and the head of its list; nil while there is no list.
func (s *Schedule) find(ctx context.Context, zoneID, name string) (Draw, *head, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return Draw{}, nil, err
	}
	z, err := s.Zones.Zone(ctx, zoneID)
	if err != nil {
		return Draw{}, nil, err
	}
	if !event.ValidName(name) {
		return Draw{}, nil, ErrNoDraw
	}
	h, err := s.readHead(ctx, zoneID, name)
	if err != nil {
		return Draw{}, nil, err
	}
	d := Draw{ZoneID: zoneID}
	opened := true
	switch i := lastIndex(z.EventState.Draws, name); {
	case i >= 0:
		d.Draw = z.EventState.Draws[i]
		if now := z.EventState.Draw(); now != nil && now.Nonce == d.Nonce {
			phase := z.EventState.Now.Phase
			opened = phase == event.PhaseOpen || phase == event.PhaseClosed
		}
	case h != nil:
		d.Draw = h.Draw
	default:
		return Draw{}, nil, ErrNoDraw
	}
	if seed, known := s.Seeds.Seed(zoneID, d.Draw); known && opened {
		d.Seed = hex.EncodeToString(seed[:])
	}
	if h == nil || h.Nonce != d.Nonce || !h.Done {
		return d, nil, nil
	}
	d.Tickets, d.Parts, d.ListHash = h.Tickets, h.Parts, h.ListHash
	return d, h, nil
}

func lastIndex(draws []event.Draw, name string) int {
	for i := range slices.Backward(draws) {
		if draws[i].Event == name {
			return i
		}
	}
	return -1
}

// Part returns a part of the list of the draw that Draw returns, counted from 1. Its errors are those of Draw.
func (s *Schedule) Part(ctx context.Context, zoneID, name, part string) (Part, error) {
	_, h, err := s.find(ctx, zoneID, name)
	if err != nil {
		return Part{}, err
	}
	n, err := strconv.Atoi(part)
	if h == nil || err != nil || n < 1 || n > h.Parts {
		return Part{}, ErrNoDraw
	}
	text, err := s.Zones.Draw(ctx, zoneID, partName(h), n)
	if err != nil {
		return Part{}, err
	}
	if text == nil {
		return Part{}, fmt.Errorf("%w: part %d is not kept any more", ErrNoDraw, n)
	}
	p := Part{ZoneID: zoneID, Event: name, Part: n, Parts: h.Parts, First: (n-1)*store.DrawnBatch + 1}
	for ticket := range slices.Chunk(text, len(event.Ticket{})) {
		p.Tickets = append(p.Tickets, hex.EncodeToString(ticket))
	}
	return p, nil
}
