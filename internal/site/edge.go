package site

import (
	"context"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/token"
)

// maxKey bounds the key with which a browser repeats an exchange, in bytes.
const maxKey = 64

// exchangeFor returns a session for a pass that was not used before, or by the same browser or app alone. A browser is known by
// its key, an app by the token that came with the pass.
func (s *Service) exchangeFor(ctx context.Context, at place, shown, key, tok string, now time.Time) (is token.Session, outcome string, err error) {
	g, good := s.grant(at, shown, now)
	if !good {
		return is, "", token.ErrInvalid
	}
	if err := s.Guard.Exchange(ctx, g.Admission); err != nil {
		return is, "", err
	}
	var first bool
	if outcome = outPass; key == "" {
		first, err = s.spendShown(ctx, g, tok, now)
	} else {
		outcome = outExchanged
		first, err = s.spend(ctx, spentPass, g, "key:"+key, now) // which no token is
	}
	if err == nil && !first {
		err = entry.ErrGone
	}
	if err == nil {
		var over bool
		if is, over, err = s.beginAt(ctx, at, g, now); over {
			err = entry.ErrGone
		}
		s.Room.Used(at.ZoneID, g.Admission)
	}
	return is, outcome, err
}

// outcomeOf returns the outcome of a request that gets no session: the visitor's own doing is a pass that is refused.
func outcomeOf(err error) (outcome string) {
	if refusal.Of(err).Status < http.StatusInternalServerError {
		return outPassRefused
	}
	return outUnknown
}

// renewFor returns a session anew if that is due, and else as it is.
func (s *Service) renewFor(ctx context.Context, at place, text string, now time.Time) (is token.Session, outcome string, err error) {
	is, err = s.Keys.VerifySession(at.ZoneID, text)
	switch {
	case err != nil:
		return is, "", err
	case !is.Good(now), at.over(is.Admission):
		return is, "", entry.ErrGone
	}
	is, anew, over := s.renewed(ctx, at.zone, is, now)
	if outcome = outSession; anew {
		outcome = outRenewed
	}
	if over {
		return is, "", entry.ErrGone
	}
	return is, outcome, nil
}
