package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// publishAfter is how long after people have settled the list is begun, in
	// milliseconds: joins that were on their way have ended.
	publishAfter = 1_000
	// claimLife is after how long another server begins a list anew, in milliseconds. A
	// million take some 5 s.
	claimLife = 8_000
	// lookEvery is how often it is looked whether a list is still there, in milliseconds.
	lookEvery = 2_000
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

// publish has the lists of the zone's draws be there.
func (s *Schedule) publish(ctx context.Context, z zone.Settings, now line.State) error {
	for i, d := range z.EventState.Draws {
		if lastIndex(z.EventState.Draws, d.Event) != i || now.NowMillis < d.SettlesAtMillis+publishAfter ||
			now.NowMillis >= d.OpensAtMillis+store.DrawLife.Milliseconds() {
			continue
		}
		next := z.EventState.Draw()
		gathered := next != nil && next.Nonce == d.Nonce && z.EventState.Now.Phase != event.PhaseAnnounced
		// A line that was lost is whole when everybody has polled.
		whole := now.NowMillis >= now.LostAtMillis+window.FreezeMillis
		if err := s.see(ctx, z.ZoneID, &d, now.NowMillis, gathered && whole && now.NowMillis < d.OpensAtMillis); err != nil {
			return err
		}
	}
	return nil
}

// see looks for the list of a draw. Where it is not there, it is written from what this server remembers, or, if
// that may be, from the line.
func (s *Schedule) see(ctx context.Context, zoneID string, d *event.Draw, nowMillis int64, fromLine bool) error {
	l := s.list(d.Nonce)
	if nowMillis < l.lookMillis {
		return nil
	}
	h, err := s.readHead(ctx, zoneID, d.Event)
	switch {
	case err != nil:
	case h != nil && h.Nonce == d.Nonce && h.Done:
		if l.head == nil {
			err = s.remember(ctx, zoneID, l, h)
		}
	case h != nil && h.Nonce == d.Nonce && nowMillis < h.ClaimedMillis+claimLife:
		return nil // another server is at it
	case l.head != nil:
		err = s.restore(ctx, zoneID, l)
	case fromLine:
		err = s.write(ctx, zoneID, d, l, nowMillis)
	}
	if err == nil {
		l.lookMillis = nowMillis + lookEvery
	}
	return err
}

// write writes the list from the line.
func (s *Schedule) write(ctx context.Context, zoneID string, d *event.Draw, l *list, nowMillis int64) error {
	h := &head{Draw: *d, By: s.writer, ClaimedMillis: nowMillis}
	if err := s.keepHead(ctx, zoneID, h); err != nil {
		return err
	}
	var tickets []byte
	for last := (line.Place{}); ; {
		some, err := s.Zones.Drawn(ctx, zoneID, last, d.FromMicros, d.UptoMicros)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			break
		}
		for _, one := range some {
			t := event.TicketOf(zoneID, d.Event, one.ID)
			tickets = append(tickets, t[:]...)
		}
		last = some[len(some)-1]
	}
	sum := sha256.Sum256(tickets)
	h.Done, h.ListHash, h.Tickets = true, hex.EncodeToString(sum[:]), len(tickets)/len(event.Ticket{})
	if err := s.keep(ctx, zoneID, h, tickets); err != nil {
		return err
	}
	l.head, l.tickets = h, tickets
	s.Logger.Info("the list of a draw is published", "zone", zoneID, "event", d.Event, "tickets", h.Tickets, "parts", h.Parts)
	return nil
}

// partBytes is how long each part of a list is, but for the last.
const partBytes = store.DrawnBatch * len(event.Ticket{})

// keep writes the parts of a list under a name of this server's own, and the head last: there is never half a list
// that looks whole.
func (s *Schedule) keep(ctx context.Context, zoneID string, h *head, tickets []byte) error {
	h.By, h.Parts = s.writer, 0
	for part := range slices.Chunk(tickets, partBytes) {
		h.Parts++
		if err := s.Zones.KeepDraw(ctx, zoneID, partName(h), h.Parts, part); err != nil {
			return err
		}
	}
	return s.keepHead(ctx, zoneID, h)
}

// partName is that of the parts of a list.
func partName(h *head) string { return h.Event + "." + h.By }
