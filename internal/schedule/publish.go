package schedule

import (
	"context"
	"encoding/json"
	"fmt"

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

// publish has the lists of the zone's draws be there. more: one of them is under way.
func (s *Schedule) publish(ctx context.Context, z zone.Settings) (more bool, err error) {
	if len(z.EventState.Draws) == 0 {
		return false, nil
	}
	stats, err := s.Zones.Stats(ctx, z.ZoneID)
	if err != nil {
		return false, err
	}
	now := stats.State
	for i, d := range z.EventState.Draws {
		if lastIndex(z.EventState.Draws, d.Event) != i || now.NowMillis < d.SettlesAtMillis+publishAfter ||
			now.NowMillis >= d.OpensAtMillis+store.DrawLife.Milliseconds() {
			continue
		}
		next := z.EventState.Draw()
		gathered := next != nil && next.Nonce == d.Nonce && z.EventState.Now.Phase != event.PhaseAnnounced
		// A line that was lost is whole when everybody has polled.
		whole := now.NowMillis >= now.LostAtMillis+window.FreezeMillis
		goesOn, err := s.see(ctx, z.ZoneID, &d, now, gathered && whole && now.NowMillis < d.OpensAtMillis)
		if err != nil {
			return false, err
		}
		more = more || goesOn
	}
	return more, nil
}

// see looks for the list of a draw. Where it is not there, it is written from what this server remembers, or, if
// that may be, from the line. more: it is under way.
func (s *Schedule) see(ctx context.Context, zoneID string, d *event.Draw, now line.State, fromLine bool) (more bool, err error) {
	l := s.list(d.Nonce)
	if l.work == nil && now.NowMillis < l.lookMillis {
		return false, nil
	}
	h, err := s.readHead(ctx, zoneID, d.Event)
	if err != nil {
		return false, err
	}
	there := h != nil && h.Nonce == d.Nonce
	switch {
	case there && h.Done && l.head == nil:
		more, err = s.remember(ctx, zoneID, l, h)
	case there && h.Done:
		l.work = nil
	case there && h.By != s.writer && now.NowMillis < h.ClaimedMillis+claimLife:
		return false, nil // another server is at it
	case l.head != nil:
		if l.work == nil {
			l.work = &work{head: head{Draw: *d, By: s.writer}, tickets: l.tickets, whole: true}
		}
		more, err = s.write(ctx, zoneID, l, now.NowMillis)
	case l.work != nil && l.work.head.By == s.writer && l.work.lostMillis == now.LostAtMillis && (fromLine || l.work.whole):
		more, err = s.write(ctx, zoneID, l, now.NowMillis)
	case fromLine:
		l.work = &work{head: head{Draw: *d, By: s.writer}, lostMillis: now.LostAtMillis}
		more, err = s.write(ctx, zoneID, l, now.NowMillis)
	default:
		l.work = nil // nobody can tell any more who stood there
	}
	if err == nil && !more {
		l.lookMillis = now.NowMillis + lookEvery
	}
	return more, err
}
