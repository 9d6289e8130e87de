package site

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// renew lets a visitor who is inside go on, unless the session is over as the visit has moved to another device. It renews the
// session if that is due, or else takes the browser's key away, which a browser needs only while it waits.
func (s *Service) renew(ctx context.Context, z *zones.Zone, q *request, h held, now time.Time) (v verdict, over bool) {
	if z == nil || bypasses(z.Settings(), q) { // caches may keep what is never queued, and must not keep a session with it
		return verdict{outcome: outSession}, false
	}
	settings := *z.Settings()
	is, renewed, over := s.renewed(ctx, z, h.session, now)
	switch {
	case renewed:
		return verdict{outcome: outRenewed, keep: s.session(settings, is, q.header.Get(SessionHeader) != ""), origin: named(settings, q)}, over
	case h.key != "" && q.navigates():
		return verdict{outcome: outSession, keep: keep{names: &keyNames, domain: settings.CookieDomain}}, over
	}
	return verdict{outcome: outSession}, over
}

// visitAsked is how long a session by invitation goes on before the store is asked whether the visit has moved.
const visitAsked = time.Minute

// due reports whether a session is to be renewed: half of it is over, or in a zone by invitation visitAsked. z is nil for a zone that
// this server does not know.
func due(z *zones.Zone, is token.Session, now time.Time) bool {
	return is.HalfOver(now) || z != nil && now.Sub(is.Issued) >= visitAsked && z.Settings().InvitationAt(now) != ""
}

// renewed returns a session anew, if it is due and the store was told in time. It ends later than before if the zone's settings say so.
// If the store could not be told, the next request tries again. over says that the visit has moved to another device.
func (s *Service) renewed(ctx context.Context, z *zones.Zone, is token.Session, now time.Time) (anew token.Session, renewed, over bool) {
	if !due(z, is, now) {
		return is, false, false
	}
	settings, anew := z.Settings(), is
	left, ends := is.Begun.Add(zones.MaxSession).Sub(now), is.Issued.Add(is.Length)
	switch {
	case settings.SessionRenewal == zone.RenewalUse && left >= time.Second && z.MayRenew(is.Admission, ends):
		anew.Issued, anew.Length = now, min(settings.Session(), left.Truncate(time.Second))
	case settings.InvitationAt(now) != "":
		anew.Issued = now.Truncate(time.Second) // as a session has it
		anew.Length = ends.Sub(anew.Issued)
	default:
		return is, false, false
	}
	if over, err := s.moved(ctx, settings, anew, now); over || err != nil {
		return is, false, over
	}
	if until := anew.Issued.Add(anew.Length); until.After(ends) {
		if gone, err := z.Begin(ctx, is.Admission, until); gone || err != nil {
			return is, false, false
		}
	}
	return anew, true, false
}

// moved notes a session of a zone by invitation, and reports whether its visit has moved to another device.
func (s *Service) moved(ctx context.Context, settings *zone.Settings, is token.Session, now time.Time) (bool, error) {
	invitation := settings.InvitationAt(now)
	a, ok := line.AdmissionOf(settings.ZoneID, is.Admission)
	if invitation == "" || !ok {
		return false, nil
	}
	newest, err := s.Room.Tickets.Visit(ctx, settings.ZoneID, invitation, a.ID, store.Visit{
		AtMillis: a.AtMillis, UntilMillis: is.Issued.Add(is.Length).UnixMilli(), BegunMillis: is.Begun.UnixMilli(),
	})
	return newest.AtMillis > a.AtMillis, err
}
