package zones

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// reportInsideEvery is how often the store is told of sessions, and asked which are over: often enough that a session
	// that is done or revoked is refused everywhere within a second.
	reportInsideEvery = 900 * time.Millisecond
	// ToldWithin is how long it takes at most until the store was told of a session. A session or a pass that ends earlier is
	// not renewed and begins none.
	ToldWithin = 2 * time.Second
	// MaxSession is how long after its beginning renewals can make a session end, at most. So a session that begins on a
	// quiet day does not last until next week's sale.
	MaxSession = 12 * time.Hour
	// insideParts is how many parts sessions are kept in, each with a lock of its own: with a million sessions, one is held for
	// some 2 ms at a time. Every tidyEvery tellings each part is gone through.
	insideParts, tidyEvery = 64, 10
	// maxSessions bounds how many sessions a server remembers of a zone: some 100 MB. Of more it tells again each time.
	maxSessions = 1_000_000
	// toldAgain is about how many sessions a telling has at most because the store lost data. They may be told later: those who
	// are not known count all the same.
	toldAgain = 10_000
	// settled, in milliseconds, is by how much a session's end has to be later than was told for the store to be told again. Where
	// it is less, the session was not renewed: the wall clock is being corrected.
	settled = 1_000
	// overMost is how many admissions that are over a store says in one answer.
	overMost = 5_000
	// graceMillis is for how long a session is still let through after it was told to be done, for what belongs to the
	// page that thanks. No session is let through that was revoked.
	graceMillis = 60_000
)

// jti is the name of an admission.
type jti = [16]byte

// insiders is what a server knows of those inside of one zone. Times are in milliseconds on this server's clock, where nothing
// else is said.
type insiders struct {
	parts [insideParts]insidersPart
	// telling: the background is telling the store. longest is State.LongestMillis.
	telling atomic.Bool
	longest atomic.Int64

	// mu guards what follows. since is up to when it is known which are over, on the zone's clock; tellings counts.
	mu              sync.Mutex
	since, tellings int64
	// inside is how many were inside at insideNow on the zone's clock, as heard at insideAt.
	inside, insideNow, insideAt int64
	// lostAt is the latest loss that the store has to be told of, 0 for none, and lost how many may have been inside then. Of
	// the parts from again on the store is told anew; -1 for all of them.
	lostAt, lost int64
	again        int
}

// insidersPart has the admissions whose names end alike.
type insidersPart struct {
	mu sync.Mutex
	// sessions are those that asked here. untold is until when those last of which the store is to be told, done has those that
	// it is to end.
	sessions map[jti]session
	untold   map[jti]int64
	done     map[jti]bool
	// over are those that are done.
	over map[jti]ended
	// idle is how many sessions have asked for nothing for so many minutes, the last for as many or more; as of the last tidy.
	idle [6]int64
}

// session is until when a session lasts, when it first asked and when it last did, and whether it was renewed between.
type session struct {
	until, since, asked int64
	renewed             bool
}

// ended is from when on a session that is done is refused, and until when that has to be known.
type ended struct{ from, until int64 }

// part returns the part that an admission is in.
func (c *insiders) part(j jti) *insidersPart { return &c.parts[j[len(j)-1]%insideParts] }

// Here takes in that a session asks that lasts until then. It reports whether the session is to be refused, and which paths of
// the zone end a visit. In a zone without a cap only what was revoked is refused.
func (z *Zone) Here(admission [16]byte, until time.Time) (over bool, donePaths []string) {
	z.asked()
	s := z.settings.Load()
	if z.revokes(s, admission) {
		return true, nil
	} else if s.MaxInside == 0 {
		return false, nil
	}
	now, ends := z.zones.Millis(), z.zones.millisOf(until)
	p := z.crowd.part(admission)
	p.mu.Lock()
	defer p.mu.Unlock()
	gone, isOver := p.over[admission]
	if isOver && gone.from <= now {
		return true, nil
	}
	if p.asks(admission, now, ends) && !isOver {
		add(&p.untold, admission, ends)
	}
	return false, s.DonePaths
}

