package site

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// admit lets a browser in if there is room, and else sends it to the waiting page. A browser with a key was sent there before: the
// page knows whether it has a place, or an admission, and here it would get another.
func (s *Service) admit(ctx context.Context, at place, q *request, address string, h held, now time.Time) verdict {
	open := at.OpenAt(now)
	if at.Mode == zone.ModeClosed || at.InvitationAt(now) != "" ||
		!open && (h.key != "" || s.lines(ctx, at, now)) {
		return s.toPage(outWait, at.Settings, q, h)
	}
	v, ok := s.join(ctx, at, wait.Newcomer{}.From(address, q.header), true, now)
	switch {
	case ok:
		return v
	case open:
		return verdict{outcome: outOpen}
	}
	return s.toPage(outWait, at.Settings, q, h) // if the join failed, the page says why: the line is full, the store is away, or too many join from this address
}

// join lets a newcomer in if there is room, and keeps no place: a browser takes its place on the page. In the address of that, a
// place would be good for whoever sees it. keeps says that the newcomer surely keeps a session: where those inside are counted, nobody
// else gets one. Of those who join by one name the first gets the session.
func (s *Service) join(ctx context.Context, at place, n wait.Newcomer, keeps bool, now time.Time) (verdict, bool) {
	if at.zone == nil {
		return verdict{}, false
	}
	n.ClientAgent = "SITE"
	a, err := s.Room.Take(ctx, at.zone, n)
	switch {
	case err != nil:
		return verdict{}, false
	case a.Status == line.Admitted, a.Status == line.AdmittedBefore:
		g := pass.Grant{
			ZoneID: at.ZoneID, ID: a.Place.ID, Admission: line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}.JTI(at.ZoneID),
			AdmittedAtMillis: a.AdmittedAtMillis - a.AheadMillis, ExpiresAtMillis: a.ExpiresAtMillis - a.AheadMillis,
		}
		if !at.fresh(g, now) {
			return verdict{}, false
		}
		switch {
		case n.ClientID != "" && a.Status == line.AdmittedBefore:
			return verdict{outcome: outAdmitted}, true
		case !keeps && at.MaxInside > 0:
			s.Room.Used(at.ZoneID, g.Admission)
			return verdict{outcome: outAdmitted, unkept: g.Admission}, true
		}
		return s.begin(ctx, outAdmitted, at, g, false, now)
	}
	// Others were faster.
	if at.PerMinute > 0 { // a pause that has ended is known to the store first
		s.lined.Store(at.ZoneID, now)
	}
	if err := s.Room.Leave(ctx, at.zone, answer.Held{Place: a.Place}); err != nil {
		s.Logger.Debug("a place was not given up, and is swept later", "zone", at.ZoneID, "error", err)
	}
	return verdict{}, false
}

// lines reports whether a newcomer would have to line up, as far as is known without the store.
func (s *Service) lines(ctx context.Context, at place, now time.Time) bool {
	if at.Gate().Holds(now.UnixMilli()) {
		return true
	}
	last, _ := s.lined.Load(at.ZoneID)
	if since, ok := last.(time.Time); ok && now.Sub(since) < wait.StateMaxAge {
		return true
	}
	if at.zone == nil {
		return false
	}
	// The line is as it was at most a second ago, which saves the store the joins of a crowd. Those counted as waiting may have left
	// without a word. If the estimate says that a newcomer need not wait, they are in nobody's way.
	is, err := at.zone.Latest(ctx)
	return err == nil && is.State.Waiting > 0 && (is.EstimateMillis > 0 || at.PerMinute == 0)
}

// admitNow lets a request in that cannot be led to the waiting page, if there is room now. It keeps no place. Of what one browser
// sends for one page, or a program within some seconds, mostOthers go on by the admission of the first, which alone gets the session.
func (s *Service) admitNow(ctx context.Context, at place, q *request, now time.Time) (verdict, bool) {
	if at.zone == nil || at.Mode == zone.ModeClosed || at.PerMinute == 0 || at.InvitationAt(now) != "" {
		return verdict{}, false
	}
	address, length, keeps := q.visitor.RealIP(), fetching, q.keeps(at.CORSOrigins)
	if keeps {
		length = pageLoad
	}
	return s.recent.once(s.browser(at.ZoneID, address, q.header), length, now, at.zone.End, func(name string) (verdict, bool) {
		if s.lines(ctx, at, now) {
			return verdict{}, false
		}
		return s.join(ctx, at, wait.Newcomer{Newcomer: guard.Newcomer{ClientID: name}}.From(address, q.header), keeps, now)
	})
}
