package fallback

import (
	"sync"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// contactEveryMillis is how often at most the contact is noted anew: often enough to date the beginning of an outage,
// and too seldom to slow polls down.
const contactEveryMillis = 100

// phase is how far an outage of a zone's store has come. See the drawing in doc.go.
type phase uint8

const (
	calm phase = iota
	failing
	away
	settling
)

// breaker is the circuit breaker of one zone: it knows how the zone's store is doing, and what
// was done without it.
type breaker struct {
	policy *Policy
	zoneID string

	// troubled: a call has to look at what mu guards before it goes to the store. Normally false.
	troubled atomic.Bool
	// contact is the latest answer of the store that was noted; nil before the first.
	contact atomic.Pointer[contact]
	// probing: a probe is under way.
	probing atomic.Bool

	mu    sync.Mutex
	phase phase
	// failedAt is when the first call failed after the last success. seenAway is when the latest of the failed calls
	// began.
	failedAt, seenAway int64
	// refusedAt is when a token holder was last refused.
	refusedAt int64
	// settled is when the phase settling ends.
	settled int64
	bucket  bucket
	local   admitted
	askers  askers
	turned  turned
}

// contact is an answer of the store.
type contact struct {
	// atMillis is when it came, on this server's clock. zoneMillis is the zone's clock in that answer.
	atMillis, zoneMillis int64
}

// note remembers that an answer came now.
func (b *breaker) note(s line.State) {
	if c := b.contact.Load(); c != nil {
		if d := s.NowMillis - c.zoneMillis; d >= 0 && d < contactEveryMillis {
			return
		}
	}
	b.contact.Store(&contact{atMillis: b.policy.clock.millis(), zoneMillis: s.NowMillis})
}

// succeeded takes in that the store answered.
func (b *breaker) succeeded(s line.State) {
	if b.troubled.Load() {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch b.phase {
		case calm, settling:
		case failing:
			b.calmDown()
			b.policy.meter.StoreFailing(b.zoneID, false)
		case away:
			b.comeBack()
			b.policy.meter.StoreFailing(b.zoneID, false)
		}
	}
	b.note(s)
}

// comeBack ends the phase away. It must run before the answer is noted, since it needs the last contact from before the
// outage.
func (b *breaker) comeBack() {
	now := b.policy.clock.millis()
	// By then the last server knows that the store is back.
	last := now + (Apart + Stale).Milliseconds()
	settings, ok := b.policy.lines.Remembered(b.zoneID)
	if ok && settings.Mode != zone.ModeOpen && last > b.earliest(settings) {
		b.phase, b.settled = settling, last+holdMillis(settings)+1
	} else {
		b.settled = now
		b.calmDown()
	}
	b.bucket, b.askers = bucket{}, askers{}
	b.policy.log.Info("the zone's store is back", "zone", b.zoneID, "heldForMillis", b.settled-now)
}

// earliest returns the time before which no server can have let anybody in during this outage.
func (b *breaker) earliest(s zone.Settings) int64 {
	c := b.contact.Load()
	if c == nil {
		return 0
	}
	return c.atMillis + (AwayAfter - Apart + s.Window()).Milliseconds()
}

// calmDown ends an outage. Admissions whose passes are still good stay remembered.
func (b *breaker) calmDown() {
	b.phase, b.askers = calm, askers{}
	if b.local.prune(b.policy.clock.millis()) {
		b.troubled.Store(false)
	}
}

// handle answers a visitor of a troubled zone without the store. handled is false if the store has to be asked.
func (b *breaker) handle(v visitor) (a line.Answer, handled bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.policy.clock.millis()
	if found, ok := b.local.find(v, now); ok {
		return found.answer(line.AdmittedBefore), true, nil
	}
	switch {
	case b.phase == away:
		a, err = b.admit(v, now)
		return a, true, err
	case b.phase == settling && now < b.settled:
		return line.Answer{}, true, errHeld
	case b.phase == settling, b.phase == calm:
		b.calmDown()
	}
	return line.Answer{}, false, nil
}

// failed takes in that the store did not answer a visitor's call that began at a time. In the phase away it answers
// in the store's place.
func (b *breaker) failed(v visitor, began int64) (a line.Answer, handled bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.policy.clock.millis()
	b.fail(now, began)
	if b.phase != away {
		if settings, ok := b.policy.lines.Remembered(b.zoneID); ok && admits(settings, b.policy.servers) {
			b.refuse(v, now, b.standing(v, now, settings))
		}
		return line.Answer{}, false, nil
	}
	if found, ok := b.local.find(v, now); ok {
		return found.answer(line.AdmittedBefore), true, nil
	}
	a, err = b.admit(v, now)
	return a, true, err
}

// fail takes in a failed call that began at a time. It begins the phase failing, and the phase away if calls have
// failed for AwayAfter and servers admit to the zone.
func (b *breaker) fail(now, began int64) {
	b.seenAway = max(b.seenAway, began)
	if b.phase == calm {
		b.phase, b.failedAt, b.askers = failing, now, askers{since: now}
		b.troubled.Store(true)
		b.policy.meter.StoreFailing(b.zoneID, true)
	}
	if b.phase != failing || now-b.failedAt < AwayAfter.Milliseconds() {
		return
	}
	settings, ok := b.policy.lines.Remembered(b.zoneID)
	if !ok || !admits(settings, b.policy.servers) {
		return
	}
	b.phase = away
	b.bucket = bucket{lost: lostTo(settings, b.policy.servers, now)}
	r := share(settings, b.policy.servers)
	b.policy.log.Warn("the zone's store is away: this server admits its share by itself",
		"zone", b.zoneID, "servers", b.policy.servers, "perMinute", r.PerMinute, "windowLimit", r.Limit)
}

// standing is what this server knows of a visitor's place.
type standing uint8

const (
	// stands: nothing speaks against it.
	stands standing = iota
	// doubtful: only the store can tell. The visitor may have been swept, or holds a pass of which the store knows.
	doubtful
	// ended: the visitor left, or the admission has expired.
	ended
)

// standing judges a token by the same rule as a store that lost the token's place.
func (b *breaker) standing(v visitor, now int64, s zone.Settings) standing {
	m := b.policy.lines.Memory(b.zoneID)
	if m.SeenAtMillis == 0 {
		return doubtful // nothing was ever heard of this line
	}
	zoneNow := b.zoneMillis(now)
	for _, id := range v.ids() {
		p := v.place
		p.ID = id
		d, known := b.policy.lines.Departed(b.zoneID, p)
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

// zoneMillis returns what the zone's clock shows now, reckoned from the last contact.
func (b *breaker) zoneMillis(now int64) int64 {
	if c := b.contact.Load(); c != nil {
		now += c.zoneMillis - c.atMillis
	}
	return now
}

// refuse notes that a visitor of that standing is refused. A token holder whose place does not stand is not counted
// among those who wait, and neither is a newcomer.
func (b *breaker) refuse(v visitor, now int64, how standing) {
	if !v.newcomer && how == stands {
		b.refusedAt = now
		b.askers.hear(v.place, now)
	}
}

// admit lets a visitor in whom this server has not let in yet, or refuses.
func (b *breaker) admit(v visitor, now int64) (line.Answer, error) {
	settings, ok := b.policy.lines.Remembered(b.zoneID)
	if !ok {
		return line.Answer{}, errHeld
	}
	how := b.standing(v, now, settings)
	if how == ended {
		return line.Answer{Status: line.Gone, Local: true}, nil
	}
	if how == doubtful || !b.mayEnter(v, now, settings) {
		b.refuse(v, now, how)
		return line.Answer{}, errHeld
	}
	if v.newcomer {
		v.place.ArrivedAtMicros = b.policy.lines.Memory(b.zoneID).LastArrivalMicros
	}
	at, ttl := b.zoneMillis(now), settings.PassTTL().Milliseconds()
	one := admission{place: v.place, atMillis: at, expiresMillis: at + ttl, untilMillis: now + ttl}
	b.bucket.add(now)
	b.askers.enter(v.place)
	b.local.prune(now)
	b.local.add(one)
	b.policy.lines.Depart(b.zoneID, line.Departure{Place: v.place, AdmittedAtMillis: at})
	b.policy.meter.AdmitLocally(b.zoneID)
	return one.answer(line.Admitted), nil
}

func (b *breaker) mayEnter(v visitor, now int64, s zone.Settings) bool {
	if s.EventState.Unopened(b.zoneMillis(now)) {
		return false // only the store's clock decides when the zone opens
	}
	if !admits(s, b.policy.servers) || now-b.seenAway > Stale.Milliseconds() {
		return false
	}
	m := b.policy.lines.Memory(b.zoneID)
	if v.newcomer && !b.mayJoin(now, s, m) {
		return false
	}
	if s.Mode == zone.ModeOpen {
		return true
	}
	r := share(s, b.policy.servers)
	room := b.bucket.room(now, r)
	next := v.newcomer || b.askers.within(v.place.ArrivedAtMicros, m.EdgeMicros, now, room, r, b.policy.servers)
	return next && room > 0
}

// mayJoin reports whether newcomers may try: the zone takes newcomers, no token holder was refused for one polling
// round, and this server knows an arrival that it can give them.
func (b *breaker) mayJoin(now int64, s zone.Settings, m line.Memory) bool {
	if m.LastArrivalMicros == 0 || s.Mode == zone.ModeClosed {
		return false
	}
	return s.Mode == zone.ModeOpen || now-b.refusedAt > max(window.FarPeriodMillis, window.RatesOf(s).PeriodCapMillis)
}
