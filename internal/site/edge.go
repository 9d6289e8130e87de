package site

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// maxKey bounds the key with which a browser repeats an exchange, in bytes.
const maxKey = 64

// exchangeFor returns a session for a pass that was not used before, or by the same browser or app alone. A browser is known by
// its key, an app by the token that came with the pass.
func (s *Service) exchangeFor(ctx context.Context, settings zone.Settings, shown, key, tok string, now time.Time) (token.Session, error) {
	g, good := s.grant(settings, shown, now)
	if !good {
		return token.Session{}, token.ErrInvalid
	}
	var first bool
	var err error
	if key != "" {
		first, err = s.spend(ctx, spentPass, g, "key:"+key, now) // which no token is
	} else {
		first, err = s.spendShown(ctx, g, tok, now)
	}
	if err == nil && !first {
		err = entry.ErrGone
	}
	return token.Session{Admission: g.Admission, Begun: now, Issued: now, Length: settings.Session()}, err
}

// renewFor returns a session anew if that is due, and else as it is.
func (s *Service) renewFor(settings zone.Settings, text string, now time.Time) (token.Session, error) {
	is, err := s.Keys.VerifySession(settings.ZoneID, text)
	switch {
	case err != nil:
		return is, err
	case !is.Good(now), s.Crowd.Over(settings.ZoneID, is.Admission):
		return is, entry.ErrGone
	}
	is, _ = renewed(settings, is, now)
	return is, nil
}
