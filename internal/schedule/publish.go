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
	// publishAfter is how many milliseconds after people have settled the list is begun. By then, joins that were on
	// their way have ended.
	publishAfter = 1_000
	// claimLife is after how many milliseconds without progress another server begins the list anew. A list of a
	// million tickets takes some 5 s.
	claimLife = 8_000
	// lookEvery is how many milliseconds apart a server looks whether the store still has a list.
	lookEvery = 2_000
)

// head is part 0 of the list of a draw: the draw itself, and what is known of the list.
type head struct {
	event.Draw
	// By names the server that writes the list. Its parts, 1 to Parts, are kept under that name, too.
	By string `json:"by"`
	// ClaimedMillis is when that server last went on with it. Done: the list is complete, and has so many Tickets.
	ClaimedMillis int64 `json:"claimed"`
	Done          bool  `json:"done"`
	Parts         int   `json:"parts"`
	Tickets       int   `json:"tickets"`
	// ListHash is described at Draw.
	ListHash string `json:"listHash,omitempty"`
}

// readHead returns the head of the list of the latest draw of an event; nil for none.
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

// publish goes on with those lists of a zone's draws that the store should have, and has not. more: one of them is not
// complete yet.
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

// see looks for the list of a draw. If the store does not have it, see goes on with writing it: from what this server
// remembers or, with fromLine, from the line. If this server does not know it, see goes on with reading it. more: the list is
// not complete yet.
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
		return false, nil // another server is writing it
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
		l.work = nil // the line does not say any more who stood in it
	}
	if err == nil && !more {
		l.lookMillis = now.NowMillis + lookEvery
	}
	return more, err
}
