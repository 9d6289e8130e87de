package zones

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// When a poll is answered from the cache, in milliseconds.
const (
	// apart is the shortest time between two polls of one visitor that reach the store. It is 25 ms less than the
	// shortest period that is ever told, since the clock of a client may run fast.
	apart = window.MinAppointmentMillis/2 - 25
	// leastEarly and earlyPart: a poll is in time if it comes early by at most one earlyPart-th of the period or by
	// leastEarly, whichever is more. Timers are inexact, and Retry-After is rounded.
	leastEarly = 50
	earlyPart  = 10
	// releasedEvery is how often a released visitor's poll is let through ahead of its time: slots open when others
	// do not come, and early polls may fill them.
	releasedEvery = 1_000
	// admittedEvery is how often the store is asked about a visitor who is admitted or gone.
	admittedEvery = 1_000
	// tooLate is by how much a poll may miss its time: the grace of the stores, less 250 ms for a slow network.
	tooLate = window.GraceMillis - 250
	// lateFor is for how long after its time a poll may be answered with the last answer, because the store has too
	// much to do: the position is no older than that and a period.
	lateFor = 30_000
	// overlap: two calls that began less than this apart may have been under way at the same time. Then the store may
	// have answered them in either order.
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
	// asked is when the latest call to the store began, in milliseconds on this server's clock.
	asked int64
	// place is the arrival of a waiting visitor, in microseconds.
	place int64
	// due is when the store last told a waiting visitor to poll again, on this server's clock.
	due int64
	// low and high are the range of the estimate, in milliseconds.
	low, high uint32
	// What a, b and c hold depends on the kind. Waiting: the position, the total, and the estimate in milliseconds.
	// Admitted: the time of admission in a and b, the life of the pass in c. Gone: the arrival in a and b.
	a, b, c uint32
	// zone is the generation of the zone when the answer came.
	zone uint32
	// period is how long the visitor was told to wait, in milliseconds from asked on. 0: the store is being asked.
	period uint16
	// seen is when the visitor was last here, in milliseconds after asked.
	seen uint16
	kind kind
	// reason is why the estimate moved.
	reason line.Reason
	// early: this visitor has polled before its time.
	early bool
	// crossed: two calls for the visitor are under way.
	crossed bool
}

// pollCache holds the latest answer to each visitor. A nil *pollCache holds nothing. It has a fixed size. When it is full, visitors who always came in
// time are forgotten first, and of these the one who is due first.
type pollCache struct {
	table []place
	locks [stripes]stripe
}

type place [ways]entry

// stripe guards some places. It fills a line of the processor's cache, so that two neighbouring locks do not slow each
// other down (false sharing).
type stripe struct {
	sync.Mutex
	_ [56]byte
}

func newPollCache() *pollCache { return &pollCache{table: make([]place, places)} }

// at returns the place in which a visitor's entry is, if there is one, and the lock to hold while it is used.
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

// room returns the visitor's entry, or else the entry that may be overwritten with the least loss.
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

// worth is how much the loss of the entry would cost: the higher, the more.
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

// early returns what is known of a visitor, and whether the poll came before its time. If it did not, the caller is to
// ask the store at once, unless the visitor polls too often for another place than it is gone from (entry.another).
func (c *pollCache) early(z *Zone, p line.Place, now int64) (known entry, early bool) {
	if c == nil {
		return entry{}, false
	}
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.find(p.ID)
	if e == nil || e.zone != z.Generation() {
		return entry{}, false
	}
	if e.another(p) {
		return *e, false // joined anew since, or shows the token of an older place
	}
	if e.passes(z, now) {
		known = *e
		e.ask(now)
		return known, false
	}
	e.seen, e.early = short(now-e.asked), true
	return *e, true
}

// passes reports whether the store is to be asked.
func (e *entry) passes(z *Zone, now int64) bool {
	since := now - e.asked
	switch {
	case since < apart:
		return false
	case e.kind != waiting:
		return since >= admittedEvery
	}
	left := int64(e.period) - since
	switch {
	case left <= max(leastEarly, int64(e.period)/earlyPart), z.Open():
		return true
	case e.place <= z.EdgeMicros() && since >= releasedEvery:
		return true
	}
	// A visitor who goes on in this rhythm would come too late next time. So the early poll is let through.
	rhythm := since - int64(e.seen)
	return rhythm > left+tooLate
}

// ask notes that the store is being asked. If the store does not answer, a later poll may ask it again.
func (e *entry) ask(now int64) {
	if e.kind == waiting {
		e.c, e.low, e.high = uint32(e.left(e.c, now)), uint32(e.left(e.low, now)), uint32(e.left(e.high, now))
		e.crossed = e.period == 0
		e.period = 0
	}
	e.asked, e.seen = now, 0
}

