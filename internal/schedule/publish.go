package schedule

import (
	"context"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// publishAfter is how many milliseconds after people have settled the list is made. By then, joins that were on
	// their way have ended.
	publishAfter = 1_000
	// lookEvery is how many milliseconds apart a server looks whether the store still has a list.
	lookEvery = 2_000
)

// publish sees to it that the store has the lists of a zone's draws, and that this server remembers them.
func (s *Schedule) publish(ctx context.Context, z zone.Settings) error {
	if len(z.EventState.Draws) == 0 {
		return nil
	}
	now := s.Zones.NowMillis(z.ZoneID)
	if now == 0 {
		stats, err := s.Zones.Stats(ctx, z.ZoneID)
		if err != nil {
			return err
		}
		now = stats.State.NowMillis
	}
	for _, d := range z.EventState.Draws {
		if now < d.SettlesAtMillis+publishAfter || now >= d.OpensAtMillis+store.DrawLife.Milliseconds() {
			continue
		}
		current := z.EventState.Draw()
		gathered := current != nil && current.Nonce == d.Nonce && z.EventState.Now.Phase != event.PhaseAnnounced
		if err := s.see(ctx, z.ZoneID, &d, now, gathered); err != nil {
			return err
		}
	}
	return nil
}

// see looks for the list of a draw. If the store does not have it, see writes it: as this server remembers it or, of a draw
// for which people have gathered, from the line.
func (s *Schedule) see(ctx context.Context, zoneID string, d *event.Draw, now int64, gathered bool) error {
	l := s.list(d.Nonce)
	if l != nil && now < l.lookMillis {
		return nil
	}
	if l == nil {
		tickets, err := s.Zones.Draw(ctx, zoneID, d.Nonce)
		if err != nil {
			return err
		}
		if tickets == nil && gathered {
			tickets, err = s.make(ctx, zoneID, d)
		}
		if err != nil || tickets == nil {
			return err
		}
		l = newList(tickets)
	} else if written, err := s.Zones.KeepDraw(ctx, zoneID, d.Nonce, l.tickets); err != nil {
		return err
	} else if written {
		s.Logger.WarnContext(ctx, "the store had lost the list of a draw, and has it again", "zone", zoneID, "event", d.Event)
	}
	next := *l
	next.lookMillis = now + lookEvery
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[d.Nonce] = &next
	return nil
}

// make writes the list of those who stand in the line, and returns the list that the store has then: another server may have
// been faster. It returns nil if the line may lack some: it was lost and not everybody has polled since, or it has opened.
func (s *Schedule) make(ctx context.Context, zoneID string, d *event.Draw) ([]byte, error) {
	before, err := s.Zones.Stats(ctx, zoneID)
	if err != nil || before.State.NowMillis < d.SettlesAtMillis+publishAfter {
		return nil, err
	}
	tickets := []byte{}
	var last line.Place
	for {
		some, err := s.Zones.Drawn(ctx, zoneID, last, d.FromMicros, d.UptoMicros)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		for _, one := range some {
			t := event.TicketOf(zoneID, d.Event, one.ID)
			tickets, last = append(tickets, t[:]...), one
		}
	}
	after, err := s.Zones.Stats(ctx, zoneID)
	if err != nil {
		return nil, err
	}
	if before.State.NowMillis < after.State.LostAtMillis+window.FreezeMillis || after.State.NowMillis >= d.OpensAtMillis {
		return nil, nil
	}
	written, err := s.Zones.KeepDraw(ctx, zoneID, d.Nonce, tickets)
	if err != nil {
		return nil, err
	}
	if written {
		s.Logger.InfoContext(ctx, "the list of a draw is published", "zone", zoneID, "event", d.Event, "tickets", len(tickets)/len(event.Ticket{}))
		return tickets, nil
	}
	return s.Zones.Draw(ctx, zoneID, d.Nonce)
}
