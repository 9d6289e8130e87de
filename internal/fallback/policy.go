package fallback

import (
	"sync"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// contactEveryMillis is how much later an answer must be for the contact to be
// noted anew: often enough to date the beginning of an outage, too seldom to
// cost a poll anything.
const contactEveryMillis = 100

// phase is where a zone is in an outage. See the package's drawing.
type phase uint8

const (
	calm phase = iota
	failing
	away
	settling
)

// guard knows how one zone's store is doing, and what was done without it.
type guard struct {
	store  *Store
	zoneID string

	// troubled: calls must look at what mu guards before they go to the store.
	// It is false on all days but the bad ones.
	troubled atomic.Bool
	// contact is the latest answer that was noted. Nil: there was none yet.
	contact atomic.Pointer[contact]

	mu    sync.Mutex
	phase phase
	// failedAt is when the first call failed since the last that succeeded,
	// seenAway when the latest of those that failed was begun.
	failedAt, seenAway int64
	// refusedAt is when a token holder was last refused.
	refusedAt int64
	// settled is when settling ends.
	settled int64
	bucket  bucket
	local   admitted
	askers  askers
	probing bool
}

// contact is an answer of the store.
type contact struct {
	// atMillis is when it came, zoneMillis what the zone's clock said.
	atMillis, zoneMillis int64
}

// note remembers an answer that came now.
func (g *guard) note(s line.State) {
	if c := g.contact.Load(); c != nil {
		if d := s.NowMillis - c.zoneMillis; d >= 0 && d < contactEveryMillis {
			return
		}
	}
	g.contact.Store(&contact{atMillis: g.store.clock.millis(), zoneMillis: s.NowMillis})
}

// succeeded takes in that the store answered.
func (g *guard) succeeded(s line.State) {
	if g.troubled.Load() {
		g.mu.Lock()
		defer g.mu.Unlock()
		switch g.phase {
		case calm, settling:
		case failing:
			g.calmDown()
			g.store.meter.StoreFailing(g.zoneID, false)
		case away:
			g.comeBack()
			g.store.meter.StoreFailing(g.zoneID, false)
		}
	}
	g.note(s)
}

// comeBack ends away. It must run before the answer is noted: the contact is
// that of before the outage.
func (g *guard) comeBack() {
	now := g.store.clock.millis()
	// By then the last server knows that the store is back.
	last := now + (Apart + Stale).Milliseconds()
	settings, ok := g.store.lines.Remembered(g.zoneID)
	if ok && settings.Mode != zone.ModeOpen && last > g.earliest(settings) {
		g.phase, g.settled = settling, last+settle(settings)+1
	} else {
		g.settled = now
		g.calmDown()
	}
	g.bucket, g.askers = bucket{}, askers{}
	g.store.log.Info("the zone's store is back", "zone", g.zoneID, "heldForMillis", g.settled-now)
}

// earliest is until when no server can have let anybody in, in this outage.
func (g *guard) earliest(s zone.Settings) int64 {
	c := g.contact.Load()
	if c == nil {
		return 0
	}
	return c.atMillis + (AwayAfter - Apart + s.Window()).Milliseconds()
}

// calmDown ends an outage, but for what is remembered of it.
func (g *guard) calmDown() {
	g.phase, g.askers = calm, askers{}
	if g.local.prune(g.store.clock.millis()) {
		g.troubled.Store(false)
	}
}

// handle answers a visitor of a troubled zone, if the store is not to be asked.
func (g *guard) handle(v visitor) (a line.Answer, handled bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.store.clock.millis()
	if found, ok := g.local.find(v, now); ok {
		return found.answer(line.AdmittedBefore), true, nil
	}
	switch {
	case g.phase == away:
		a, err = g.admit(v, now)
		return a, true, err
	case g.phase == settling && now < g.settled:
		return line.Answer{}, true, errHeld
	case g.phase == settling, g.phase == calm:
		g.calmDown()
	}
	return line.Answer{}, false, nil
}

// failed takes in that the store did not answer a visitor's call, and answers
// in its place if the zone is away.
func (g *guard) failed(v visitor, began int64) (a line.Answer, handled bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.store.clock.millis()
	g.fail(now, began)
	if g.phase != away {
		if settings, ok := g.store.lines.Remembered(g.zoneID); ok && admits(settings, g.store.servers) {
			g.refuse(v, now, g.standing(v, now, settings))
		}
		return line.Answer{}, false, nil
	}
	if found, ok := g.local.find(v, now); ok {
		return found.answer(line.AdmittedBefore), true, nil
	}
	a, err = g.admit(v, now)
	return a, true, err
}

// fail moves the zone towards away.
func (g *guard) fail(now, began int64) {
	g.seenAway = max(g.seenAway, began)
	if g.phase == calm {
		g.phase, g.failedAt, g.askers = failing, now, askers{since: now}
		g.troubled.Store(true)
		g.store.meter.StoreFailing(g.zoneID, true)
	}
	if g.phase != failing || now-g.failedAt < AwayAfter.Milliseconds() {
		return
	}
	settings, ok := g.store.lines.Remembered(g.zoneID)
	if !ok || !admits(settings, g.store.servers) {
		return
	}
	g.phase = away
	g.bucket = bucket{lost: lostTo(settings, g.store.servers, now)}
	r := share(settings, g.store.servers)
	g.store.log.Warn("the zone's store is away: this server admits its share by itself",
		"zone", g.zoneID, "servers", g.store.servers, "perMinute", r.PerMinute, "windowLimit", r.Limit)
}

// standing is what this server knows of a visitor's place.
type standing uint8

const (
	// stands: nothing speaks against it.
	stands standing = iota
	// doubtful: the store has to say. The visitor may have been swept, or holds a pass
	// of which the store knows.
	doubtful
	// ended: the visitor left, or the admission has expired.
	ended
)

// standing judges a token by the same rule as a store that lost its place.
func (g *guard) standing(v visitor, now int64, s zone.Settings) standing {
	m := g.store.lines.Memory(g.zoneID)
	if m.SeenAtMillis == 0 {
		return doubtful // nothing was ever heard of this line
	}
	zoneNow := g.zoneMillis(now)
	for i := -1; i < len(v.former); i++ {
		p := v.place
		if i >= 0 {
			p.ID = v.former[i]
		}
		d, known := g.store.lines.Departed(g.zoneID, p)
		switch {
		case !known:
		case d.AdmittedAtMillis > 0 && d.AdmittedAtMillis+s.PassTTL().Milliseconds() > zoneNow:
			return doubtful
		case !v.newcomer:
			return ended
		}
	}
	if v.newcomer || m.Epoch == 0 || v.place.Epoch == m.Epoch && !window.Silent(v.place.DueMillis, m.SeenAtMillis, s) {
		return stands
	}
	return doubtful
}

// zoneMillis is the zone's clock, as far as the store told what it says.
func (g *guard) zoneMillis(now int64) int64 {
	if c := g.contact.Load(); c != nil {
		now += c.zoneMillis - c.atMillis
	}
	return now
}

// refuse notes that a visitor of that standing is refused. Only whose place stands
// counts among those who wait.
func (g *guard) refuse(v visitor, now int64, how standing) {
	if !v.newcomer && how == stands {
		g.refusedAt = now
		g.askers.hear(v.place, now)
	}
}

// admit lets a visitor in who was not let in before, or refuses.
func (g *guard) admit(v visitor, now int64) (line.Answer, error) {
	settings, ok := g.store.lines.Remembered(g.zoneID)
	if !ok {
		return line.Answer{}, errHeld
	}
	how := g.standing(v, now, settings)
	if how == ended {
		return line.Answer{Status: line.Gone, Local: true}, nil
	}
	if how == doubtful || !g.mayEnter(v, now, settings) {
		g.refuse(v, now, how)
		return line.Answer{}, errHeld
	}
	if v.newcomer {
		v.place.ArrivedAtMicros = g.store.lines.Memory(g.zoneID).LastArrivalMicros
	}
	at, ttl := g.zoneMillis(now), settings.PassTTL().Milliseconds()
	one := admission{place: v.place, atMillis: at, expiresMillis: at + ttl, untilMillis: now + ttl}
	g.bucket.add(now)
	g.askers.enter(v.place)
	g.local.prune(now)
	g.local.add(one)
	g.store.lines.Depart(g.zoneID, line.Departure{Place: v.place, AdmittedAtMillis: at})
	g.store.meter.AdmitLocally(g.zoneID)
	return one.answer(line.Admitted), nil
}

func (g *guard) mayEnter(v visitor, now int64, s zone.Settings) bool {
	if !admits(s, g.store.servers) || now-g.seenAway > Stale.Milliseconds() {
		return false
	}
	m := g.store.lines.Memory(g.zoneID)
	if v.newcomer && !g.mayJoin(now, s, m) {
		return false
	}
	if s.Mode == zone.ModeOpen {
		return true
	}
	r := share(s, g.store.servers)
	room := g.bucket.room(now, r)
	turn := v.newcomer || g.askers.within(v.place.ArrivedAtMicros, m.EdgeMicros, now, room, r, g.store.servers)
	return turn && room > 0
}

// mayJoin reports whether newcomers may try: the zone takes them, no token
// holder was refused for one polling round, and there is an arrival to give.
func (g *guard) mayJoin(now int64, s zone.Settings, m line.Memory) bool {
	if m.LastArrivalMicros == 0 || s.Mode == zone.ModeClosed {
		return false
	}
	return s.Mode == zone.ModeOpen || now-g.refusedAt > window.MaxPeriodMillis
}
