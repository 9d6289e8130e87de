package zones

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// tellInsideEvery is how often the store is told of sessions, and asked which are over: often enough that a session
	// that is done or revoked is refused everywhere within a second.
	tellInsideEvery = 900 * time.Millisecond
	// stepsEvery is how often a server asks how many are inside until when, and goes through its sessions, up to a
	// million: every so many tellings.
	stepsEvery = 10
	// maxSessions bounds how many sessions a server remembers of a zone: some 100 MB. Of more it tells again each time.
	maxSessions = 1_000_000
	// graceMillis is for how long a session is still let through after it was told to be done, for what belongs to the
	// page that thanks. No session is let through that was revoked.
	graceMillis = 60_000
)

// jti is the name of an admission.
type jti = [16]byte

// insiders is what a server knows of those inside of one zone. Times are in milliseconds on the registry's clock.
type insiders struct {
	mu sync.Mutex
	// sessions are those that asked here, untold those of which the store is to be told, done those that it is to end.
	sessions     map[jti]session
	untold, done map[jti]struct{}
	// over is from when on sessions are refused that are done or revoked.
	over map[jti]int64
	// since is up to when it is known which are over, on the zone's clock. steps are how many were inside until when.
	since, tellings int64
	steps           []line.Step
	// idle is how many sessions have asked for nothing for so many minutes, the last for as many or more; as of the last tidy.
	idle [6]int64
	// lostAt is the loss for which the store was last told. inside is how many were inside when it was last told.
	lostAt, inside int64
	// telling: the background is telling the store.
	telling atomic.Bool
}

// session is until when a session lasts, when it first asked and when it last did, and whether it was renewed between.
type session struct {
	until, since, asked int64
	renewed             bool
}

// Here takes in that a session asks that lasts until then. It reports whether the session is to be refused, and which paths of
// the zone end a visit. In a zone without a cap it does nothing.
func (r *Registry) Here(zoneID string, admission [16]byte, until time.Time) (over bool, donePaths []string) {
	z := r.lookup(zoneID)
	if z == nil {
		return false, nil
	}
	s := z.settings.Load()
	if s.MaxInside == 0 {
		return false, nil
	}
	now, ends := r.Millis(), until.UnixMilli()
	c := &z.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses(s, admission, now) {
		return true, nil
	}
	was, known := c.sessions[admission]
	if !c.isOver(admission) && (!known || ends > was.until) {
		add(&c.untold, admission)
	}
	if known || len(c.sessions) < maxSessions {
		if c.sessions == nil {
			c.sessions = make(map[jti]session)
		}
		is := session{max(ends, was.until), now, now, was.renewed || known && ends > was.until}
		if known {
			is.since = was.since
		}
		c.sessions[admission] = is
	}
	return false, s.DonePaths
}

func add(set *map[jti]struct{}, j jti) {
	if *set == nil {
		*set = make(map[jti]struct{})
	}
	(*set)[j] = struct{}{}
}

// isOver reports whether it is known that an admission is done or revoked. The caller holds mu.
func (c *insiders) isOver(j jti) bool {
	_, is := c.over[j]
	return is
}

// refuses reports whether a session is refused. The caller holds mu.
func (c *insiders) refuses(s *zone.Settings, j jti, now int64) bool {
	from, isOver := c.over[j]
	return isOver && from <= now || admittedAt(j) <= s.InsideState.RevokedUpToMillis
}

// admittedAt is when the admission was given, as line.Admission.JTI has it.
func admittedAt(j jti) int64 { return int64(binary.BigEndian.Uint64(j[:]) >> 16) }

// Over reports whether an admission is done or revoked: then its pass begins no session.
func (r *Registry) Over(zoneID string, admission [16]byte) bool {
	z := r.lookup(zoneID)
	if z == nil || z.settings.Load().MaxInside == 0 {
		return false
	}
	z.crowd.mu.Lock()
	defer z.crowd.mu.Unlock()
	return z.crowd.isOver(admission) || z.crowd.refuses(z.settings.Load(), admission, r.Millis())
}