// asks remembers that a session asks that lasts until then. It reports whether the session is new or was prolonged. The caller
// holds mu.
func (p *insidersPart) asks(j jti, now, ends int64) bool {
	was, known := p.sessions[j]
	longer := !known || ends > was.until+settled
	switch {
	case !known && len(p.sessions) >= maxSessions/insideParts: // it is told again each time
	case !known:
		add(&p.sessions, j, session{until: ends, since: now, asked: now})
	case longer:
		p.sessions[j] = session{ends, was.since, now, true}
	default:
		was.asked = now
		p.sessions[j] = was
	}
	return longer
}

// Begin tells the store that a session lasts until then, before it begins or is renewed: so the store knows of it, whatever becomes
// of this server. over says that the admission is over. With an error the store was not told, and no session may begin. In a zone
// without a cap it does nothing.
func (z *Zone) Begin(ctx context.Context, admission [16]byte, until time.Time) (over bool, err error) {
	if z.settings.Load().MaxInside == 0 {
		return false, nil
	}
	a, ok := line.AdmissionOf(z.id, admission)
	if !ok || z.Over(admission) {
		return true, nil
	}
	now, ends := z.zones.Millis(), z.zones.millisOf(until)
	reply, err := z.report(z.zones.deadlines.bound(ctx), line.SessionReport{Stays: []line.Stay{{Admission: a, LeftMillis: max(1, ends-now), Begins: true}}, SinceMillis: z.now.Load()})
	if err != nil {
		return false, err
	}
	switch reply.Statuses[0] {
	case line.StayOver:
		z.end(admission, false)
		return true, nil
	case line.StayUnknown: // for three seconds after a loss
		return false, fmt.Errorf("zones: the store is being told of those inside: %w", line.ErrStoreUnavailable)
	default:
	}
	p := z.crowd.part(admission)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks(admission, now, ends)
	return false, nil
}

func add[V any](all *map[jti]V, j jti, v V) {
	if *all == nil {
		*all = make(map[jti]V)
	}
	(*all)[j] = v
}

// revokes reports whether an admission was revoked.
func (z *Zone) revokes(s *zone.Settings, j jti) bool {
	if admittedAt(j) <= s.InsideState.RevokedUpToMillis {
		return true
	}
	revoked := z.revoked.Load()
	return revoked != nil && (*revoked)[j]
}

// revokedOf are the admissions that were revoked one by one; nil for none.
func revokedOf(s zone.Settings) *map[jti]bool {
	if len(s.InsideState.Revoked) == 0 {
		return nil
	}
	all := make(map[jti]bool)
	for _, text := range s.InsideState.Revoked {
		if j, err := uuid.Parse(text); err == nil {
			all[j] = true
		}
	}
	return &all
}

// admittedAt is when the admission was given, as line.Admission.JTI has it.
func admittedAt(j jti) int64 { return int64(binary.BigEndian.Uint64(j[:]) >> 16) }

// Over reports whether an admission is done or revoked: then its pass begins no session.
func (z *Zone) Over(admission [16]byte) bool {
	s := z.settings.Load()
	if z.revokes(s, admission) || s.MaxInside == 0 {
		return z.revokes(s, admission)
	}
	p := z.crowd.part(admission)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, over := p.over[admission]
	return over
}

// MayRenew reports whether a session that ends then may be renewed, with Begin. Where those inside are counted it has to be one that
// is not over, sessions have to count, and the store has to hear of it before the session would end.
func (z *Zone) MayRenew(admission [16]byte, ends time.Time) bool {
	s, left := z.settings.Load(), ends.Sub(z.zones.wall()).Milliseconds()
	return !z.Over(admission) && (s.MaxInside == 0 || s.InsideBy == zone.InsideBySession && left > ToldWithin.Milliseconds())
}

// Keep has a visitor with an open connection count as inside for as long as it is open, as far as the zone renews sessions. It reports
// whether the connection may go on: the admission is not over, and where those inside are counted, neither is the session.
func (z *Zone) Keep(admission [16]byte) bool {
	s, now, p := z.settings.Load(), z.zones.Millis(), z.crowd.part(admission)
	if z.Over(admission) || s.MaxInside == 0 {
		return s.MaxInside == 0 && !z.Over(admission)
	}
	p.mu.Lock()
	is, known := p.sessions[admission]
	full := len(p.sessions) >= maxSessions/insideParts // then this server knows of some sessions nothing
	p.mu.Unlock()
	left := time.Duration(is.until-now) * time.Millisecond
	if known && left > ToldWithin && left < s.Session()/2 && now-is.since < MaxSession.Milliseconds() &&
		s.InsideBy == zone.InsideBySession && s.SessionRenewal == zone.RenewalUse {
		z.Here(admission, z.zones.wall().Add(s.Session()))
	}
	return known && left > 0 || !known && full || s.SiteGate == zone.GateObserve
}

