package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// publishAfter is how long after people have settled the list is begun, in
	// milliseconds: joins that were on their way have ended.
	publishAfter = 1_000
	// claimLife is after how long another server begins a list anew, in milliseconds. A
	// million take some 5 s.
	claimLife = 8_000
)

// head is what is kept of a draw, as part 0.
type head struct {
	event.Draw
	// By is who writes the list, and the name under which its parts are, 1 to Parts.
	By string `json:"by"`
	// ClaimedMillis is when that was begun. Done: the list is there, of so many Tickets.
	ClaimedMillis int64 `json:"claimed"`
	Done          bool  `json:"done"`
	Parts         int   `json:"parts"`
	Tickets       int   `json:"tickets"`
	// ListHash is Draw's.
	ListHash string `json:"listHash,omitempty"`
}

// readHead returns what is kept of the latest draw of an event; nil for none.
func (s *Schedule) readHead(ctx context.Context, zoneID, name string) (*head, error) {
	text, err := s.Zones.Draw(ctx, zoneID, name, 0)
	if err != nil || text == nil {
		return nil, err
	}
	h := new(head)
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("schedule: a draw is damaged: %w", err)
	}
	return h, nil
}

func (s *Schedule) keepHead(ctx context.Context, zoneID string, h *head) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return s.Zones.KeepDraw(ctx, zoneID, h.Event, 0, text)
}

// publish writes the list of the zone's draw, once people have settled and before the first
// of them are let in.
func (s *Schedule) publish(ctx context.Context, z zone.Settings, nowMillis int64) error {
	p, d := z.EventState.Now, z.EventState.Draw()
	if d == nil || p.Phase == event.PhaseAnnounced || nowMillis < d.SettlesAtMillis+publishAfter || s.knows(d.Nonce) {
		return nil
	}
	h, err := s.readHead(ctx, z.ZoneID, d.Event)
	switch {
	case err != nil:
		return err
	case h != nil && h.Nonce == d.Nonce && h.Done, nowMillis >= p.OpensAtMillis:
		s.know(d.Nonce)
		return nil
	case h != nil && h.Nonce == d.Nonce && nowMillis < h.ClaimedMillis+claimLife:
		return nil // another server is at it
	}
	h = &head{Draw: *d, By: s.writer, ClaimedMillis: nowMillis}
	if err := s.keepHead(ctx, z.ZoneID, h); err != nil {
		return err
	}
	var last line.Place
	sum := sha256.New()
	for {
		some, err := s.Zones.Drawn(ctx, z.ZoneID, last, d.FromMicros, d.UptoMicros)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			break
		}
		tickets := make([]byte, 0, len(some)*len(event.Ticket{}))
		for _, one := range some {
			t := event.TicketOf(z.ZoneID, d.Event, one.ID)
			tickets = append(tickets, t[:]...)
		}
		sum.Write(tickets)
		h.Parts++
		h.Tickets += len(some)
		if err := s.Zones.KeepDraw(ctx, z.ZoneID, partName(h), h.Parts, tickets); err != nil {
			return err
		}
		last = some[len(some)-1]
		if len(some) < store.DrawnBatch {
			break
		}
	}
	h.Done, h.ListHash = true, hex.EncodeToString(sum.Sum(nil))
	if err := s.keepHead(ctx, z.ZoneID, h); err != nil {
		return err
	}
	s.know(d.Nonce)
	s.Logger.Info("the list of a draw is published", "zone", z.ZoneID, "event", d.Event, "tickets", h.Tickets, "parts", h.Parts)
	return nil
}

// partName is that of the parts of a list.
func partName(h *head) string { return h.Event + "." + h.By }

func (s *Schedule) knows(nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[nonce]
}

func (s *Schedule) know(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published[nonce] = true
}
