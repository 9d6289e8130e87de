package schedule

import (
	"bytes"
	"cmp"
	"context"
	"slices"

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
		if err := s.see(ctx, &z, &d, now, gathered); err != nil {
			return err
		}
	}
	return nil
}

// see looks for the list of a draw. If the store does not have it, see writes it: as this server remembers it or, of a draw
// for which people have gathered, from the line.
func (s *Schedule) see(ctx context.Context, z *zone.Settings, d *event.Draw, now int64, gathered bool) error {
	zoneID := z.ZoneID
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
			tickets, err = s.make(ctx, z, d)
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

// drawn is a visitor on a list, and where it stands.
type drawn struct {
	scoreMicros int64
	id          line.ID
}

// drawn returns all who take part in a draw and have a place, in the order of their numbers. A place can be set aside or come back
// meanwhile: so those set aside are read before the line and after it.
func (s *Schedule) drawn(ctx context.Context, z *zone.Settings, d *event.Draw, nowMillis int64) (all []drawn, err error) {
	var last line.Place
	for part := 0; part < 3; {
		var some []line.Place
		if part == 1 {
			some, err = s.Zones.Drawn(ctx, z.ZoneID, last, d.FromMicros, d.UptoMicros)
		} else {
			some, err = s.Zones.DrawnAside(ctx, z.ZoneID, nowMillis-z.KeepPlace().Milliseconds(), d.FromMicros, d.UptoMicros)
		}
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			all, last = append(all, drawn{p.ScoreMicros, p.ID}), p
		}
		if part != 1 || len(some) == 0 {
			part, last = part+1, line.Place{}
		}
	}
	slices.SortFunc(all, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.scoreMicros, b.scoreMicros), bytes.Compare(a.id[:], b.id[:]))
	})
	return slices.Compact(all), nil
}

// make writes the list of those who stand in the line or are set aside, and returns the list that the store has then: another server
// may have been faster. It returns nil if the line may lack some: it was lost and not everybody has polled since, or it has opened.
func (s *Schedule) make(ctx context.Context, z *zone.Settings, d *event.Draw) ([]byte, error) {
	zoneID := z.ZoneID
	before, err := s.Zones.Stats(ctx, zoneID)
	if err != nil || before.State.NowMillis < d.SettlesAtMillis+publishAfter {
		return nil, err
	}
	all, err := s.drawn(ctx, z, d, before.State.NowMillis)
	if err != nil {
		return nil, err
	}
	tickets := make([]byte, 0, len(event.Ticket{})*len(all))
	for _, one := range all {
		t := event.TicketOf(zoneID, d.Event, one.id)
		tickets = append(tickets, t[:]...)
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
