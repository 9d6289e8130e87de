package guard

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// When a poll is answered from the cache, in milliseconds.
const (
	// apart is how far the polls of one visitor are from each other at the store,
	// whatever the visitor does: below the shortest period that is ever told, by
	// what a clock that runs fast may be early.
	apart = window.MinAppointmentMillis/2 - 25
	// leastEarly and earlyPart say how early a poll is in time: by a tenth of the
	// period, at least 50 ms. Timers are inexact, and Retry-After is rounded.
	leastEarly = 50
	earlyPart  = 10
	// releasedEvery is how often one whose turn is near is let through ahead of the
	// time told: slots open when others do not come, and the impatient may fill them.
	releasedEvery = 1_000
	// admittedEvery is how often the store is asked about one who is in, or gone.
	admittedEvery = 1_000
	// tooLate is by how much the next poll may miss its time: what the stores
	// allow, less a bad network.
	tooLate = window.GraceMillis - 250
	// overlap is how far apart two calls began that may have been under way at the
	// same time, and so may be answered in either order.
	overlap = 1_000
)

// The size of the cache: 262,144 visitors in 17 MB.
const (
	ways    = 4
	places  = 1 << 16
	stripes = 1 << 10
)

// kind is what is known of a visitor.
type kind uint8

const (
	nobody kind = iota
	waiting
	admitted
	gone
)

// entry is what is remembered of one visitor, in 64 bytes.
type entry struct {
	id line.ID
	// asked is when the store was last asked, before it answered. Milliseconds on
	// the guard's clock.
	asked int64
	// place is where one who waits stands: the arrival, in microseconds.
	place int64
	// due is when one who waits was last told to come, by the store.
	due int64
	// low and high are the range of the estimate, as c.
	low, high uint32
	// What these hold depends on the kind: see their methods.
	a, b, c uint32
	// zone is the generation of the zone that the answer was of.
	zone uint32
	// period is what was told, from asked on. 0: the store is being asked.
	period uint16
	// seen is when the visitor was last here, in milliseconds after asked.
	seen uint16
	kind kind
	// reason is why the estimate moved.
	reason line.Reason
	// early: this visitor has come ahead of time before.
	early bool
	// crossed: two calls for the visitor are under way.
	crossed bool
}

// pollCache holds the latest answer to each visitor. It has a fixed size. Of more visitors
// than fit, those are forgotten who always came in time, and of these, who is due first.
type pollCache struct {
	table []place
	locks [stripes]stripe
}

type place [ways]entry

// stripe guards some places. It fills a line of the processor's cache, lest two
// that are next to each other be fought over.
type stripe struct {
	sync.Mutex
	_ [56]byte
}

func newPollCache() *pollCache { return &pollCache{table: make([]place, places)} }

// at returns where the visitor is, if anywhere, and the lock to hold meanwhile.
func (c *pollCache) at(id line.ID) (*place, *stripe) {
	// Ids are random, or hashes; nobody can choose one.
	n := binary.LittleEndian.Uint64(id[:]) * 0x9e3779b97f4a7c15 >> 32
	return &c.table[n%places], &c.locks[n%stripes]
}

func (p *place) find(id line.ID) *entry {
	for i := range p {
		if e := &p[i]; e.kind != nobody && e.id == id {
			return e
		}
	}
	return nil
}

// room returns the visitor's entry, or the one to write it over.
func (p *place) room(id line.ID, now int64) *entry {
	var worst *entry
	least := int64(math.MaxInt64)
	for i := range p {
		e := &p[i]
		if e.kind != nobody && e.id == id {
			return e
		}
		if worth := e.worth(now); worth < least {
			worst, least = e, worth
		}
	}
	return worst
}

// worth is how much would be lost with the entry.
func (e *entry) worth(now int64) int64 {
	left := e.asked + int64(e.period) - now
	switch {
	case e.kind == nobody:
		return -1
	case left < 0:
		return 0
	case e.early:
		return left + math.MaxUint16
	default:
		return left
	}
}

// early returns what is known of a visitor, if anything, and whether the poll came
// ahead of its time. If not, the store is expected to be asked at once.
func (c *pollCache) early(z *cachedZone, p line.Place, now int64) (known entry, early bool) {
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.find(p.ID)
	if e == nil || e.zone != z.generation.Load() {
		return entry{}, false
	}
	if e.kind == gone && e.arrived() != p.ArrivedAtMicros {
		return entry{}, false // joined anew since
	}
	if e.passes(z, p, now) {
		known = *e
		e.ask(now)
		return known, false
	}
	e.seen, e.early = short(now-e.asked), true
	return *e, true
}

// passes reports whether the store is to be asked.
func (e *entry) passes(z *cachedZone, p line.Place, now int64) bool {
	since := now - e.asked
	switch {
	case since < apart:
		return false
	case e.kind != waiting:
		return since >= admittedEvery
	}
	left := int64(e.period) - since
	switch {
	case left <= max(leastEarly, int64(e.period)/earlyPart), z.open.Load():
		return true
	case p.ArrivedAtMicros <= z.edge.Load() && since >= releasedEvery:
		return true
	}
	// Who goes on in this rhythm would next come too late: of these, the one that
	// is a little early is the better.
	rhythm := since - int64(e.seen)
	return rhythm > left+tooLate
}

// ask notes that the store is being asked. If it does not answer, the visitor may
// ask again.
func (e *entry) ask(now int64) {
	if e.kind == waiting {
		e.c, e.low, e.high = uint32(e.left(e.c, now)), uint32(e.left(e.low, now)), uint32(e.left(e.high, now))
		e.crossed = e.period == 0
		e.period = 0
	}
	e.asked, e.seen = now, 0
}