// left returns what is left of an estimate now, in milliseconds: as told, less the time that has passed. The highest
// estimate does not fall, and none does while the zone is on hold.
func (e *entry) left(told uint32, now int64) int64 {
	if told == window.MaxEstimateMillis || e.reason == line.OnHold {
		return int64(told)
	}
	return max(0, int64(told)-(now-e.asked))
}

// vouch gives a place from an older token the time at which this server knows the visitor to be due. So a visitor who
// always shows its first token counts as fresh as one who shows the newest, on the servers that it polls.
func (e *entry) vouch(z *Zone, p line.Place) line.Place {
	if due := e.due + z.AheadMillis(); e.kind == waiting && e.place == p.ArrivedAtMicros && due > p.DueMillis {
		p.DueMillis, p.Epoch = due, z.Epoch()
	}
	return p
}

// waits reports whether the visitor is known to wait at the place.
func (e *entry) waits(p line.Place) bool { return e.kind == waiting && e.place == p.ArrivedAtMicros }

// late returns the last answer to a visitor who waits, with another period: the store has too much to do to give one.
func (c *pollCache) late(z *Zone, p line.Place, now, retry int64) (a line.Told, ok bool) {
	if c == nil {
		return line.Told{}, false
	}
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.find(p.ID)
	if e == nil || e.zone != z.Generation() || !e.waits(p) || now-e.due > lateFor {
		return line.Told{}, false
	}
	// due stays: whether the visitor is still in the line, only the store knows.
	e.period = short(now - e.asked + retry)
	return e.answer(p, now, z.AheadMillis()), true
}

// arrived returns what a and b hold: the arrival of a visitor who is gone, or the time of an admission.
func (e *entry) arrived() int64 { return int64(e.a)<<32 | int64(e.b) }

// answer returns what the store said, less the time that has passed since. ahead is by how many milliseconds the
// store's clock is ahead of this server's.
func (e *entry) answer(p line.Place, now, ahead int64) line.Told {
	a := line.Told{Early: true, Answer: line.Answer{Place: p, State: line.State{NowMillis: now + ahead}}}
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
		a = line.Told{Early: true, Answer: line.Answer{Status: line.Gone}}
	}
	return a
}

// keep remembers what the store answered to a call that began at asked. p is the place that the call was about.
func (c *pollCache) keep(z *Zone, p line.Place, a *line.Told, asked int64) {
	if c == nil {
		return
	}
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.room(p.ID, asked)
	n := entry{id: p.ID, asked: asked, zone: z.Generation()}
	known := e.kind != nobody && e.id == p.ID
	if known && e.kind == gone && e.asked >= asked && e.arrived() == p.ArrivedAtMicros {
		return // the visitor left while the call was under way
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

// follows reports whether the next answer is to replace the remembered one. Of two calls that were under way together,
// nobody knows which one the store answered first. Positions never rise, so the lower one is the later.
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

// nearer returns the lower of two positions. 0 is no position: people gathered.
func nearer(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// another reports whether this server knows that the visitor is gone, from another place than p.
func (e *entry) another(p line.Place) bool { return e.kind == gone && e.arrived() != p.ArrivedAtMicros }

func (e *entry) setArrived(v int64) { e.a, e.b = uint32(v>>32), uint32(v) }

// leave remembers that the visitor has given the place up, unless the visitor is known to have another one since, or to have been
// admitted from one.
func (c *pollCache) leave(z *Zone, p line.Place, now int64) {
	if c == nil {
		return
	}
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	if e := at.find(p.ID); e != nil && e.zone == z.Generation() &&
		(e.kind == waiting && e.place != p.ArrivedAtMicros || e.kind == admitted && e.arrived() != p.AdmittedAtMillis) {
		return
	}
	e := at.room(p.ID, now)
	*e = entry{id: p.ID, asked: now, zone: z.Generation(), kind: gone}
	e.setArrived(p.ArrivedAtMicros)
}

// left reports whether the visitor is known to have given up this place just now; another, whether it is known to be gone
// from another.
func (c *pollCache) left(z *Zone, p line.Place, now int64) (left, another bool) {
	if c == nil {
		return false, false
	}
	at, lock := c.at(p.ID)
	lock.Lock()
	defer lock.Unlock()
	e := at.find(p.ID)
	if e == nil || e.zone != z.Generation() {
		return false, false
	}
	return e.kind == gone && e.arrived() == p.ArrivedAtMicros && now-e.asked < admittedEvery, e.another(p)
}

// short cuts a span to what an entry holds.
func short(millis int64) uint16 { return uint16(min(max(0, millis), math.MaxUint16)) }