// Done ends an admission of a zone with a cap. known is false if it was only named and the store does not know it. Of one that was
// not only named the store is told later if it is away.
func (z *Zone) Done(ctx context.Context, admission [16]byte, named bool) (known bool, err error) {
	a, ok := line.AdmissionOf(z.id, admission)
	if !ok {
		return false, nil
	}
	if z.settings.Load().MaxInside == 0 {
		return true, nil
	}
	if !named && z.Over(admission) { // so that a visitor who says so again and again costs the store nothing
		return true, nil
	}
	reply, err := z.report(z.zones.deadlines.bound(ctx), line.SessionReport{Stays: []line.Stay{{Admission: a, Named: named}}, SinceMillis: z.now.Load()})
	switch {
	case err == nil && reply.Statuses[0] == line.StayUnknown:
		return false, nil
	case err != nil && (named || !errors.Is(err, line.ErrStoreUnavailable)):
		return false, err
	}
	z.end(admission, err != nil)
	return true, nil
}

// Move has an admission take the slot of the one that its visitor was given a millisecond before, which ends. over says that
// this one was not inside. In a zone without a cap it does nothing.
func (z *Zone) Move(ctx context.Context, to line.Admission, left time.Duration) (over bool, err error) {
	if z.settings.Load().MaxInside == 0 {
		return false, nil
	}
	reply, err := z.report(z.zones.deadlines.bound(ctx), line.SessionReport{
		Stays: []line.Stay{{Admission: to, LeftMillis: left.Milliseconds(), Moved: true}}, SinceMillis: z.now.Load(),
	})
	if err != nil || reply.Statuses[0] != line.StayInside {
		return err == nil, err
	}
	z.end(line.Admission{ID: to.ID, AtMillis: to.AtMillis - 1}.JTI(z.id), false)
	return false, nil
}

// End is Done in the background, for the session of a visitor who asks for a path that ends the visit.
func (z *Zone) End(admission [16]byte) {
	if !z.Over(admission) {
		z.end(admission, true)
	}
}

// end has a session be refused after graceMillis. With tell the store is to be told.
func (z *Zone) end(j jti, tell bool) {
	s, now, p := z.settings.Load(), z.zones.Millis(), z.crowd.part(j)
	longest := max(z.crowd.longest.Load(), s.Session().Milliseconds(), s.PassTTL().Milliseconds())
	p.mu.Lock()
	defer p.mu.Unlock()
	if tell {
		add(&p.done, j, true)
	}
	delete(p.untold, j)
	if _, over := p.over[j]; over {
		return
	}
	add(&p.over, j, ended{now + graceMillis, now + longest + time.Minute.Milliseconds()})
}

// hear takes in how many the store counts inside. lost says that the store has noticed a loss since the last time.
func (c *insiders) hear(z *Zone, s line.State, millis int64, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost {
		// What was to be told of an earlier loss, the store has lost, too.
		most := c.mayBeInside(z, millis)
		if c.lostAt > 0 {
			most = max(most, c.lost)
		}
		c.lostAt, c.lost, c.again = s.LostAtMillis, most, 0
	} else if s.NowMillis < c.insideNow {
		return
	}
	c.inside, c.insideNow, c.insideAt = s.Inside, s.NowMillis, millis
	c.longest.Store(s.LongestMillis)
}

// tellAgain has the store be told of all sessions anew, by a telling that begins from now on. The store has forgotten them while the zone
// had no cap, or when all were revoked up to a time.
func (c *insiders) tellAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = -1
}

// mayBeInside is how many may be inside at a time, by what was heard last. The caller holds mu.
func (c *insiders) mayBeInside(z *Zone, millis int64) int64 {
	s := z.settings.Load().InForce()
	since := millis - c.insideAt + seenWithin.Milliseconds() // the answer was on its way
	return window.MayBeInside(c.inside, window.RatesOf(s).Admits(since, s.Burst), s.MaxInside, s.Mode == zone.ModeOpen)
}

