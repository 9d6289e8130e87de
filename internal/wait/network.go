package wait

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// share begins the join for the newcomer's network, or returns network.ErrShare. Whoever need not show a proof counts, but is never
// refused.
func (j *join) share() (err error) {
	spared := j.settings.InForce().Mode != zone.ModeQueue || j.spared()
	j.joining, err = j.Shares.Begin(j.settings, j.Guard.Source(j.Newcomer.Newcomer), spared, j.zone.Lined())
	return err
}

// end counts what became of the join.
func (j *join) end(a *line.Told, err error, newest int64) {
	if err == nil && a.Status == line.Admitted && j.settings.MaxInside > 0 {
		admission := line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}.JTI(j.zone.ID())
		j.joining.Admitted(admission, time.Duration(a.ExpiresAtMillis-a.State.NowMillis)*time.Millisecond)
	}
	j.joining.End(counts(a, err, newest))
}

// Used takes in that an admission of a zone is used, or over: it is no longer one that its network has for nothing.
func (s *Service) Used(zoneID string, admission [16]byte) { s.Shares.Used(zoneID, admission) }

// again finds the place that an earlier join of the same clientId or with the same proof took, since any join can be repeated. It
// returns network.ErrShare if there is none. The limits of addresses hold before, so that nobody can ask the store as often as it
// likes.
func (j *join) again(ctx context.Context) (line.Told, error) {
	a := line.Told{Answer: line.Answer{Status: line.Gone}}
	who, id := j.Newcomer.Newcomer, j.Tokens.VisitorID(j.zone.ID(), j.ClientID)
	if j.ClientID == "" && j.Challenge != "" {
		if _, proof, err := j.prove(ctx); err == nil && proof != nil {
			who.ClientID, id = string(proof.ID[:]), proof.ID
		}
	}
	if who.ClientID != "" {
		err := j.Guard.Admits(ctx, j.settings, who)
		if err == nil {
			a, err = j.zone.Poll(ctx, line.Place{ID: id, ArrivedAtMicros: line.AnyArrival})
		}
		if err != nil {
			return line.Told{}, err
		}
	}
	if a.Status == line.Gone {
		j.joining.End(network.Counts{Refused: 1})
		return line.Told{}, network.ErrShare
	}
	j.joining.End(network.Counts{Admissions: counts(&a, nil, 0).Admissions})
	return a, nil
}

// counts are what the answer to a join counts for. A join took a new place if the visitor arrived in the call, and not before. Newest
// is the newest arrival that this server had heard of before it asked: after a draw that was cancelled, arrivals lie in the future.
func counts(a *line.Told, err error, newest int64) (c network.Counts) {
	if err == nil && a.Status == line.Admitted {
		c.Admissions = 1
	}
	if err == nil && (c.Admissions == 1 || a.Status == line.Waiting) && (a.Local || a.Place.ArrivedAtMicros >= max(newest+1, 1000*a.State.NowMillis)) {
		c.Joins = 1
	}
	return c
}
