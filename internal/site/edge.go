package site

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// maxKey bounds the key with which a browser repeats an exchange, in bytes.
const maxKey = 64

// edgeSession is the answer to a gate at a CDN's edge.
type edgeSession struct {
	ZoneID  string `json:"zoneId"`
	Session string `json:"session"`
	// ExpiresAt is in Unix milliseconds.
	ExpiresAt int64 `json:"expiresAt"`
}

// Session is POST /traffic/session on the public listener, by a gate at a CDN's edge, which keeps sessions of its own: it gives a
// session for a pass, once, as the gate does here; and a new one for one of which half is over, so that the visitor counts as inside.
func (s *Service) Session(c echo.Context) error {
	var zoneID, shown, key, tok, session string
	err := answer.Receive(c, answer.Field{Name: "zoneId", Value: &zoneID}, answer.Field{Name: "pass", Value: &shown}, answer.Field{Name: "key", Value: &key},
		answer.Field{Name: "token", Value: &tok}, answer.Field{Name: "session", Value: &session})
	if err == nil {
		err = answer.CheckZoneID(zoneID)
	}
	if err == nil {
		err = answer.CheckLength("key", key, maxKey)
	}
	if err == nil && (shown == "") == (session == "") {
		err = &serve.FieldError{Field: "pass and session", Reason: "one of them must be there"}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), within)
	defer cancel()
	settings, err := s.Zones.Zone(ctx, zoneID)
	if err != nil {
		return answer.InZone(zoneID, err)
	}
	now := s.Now()
	var is token.Session
	if session != "" {
		is, err = s.renewFor(settings, session, now)
	} else {
		is, err = s.exchangeFor(ctx, settings, shown, key, tok, now)
	}
	if err != nil {
		return answer.InZone(zoneID, err)
	}
	ends := is.Issued.Add(is.Length)
	s.Crowd.Here(zoneID, is.Admission, ends)
	c.Response().Header()[echo.HeaderCacheControl] = noStore
	return c.JSON(http.StatusOK, edgeSession{ZoneID: zoneID, Session: s.Keys.SignSession(zoneID, is), ExpiresAt: ends.UnixMilli()})
}

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
		first, err = s.spend(ctx, spentPass, g, key, now)
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

// EndSession is POST /traffic/session/end on the public listener: the visitor with this session is done, as with a path of
// donePaths.
func (s *Service) EndSession(c echo.Context) error {
	var zoneID, session string
	err := answer.Receive(c, answer.Field{Name: "zoneId", Value: &zoneID}, answer.Field{Name: "session", Value: &session})
	if err == nil {
		err = answer.CheckZoneID(zoneID)
	}
	if err != nil {
		return err
	}
	is, err := s.Keys.VerifySession(zoneID, session)
	if err == nil && is.Good(s.Now()) {
		_, err = s.Crowd.Done(c.Request().Context(), zoneID, is.Admission, false)
	}
	if err != nil {
		return answer.InZone(zoneID, err)
	}
	return c.NoContent(http.StatusNoContent)
}