// KnownInside is what this server knows of those inside of a zone, also while the store is away: State has the zone's clock, reckoned
// from the latest answer, and how many were inside then.
func (r *Zones) KnownInside(zoneID string) (s line.State) {
	if z := r.Known(zoneID); z != nil {
		z.crowd.mu.Lock()
		defer z.crowd.mu.Unlock()
		s.NowMillis, s.Inside = r.Millis()+z.ahead.Load(), z.crowd.inside
	}
	return s
}

func (z *Zone) report(ctx context.Context, t line.SessionReport) (line.SessionReply, error) {
	r := z.zones
	reply, err := ask(ctx, z, store.Report, func() (line.SessionReply, error) { return r.store.Report(ctx, z.id, t) })
	if err == nil {
		z.learn(reply.State, r.Millis())
	}
	return reply, err
}

// reportAllInside begins to tell the store of those inside of all zones with a cap.
func (r *Zones) reportAllInside(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.settings.Load().MaxInside > 0 && z.seen.Load() {
			r.background.GoAlone(&z.crowd.telling, func() { r.reportInside(ctx, z) })
		}
	}
}

// ReportInsideOnce tells the store of those inside, one zone after the other. After Start this is done every 900 ms.
func (r *Zones) ReportInsideOnce(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.settings.Load().MaxInside > 0 {
			r.reportInside(ctx, z)
		}
	}
}

// reportInside tells the store of the sessions of one zone. What it does not take is told again later.
func (r *Zones) reportInside(ctx context.Context, z *Zone) {
	c, now := &z.crowd, r.Millis()
	c.mu.Lock()
	t := line.SessionReport{SinceMillis: c.since, LostAtMillis: c.lostAt, Lost: c.lost}
	from, tellings := c.again, int(c.tellings)
	c.tellings++
	c.mu.Unlock()
	var told toldInside
	again := max(0, from)
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		if i%tidyEvery == tellings%tidyEvery {
			p.tidy(now)
		}
		told.take(z, p, now)
		if i == again && len(told.stays) < toldAgain {
			told.again(z, p, now)
			again++
		}
		p.mu.Unlock()
	}
	t.Stays = told.stays
	reply, err := z.report(ctx, t)
	for i, j := range told.names {
		switch {
		case err == nil && reply.Statuses[i] == line.StayOver:
			z.end(j, false)
		case err != nil && !told.stays[i].Before:
			c.part(j).untell(j, told.stays[i].LeftMillis, now)
		}
	}
	if err != nil {
		r.log.Debug("the store cannot be told of those inside yet", "zone", z.id, "error", err)
		return
	}
	c.mu.Lock()
	if c.lostAt == t.LostAtMillis { // no other loss was heard of since
		c.lostAt = 0
		if c.again == from {
			c.again = again
		}
	}
	c.mu.Unlock()
	for more := true; more && err == nil; {
		for _, a := range reply.Over {
			z.end(a.JTI(z.id), false)
		}
		c.mu.Lock()
		more = len(reply.Over) >= overMost && reply.NextMillis > c.since
		c.since = reply.NextMillis
		c.mu.Unlock()
		if more {
			reply, err = z.report(ctx, line.SessionReport{SinceMillis: reply.NextMillis})
		}
	}
}

// tidy counts the idle sessions, and forgets those that have ended. The caller holds mu.
func (p *insidersPart) tidy(now int64) {
	p.idle = [len(p.idle)]int64{}
	maps.DeleteFunc(p.sessions, func(_ jti, is session) bool {
		if is.until > now {
			minutes := (now - is.asked) / time.Minute.Milliseconds()
			p.idle[min(max(0, minutes), int64(len(p.idle)-1))]++
		}
		return is.until <= now
	})
	maps.DeleteFunc(p.over, func(_ jti, gone ended) bool { return gone.until <= now })
}

// lost returns what a store that lost the zone needs to know: of the line, and of those inside.
func (z *Zone) lost() line.Memory {
	m := z.memory.lost()
	if m.SeenAtMillis > 0 && z.settings.Load().MaxInside > 0 {
		z.crowd.mu.Lock()
		defer z.crowd.mu.Unlock()
		m.Inside, m.LongestMillis = z.crowd.mayBeInside(z, z.zones.Millis()), z.crowd.longest.Load()
	}
	return m
}
