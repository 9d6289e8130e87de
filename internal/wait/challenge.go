package wait

import (
	"context"
	"errors"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// known returns the answer to a visitor who shows no proof but has a place or an admission by its clientId, also a place that is set
// aside: such a visitor is asked for no second proof. An address that tries too many clientIds is told nothing.
func (j *join) known(ctx context.Context) (a line.Told, found bool) {
	if j.settings.KeepPlaceSeconds == 0 || j.Challenge != "" || j.ClientID == "" || !j.settings.Challenges() || j.spared() || !j.due() ||
		j.Guard.CountAttempt(ctx, j.Newcomer.Newcomer, 1) {
		return a, false
	}
	a, err := j.zone.Poll(ctx, line.Place{ID: j.Tokens.VisitorID(j.zone.ID(), j.ClientID), ArrivedAtMicros: line.AnyArrival})
	return a, err == nil && a.Status != line.Gone
}

// due reports whether a newcomer has to show a proof now, in a zone that asks for one.
func (j *join) due() bool {
	return j.settings.ChallengeWhen == zone.ChallengeAlways || j.zone.Lined() || j.joining.Holds
}

// prove returns the proof of a newcomer who has to show one; nil if it need not.
func (j *join) prove(ctx context.Context) (asked challenge.Join, proof *challenge.Proof, err error) {
	if !j.settings.Challenges() || j.spared() {
		return asked, nil, nil
	}
	due := j.due()
	if !due && j.Challenge == "" {
		return asked, nil, nil
	}
	asked = challenge.Join{
		Zone: j.settings, ClientID: j.ClientID, Shown: j.Challenge, Level: j.joining.Level,
		Network:      network.Near(j.Guard.Source(j.Newcomer.Newcomer)),
		CountAttempt: func(cost int64) bool { return j.Guard.CountAttempt(ctx, j.Newcomer.Newcomer, cost) },
	}
	// A join that is repeated when the line has gone has to find the place that was taken before.
	p, err := j.Challenges.Check(ctx, asked)
	switch {
	case err == nil:
		return asked, &p, nil
	case !due && errors.Is(err, challenge.ErrRequired):
		return asked, nil, nil
	}
	return asked, nil, err
}

// spared reports whether the newcomer need not be told from a bot: it is invited, or the shop names it.
func (j *join) spared() bool {
	return j.settings.InvitationAt(j.Now()) != "" || j.Guard.Named(j.Newcomer.Newcomer)
}

// takeProved takes the one place of a proof. With a proof that was used, the visitor finds that place or the admission, and takes no other.
func (j *join) takeProved(ctx context.Context, asked challenge.Join, p challenge.Proof) (line.Told, error) {
	used, err := j.Challenges.Used(ctx, asked, p)
	switch {
	case err != nil && j.settings.OnStoreFailure != zone.FailureAdmit:
		return line.Told{}, err
	case !used: // or the store is away, and the join decides
		if err := j.Challenges.Elsewhere(asked, p); err != nil {
			return line.Told{}, err
		}
		a, err := j.zone.Join(ctx, p.ID)
		if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted || a.Status == line.AdmittedBefore) {
			j.Challenges.Spend(ctx, asked, p)
		}
		return a, err
	}
	a, err := j.zone.Poll(ctx, line.Place{ID: p.ID, ArrivedAtMicros: line.AnyArrival})
	if err == nil && a.Status == line.Gone {
		return line.Told{}, j.Challenges.Over(asked, p)
	}
	return a, err
}
