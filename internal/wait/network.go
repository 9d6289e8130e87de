package wait

import (
	"context"
	"net/netip"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// share begins a join for the newcomer's network, or returns network.ErrShare. Whoever need not show a proof counts, but is never
// refused.
func (s *Service) share(z *zone.Settings, n Newcomer) (*network.Join, error) {
	if s.shares == nil {
		return nil, nil
	}
	spared := z.InForce().Mode != zone.ModeQueue || s.spares(z, n)
	return s.shares.Begin(z, s.guard.Source(n.Newcomer), spared, s.lined(z.ZoneID))
}

// again finds the place that an earlier join of the same clientId took, since any join can be repeated. It returns network.ErrShare
// if there is none. The limits of addresses hold before, so that nobody can ask the store as often as it likes.
func (s *Service) again(ctx context.Context, z *zone.Settings, n Newcomer, refused *network.Join) (line.Told, error) {
	a := line.Told{Answer: line.Answer{Status: line.Gone}}
	if n.ClientID != "" {
		err := s.guard.Admits(ctx, z, n.Newcomer)
		if err == nil {
			a, err = s.store.Poll(ctx, n.ZoneID, line.Place{ID: s.tokens.VisitorID(n.ZoneID, n.ClientID), ArrivedAtMicros: line.AnyArrival})
		}
		if err != nil {
			return line.Told{}, err
		}
	}
	if a.Status == line.Gone {
		refused.End(network.Counts{Refused: 1})
		return line.Told{}, network.ErrShare
	}
	refused.End(counts(&a, nil))
	return a, nil
}

// Admitted counts a visitor whom a poll from that address let in.
func (s *Service) Admitted(zoneID, address string) {
	if from, err := netip.ParseAddr(address); err == nil && s.shares != nil {
		s.shares.Admit(&zone.Settings{ZoneID: zoneID}, s.guard.Source(guard.Newcomer{Address: from}))
	}
}

// counts are what the answer to a join counts for. A join took a new place if the visitor arrived in the call, and not before.
func counts(a *line.Told, err error) (c network.Counts) {
	if err == nil && a.Status == line.Admitted {
		c.Admissions = 1
	}
	if err == nil && (c.Admissions == 1 || a.Status == line.Waiting) && (a.Local || a.Place.ArrivedAtMicros >= 1000*a.State.NowMillis) {
		c.Joins = 1
	}
	return c
}