// left is what is left of a wait now: as told, less the time that has passed.
// One that says "not today" stays so; while the zone is on hold all do.
func (e *entry) left(told uint32, now int64) int64 {
	if told == window.MaxEstimateMillis || e.reason == line.OnHold {
		return int64(told)
	}
	return max(0, int64(told)-(now-e.asked))
}

// vouch has a token that is older than what the visitor was told say when it was
// told to poll: this server knows. So who keeps its first token is believed as one who
// keeps the newest, by the servers that it polls.
func (e *entry) vouch(z *cachedZone, p line.Place) line.Place {
	if due := e.due + z.ahead.Load(); e.kind == waiting && e.place == p.ArrivedAtMicros && due > p.DueMillis {
		p.DueMillis, p.Epoch = due, z.epoch.Load()
	}
	return p
}

// arrived is the place of one who is gone.
func (e *entry) arrived() int64 { return int64(e.a)<<32 | int64(e.b) }

// answer is what the store said, as it is now. ahead is by how much the store's clock is
// ahead of the guard's.
func (e *entry) answer(p line.Place, now, ahead int64) line.Answer {
	a := line.Answer{Place: p, Early: true, State: line.State{NowMillis: now + ahead}}
	switch e.kind {
	case waiting:
		a.Status, a.Position, a.State.Waiting = line.Waiting, int64(e.a), int64(e.b)
		a.EstimateMillis, a.LowMillis, a.HighMillis = e.left(e.c, now), e.left(e.low, now), e.left(e.high, now)
		if a.Reason = e.reason; e.high > 0 {
			a.HighMillis = max(1, a.HighMillis) // 0 is no range
		}
		a.PeriodMillis = max(window.MinAppointmentMillis, e.asked+int64(e.period)-now)
	case admitted:
		a.Status, a.AdmittedAtMillis = line.AdmittedBefore, e.arrived()
		a.ExpiresAtMillis = a.AdmittedAtMillis + int64(e.c)
	default:
		a = line.Answer{Status: line.Gone, Early: true}
	}
	return a
}

// keep remembers what the store answered to a visitor who was there at a time. The
// place is the one that was asked for.
func (c *pollCache) keep(z *cachedZone, p line.Place, a *line.Answer, asked int64) {
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.room(p.ID, asked)
	n := entry{id: p.ID, asked: asked, zone: z.generation.Load()}
	known := e.kind != nobody && e.id == p.ID
	if known && e.kind == gone && e.asked >= asked && e.arrived() == p.ArrivedAtMicros {
		return // left meanwhile
	}
	switch {
	case a.Status == line.Waiting && a.Position <= math.MaxUint32:
		n.kind, n.a, n.b, n.c = waiting, uint32(a.Position), uint32(a.State.Waiting), uint32(a.EstimateMillis)
		n.low, n.high, n.reason = uint32(a.LowMillis), uint32(a.HighMillis), a.Reason
		n.period, n.place = short(a.PeriodMillis), a.Place.ArrivedAtMicros
		n.due = asked + int64(n.period)
	case a.Status == line.Admitted || a.Status == line.AdmittedBefore:
		ttl := a.ExpiresAtMillis - a.AdmittedAtMillis
		// What is remembered must not outlive the pass, and has no room for AheadMillis.
		if a.AheadMillis == 0 && a.State.NowMillis > 0 && a.ExpiresAtMillis-a.State.NowMillis > 2*admittedEvery && ttl <= math.MaxUint32 {
			n.kind, n.c = admitted, uint32(ttl)
			n.setArrived(a.AdmittedAtMillis)
		}
	case a.Status == line.Gone:
		n.kind = gone
		n.setArrived(p.ArrivedAtMicros)
	}
	if n.kind == nobody {
		if known {
			*e = entry{}
		}
		return
	}
	if known {
		n.early = e.early
		if n.kind == waiting && e.kind == waiting && e.zone == n.zone && !follows(&n, e) {
			return
		}
	}
	*e = n
}

// follows reports whether the next answer is to take the place of the one that is
// remembered. Of two calls that were under way together, nobody knows which the store
// answered first: the lower position is the later one.
func follows(next, e *entry) bool {
	if e.asked > next.asked {
		e.a = nearer(e.a, next.a)
		return false
	}
	if e.crossed || e.asked < next.asked && next.asked-e.asked < overlap {
		next.a = nearer(e.a, next.a)
	}
	return true
}

// nearer is the lower of two positions, of which 0 is none: people gathered.
func nearer(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (e *entry) setArrived(v int64) { e.a, e.b = uint32(v>>32), uint32(v) }

// leave remembers that the visitor has given the place up.
func (c *pollCache) leave(z *cachedZone, p line.Place, now int64) {
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.room(p.ID, now)
	*e = entry{id: p.ID, asked: now, zone: z.generation.Load(), kind: gone}
	e.setArrived(p.ArrivedAtMicros)
}

// left reports whether the visitor is known to have given up this place just now.
func (c *pollCache) left(z *cachedZone, p line.Place, now int64) bool {
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.find(p.ID)
	return e != nil && e.kind == gone && e.zone == z.generation.Load() &&
		e.arrived() == p.ArrivedAtMicros && now-e.asked < admittedEvery
}

// short cuts a span to what an entry holds.
func short(millis int64) uint16 { return uint16(min(max(0, millis), math.MaxUint16)) }
