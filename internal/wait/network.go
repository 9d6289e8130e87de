package wait

import (
	"context"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// share begins to count a join for the newcomer's network, or returns network.ErrShare. A server that does not know the zone yet
// counts nothing. Whoever need not show a proof counts, but is never refused.
func (s *Service) share(who guard.Newcomer) (*network.Pending, error) {
	z := s.issuer.Zone(who.ZoneID)
	if s.shares == nil || s.guard == nil || z == nil {
		return nil, nil
	}
	spared := z.InForce().Mode != zone.ModeQueue || s.spares(z, who)
	return s.shares.Join(z, network.Newcomer{From: s.guard.Source(who), Spared: spared, Lined: s.lined(who.ZoneID)})
}

// again finds the place that an earlier join of the same clientId took, since any join can be repeated. It returns network.ErrShare
// if there is none. The limits of addresses hold before, so that nobody can ask the store as often as it likes.
func (s *Service) again(ctx context.Context, n Newcomer, who guard.Newcomer, over *network.Pending) (line.Told, error) {
	if n.ClientID == "" {
		over.Refuse()
		return line.Told{}, network.ErrShare
	}
	if err := s.guard.Admits(ctx, who); err != nil {
		return line.Told{}, err
	}
	a, err := s.store.Poll(ctx, n.ZoneID, line.Place{ID: s.tokens.VisitorID(n.ZoneID, n.ClientID), ArrivedAtMicros: line.AnyArrival})
	switch {
	case err == nil && a.Status == line.Gone:
		over.Refuse()
		err = network.ErrShare
	case err == nil && a.Status == line.Admitted:
		s.shares.Admit(n.ZoneID, s.guard.Source(who))
	}
	return a, err
}

// Admitted counts a visitor whom a poll from that address let in.
func (s *Service) Admitted(zoneID, address string) {
	if s.shares != nil && s.guard != nil {
		s.shares.Admit(zoneID, s.guard.Source(guard.Newcomer{ZoneID: zoneID, Address: address}))
	}
}

// taken reports whether a join took a new place: it arrived in the call, and not before.
func taken(a *line.Told) bool {
	return a.Status == line.Admitted && a.Local || (a.Status == line.Admitted || a.Status == line.Waiting) && a.Place.ArrivedAtMicros >= 1000*a.State.NowMillis
}