// Done ends an admission of a zone with a cap. known is false if it was only named and the store does not know it. Of one that was
// not only named the store is told later if it is away.
func (r *Registry) Done(ctx context.Context, zoneID string, admission [16]byte, named bool) (known bool, err error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return false, err
	}
	a, ok := line.AdmissionOf(zoneID, admission)
	if !ok {
		return false, nil
	}
	if z.settings.Load().MaxInside == 0 {
		return true, nil
	}
	if !named && r.Over(zoneID, admission) { // so that a visitor who says so again and again costs the store nothing
		return true, nil
	}
	heard, err := z.tell(r.Bound(ctx), line.Telling{Stays: []line.Stay{{Admission: a, Named: named}}, SinceMillis: z.now.Load()})
	c := &z.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil && heard.Statuses[0] == line.StayUnknown:
		return false, nil
	case err != nil && (named || !errors.Is(err, line.ErrStoreUnavailable)):
		return false, err
	case err != nil:
		add(&c.done, admission)
	}
	c.end(admission, r.Millis()+graceMillis)
	return true, nil
}

// End is Done in the background, for the session of a visitor who asks for a path that ends the visit.
func (r *Registry) End(zoneID string, admission [16]byte) {
	if z := r.lookup(zoneID); z != nil {
		z.crowd.mu.Lock()
		defer z.crowd.mu.Unlock()
		if !z.crowd.isOver(admission) {
			add(&z.crowd.done, admission)
			z.crowd.end(admission, r.Millis()+graceMillis)
		}
	}
}

// end has a session be refused from then on. The caller holds mu.
func (c *insiders) end(j jti, from int64) {
	if was, isOver := c.over[j]; isOver && was <= from {
		return
	}
	if c.over == nil {
		c.over = make(map[jti]int64)
	}
	c.over[j] = from
	delete(c.untold, j)
}

// Idle counts the sessions of a zone that this server knows, and how many of them have asked for nothing for that long: whole
// minutes, at most five. The counts are up to 9 s old.
func (r *Registry) Idle(zoneID string, length time.Duration) (sessions, idle int64) {
	if z := r.lookup(zoneID); z != nil {
		z.crowd.mu.Lock()
		defer z.crowd.mu.Unlock()
		for minutes, n := range z.crowd.idle {
			sessions += n
			if time.Duration(minutes)*time.Minute >= length {
				idle += n
			}
		}
	}
	return sessions, idle
}

// Sessions returns the sessions of a zone that this server knows whose admissions are the newest, at most so many, the
// newest first.
func (r *Registry) Sessions(zoneID string, most int) []line.Session {
	z := r.lookup(zoneID)
	if z == nil {
		return nil
	}
	c := &z.crowd
	c.mu.Lock()
	names := slices.Collect(maps.Keys(c.sessions))
	c.mu.Unlock()
	slices.SortFunc(names, func(a, b jti) int { return bytes.Compare(b[:], a[:]) }) // of a million, while the gate goes on
	s, now := z.settings.Load(), r.Millis()
	var all []line.Session
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range names {
		if len(all) == most {
			break
		}
		if is := c.sessions[j]; is.until > now && !c.refuses(s, j, now) {
			all = append(all, line.Session{
				JTI: uuid.UUID(j).String(), AdmittedAtMillis: admittedAt(j),
				SinceMillis: is.since, AskedMillis: is.asked, UntilMillis: is.until, Renewed: is.renewed,
			})
		}
	}
	return all
}

func (z *Zone) tell(ctx context.Context, t line.Telling) (line.Heard, error) {
	r := z.registry
	heard, err := ask(ctx, z, store.Tell, func() (line.Heard, error) { return r.store.Tell(ctx, z.id, t) })
	if err == nil {
		z.learn(heard.State, r.Millis())
	}
	return heard, err
}

// tellAllInside begins to tell the store of those inside of all zones with a cap.
func (r *Registry) tellAllInside(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.settings.Load().MaxInside > 0 && z.seen.Load() {
			r.background.GoAlone(&z.crowd.telling, func() { r.tellInside(ctx, z) })
		}
	}
}

// TellInsideOnce tells the store of those inside, one zone after the other. After Start this is done every 900 ms.
func (r *Registry) TellInsideOnce(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.settings.Load().MaxInside > 0 {
			r.tellInside(ctx, z)
		}
	}
}

