package wait

import (
	"context"
	"errors"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// prove returns the proof of a newcomer who has to show one; nil if it need not.
func (s *Service) prove(ctx context.Context, z *zone.Settings, n Newcomer) (j challenge.Join, proof *challenge.Proof, err error) {
	if s.challenges == nil || !z.Challenges() || s.spares(z, n) {
		return j, nil, nil
	}
	due := z.ChallengeWhen == zone.ChallengeAlways || s.lined(n.ZoneID)
	if !due && n.Challenge == "" {
		return j, nil, nil
	}
	j = challenge.Join{Zone: z, ClientID: n.ClientID, Shown: n.Challenge, Press: func(cost int64) int {
		return s.guard.Press(ctx, n.Newcomer, cost)
	}}
	// A join that is repeated when the line has gone has to find the place that was taken before.
	p, err := s.challenges.Check(ctx, j)
	switch {
	case err == nil:
		return j, &p, nil
	case !due && errors.Is(err, challenge.ErrRequired):
		return j, nil, nil
	}
	return j, nil, err
}

// spares reports whether a newcomer to a zone need not be told from a bot: it is invited, or the shop names it.
func (s *Service) spares(z *zone.Settings, n Newcomer) bool {
	return z.InvitationAt(s.now()) != "" || s.guard.Named(n.Newcomer)
}

// joinProved takes the one place of a proof. With a proof that was used, the visitor finds that place or the admission, and takes no other.
func (s *Service) joinProved(ctx context.Context, j challenge.Join, p challenge.Proof) (line.Told, error) {
	used, err := s.challenges.Used(ctx, j, p)
	switch {
	case err != nil && j.Zone.OnStoreFailure != zone.FailureAdmit:
		return line.Told{}, err
	case !used: // or the store is away, and the join decides
		a, err := s.store.Join(ctx, j.Zone.ZoneID, p.ID)
		if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted || a.Status == line.AdmittedBefore) {
			s.challenges.Spend(ctx, j, p)
		}
		return a, err
	}
	a, err := s.store.Poll(ctx, j.Zone.ZoneID, line.Place{ID: p.ID, ArrivedAtMicros: line.AnyArrival})
	if err == nil && a.Status == line.Gone {
		return line.Told{}, s.challenges.Over(j, p)
	}
	return a, err
}