// tellInside tells the store of the sessions of one zone. What it does not take is told again later.
func (r *Registry) tellInside(ctx context.Context, z *Zone) {
	c, now, lost := &z.crowd, r.Millis(), z.lostAt.Load()
	c.mu.Lock()
	c.revoke(z)
	t := line.Telling{SinceMillis: c.since, WantSteps: c.tellings%stepsEvery == 0}
	if t.WantSteps {
		c.tidy(z, now)
	}
	c.tellings++
	if c.tellings > 1 && c.lostAt != lost { // a loss of before this server began is none of its own
		// What the store has lost: all that is known here.
		t.LostAtMillis, t.Lost = lost, c.remembered(z)
		for j, is := range c.sessions {
			if !c.isOver(j) && is.until > now {
				add(&c.untold, j)
			}
		}
		for j := range c.over {
			add(&c.done, j)
		}
	}
	untold, done := c.untold, c.done
	c.untold, c.done = nil, nil
	names := make([]jti, 0, len(untold)+len(done))
	for _, set := range []map[jti]struct{}{untold, done} {
		for j := range set {
			if a, ok := line.AdmissionOf(z.id, j); ok {
				left := int64(0)
				if _, isDone := done[j]; !isDone {
					left = max(1, c.sessions[j].until-now)
				}
				t.Stays, names = append(t.Stays, line.Stay{Admission: a, LeftMillis: left}), append(names, j)
			}
		}
	}
	c.mu.Unlock()
	heard, err := z.tell(ctx, t)

	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		for j := range untold {
			add(&c.untold, j)
		}
		for j := range done {
			add(&c.done, j)
		}
		r.log.Debug("the store cannot be told of those inside yet", "zone", z.id, "error", err)
		return
	}
	c.lostAt, c.since, c.inside = lost, heard.NextMillis, heard.State.Inside
	if t.WantSteps {
		c.steps = heard.Steps
	}
	for i, status := range heard.Statuses {
		if status == line.StayOver {
			c.end(names[i], now+graceMillis)
		}
	}
	for _, a := range heard.Over {
		c.end(a.JTI(z.id), now+graceMillis)
	}
}

// revoke takes in what was revoked. The caller holds mu.
func (c *insiders) revoke(z *Zone) {
	for _, text := range z.settings.Load().InsideState.Revoked {
		if j, err := uuid.Parse(text); err == nil {
			c.end(j, 0)
		}
	}
}

// tidy counts the idle sessions, and forgets those that have ended. It goes through all of them while the gate waits. The
// caller holds mu.
func (c *insiders) tidy(z *Zone, now int64) {
	revoked := z.settings.Load().InsideState.Revoked
	c.idle = [len(c.idle)]int64{}
	maps.DeleteFunc(c.sessions, func(_ jti, is session) bool {
		if is.until > now {
			minutes := (now - is.asked) / time.Minute.Milliseconds()
			c.idle[min(max(0, minutes), int64(len(c.idle)-1))]++
		}
		return is.until <= now
	})
	maps.DeleteFunc(c.over, func(j jti, _ int64) bool {
		return admittedAt(j)+2*store.MaxSpendLife.Milliseconds() < now && !slices.Contains(revoked, uuid.UUID(j).String())
	})
}

// remembered is how many were inside until when, as far as is known. Of whom it is not known until when, they may be for as long
// as a session. The caller holds mu.
func (c *insiders) remembered(z *Zone) []line.Step {
	s := z.settings.Load()
	steps, rest := slices.Clone(c.steps), c.inside
	for _, step := range steps {
		rest -= step.Count
	}
	if rest > 0 {
		longest := max(s.Session(), s.PassTTL()).Milliseconds()
		steps = append(steps, line.Step{EndsMillis: z.now.Load() + longest, Count: rest})
	}
	return steps
}

// lost returns what a store that lost the zone needs to know: of the line, and of those inside.
func (z *Zone) lost() line.Memory {
	m := z.memory.lost()
	if m.SeenAtMillis > 0 && z.settings.Load().MaxInside > 0 {
		z.crowd.mu.Lock()
		defer z.crowd.mu.Unlock()
		m.Inside = z.crowd.remembered(z)
	}
	return m
}
