package split

import (
	"cmp"
	"container/heap"
	"math/rand/v2"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Config of a run.
type Config struct {
	// Zone is the zone that is split, Parts into how many lines.
	Zone  zone.Settings
	Parts int
	// Visitors come within ArriveMillis; a share Leave of them goes away, each
	// after a part of the expected wait.
	Visitors     int
	ArriveMillis int64
	Leave        float64
	// RoundMillis is the time between two reports of a part.
	RoundMillis int64
	// LongestMillis is when the run is ended if it has not; 0: after a day.
	LongestMillis int64
	// Faults are what goes wrong.
	Faults Faults
	Seed   uint64
}

// Faults are shares of messages, and events a minute.
type Faults struct {
	// Lost, Repeated and Delayed are shares of the messages; delayed ones
	// take up to 3 s, longer than a lease.
	Lost, Repeated, Delayed float64
	// PartRestarts and LedgerLosses are fail-overs that take no time. The
	// ledger loses its last second.
	PartRestarts, LedgerLosses float64
	// PartDeaths and LedgerDeaths are fail-overs that take 5 s.
	PartDeaths, LedgerDeaths float64
	// Silences are 3 s in which no message of one part arrives.
	Silences float64
	// Twins are fail-overs of a part whose old master goes on for 3 s.
	Twins float64
	// SkewMillis is how far clocks are off, DriftMillionths how much faster
	// or slower they run.
	SkewMillis, DriftMillionths int64
}

const (
	// silence is three times as long as a lease, in milliseconds.
	silence = 3 * validity
	// failOver is how long a node is away until a replica has taken over.
	failOver = 5000
)

// run is a simulation under way.
type run struct {
	cfg      Config
	rng      *rand.Rand
	rates    window.Rates
	parts    []*part
	lives    int64
	ledger   *ledger
	earlier  *ledger // up to a second ago
	visitors []visitor
	events   events
	happened int64
	now      int64
	waiting  int64

	// Until when messages, polls and the ledger are answered no more.
	silentUntil, deadUntil []int64
	ledgerDeadUntil        int64

	m measure
}

// event is something that happens at a time.
type event struct {
	at, order int64
	do        func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

const (
	// beginning is the run's time at which the first may come: any will do.
	beginning = 1_000_000
	day       = 86_400_000
)

// Run runs the crowd until everybody is in or gone.
func Run(cfg Config) Report {
	cfg.LongestMillis = cmp.Or(cfg.LongestMillis, day)
	r := &run{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x73706c6974)), rates: window.RatesOf(cfg.Zone),
		now: beginning, visitors: make([]visitor, cfg.Visitors), waiting: int64(cfg.Visitors),
		silentUntil: make([]int64, cfg.Parts), deadUntil: make([]int64, cfg.Parts),
	}
	r.ledger = newLedger(r.rates, cfg.Parts)
	r.earlier = r.ledger.clone()
	for i := range cfg.Parts {
		p := &part{id: i, rates: r.rates, parts: int64(cfg.Parts)}
		r.promote(p)
		r.parts = append(r.parts, p)
		r.after(r.rng.Int64N(cfg.RoundMillis), func() { r.round(p) })
	}
	for i := range r.visitors {
		v := &r.visitors[i]
		r.after(r.rng.Int64N(max(1, cfg.ArriveMillis)), func() { r.join(v) })
	}
	r.breakThings()
	for r.waiting > 0 && r.now < beginning+cfg.LongestMillis {
		e := heap.Pop(&r.events).(event)
		r.now = e.at
		e.do()
	}
	return r.report()
}

// breakThings plans the faults.
func (r *run) breakThings() {
	f := r.cfg.Faults
	one := func() *part { return r.parts[r.rng.IntN(len(r.parts))] }
	r.every(1000, func() { r.earlier = r.ledger.clone() })
	r.chance(f.PartRestarts, func() { r.promote(one()) })
	r.chance(f.LedgerLosses, func() { r.ledger.lose(r.now, r.earlier) })
	r.chance(f.PartDeaths, func() {
		p := one()
		r.deadUntil[p.id] = r.now + failOver
		r.after(failOver, func() { r.promote(p) })
	})
	r.chance(f.LedgerDeaths, func() {
		r.ledgerDeadUntil = r.now + failOver
		r.after(failOver, func() { r.ledger.lose(r.now, r.earlier) })
	})
	r.chance(f.Silences, func() { r.silentUntil[one().id] = r.now + silence })
	r.chance(f.Twins, func() {
		p := one()
		former := p.lease
		p.former = former
		r.promote(p)
		r.after(silence, func() {
			if p.former == former {
				p.former = nil
			}
		})
	})
}

func (r *run) after(delay int64, do func()) {
	r.happened++
	heap.Push(&r.events, event{r.now + delay, r.happened, do})
}

func (r *run) every(period int64, do func()) {
	r.after(period, func() {
		do()
		r.every(period, do)
	})
}

// chance does something so many times a minute, at random.
func (r *run) chance(perMinute float64, do func()) {
	if perMinute <= 0 {
		return
	}
	const never = 1e12
	r.after(int64(min(never, 1+r.rng.ExpFloat64()*minute/perMinute)), func() {
		do()
		if r.m.enough > 0 && r.waiting >= 2*r.rates.Limit {
			r.m.faults++
		}
		r.chance(perMinute, do)
	})
}

// promote gives a part a new master, to which nothing is lent. The line heals
// from the tokens, as today, so here it stays.
func (r *run) promote(p *part) {
	r.lives++
	p.lease = &lease{life: r.lives, skew: r.about(r.cfg.Faults.SkewMillis), drift: r.about(r.cfg.Faults.DriftMillionths)}
}

// about is a number from -n to n.
func (r *run) about(n int64) int64 { return r.rng.Int64N(2*n+1) - n }

// send delivers a message of a part, or to it, after a while; or never, or twice.
func (r *run) send(p *part, deliver func()) {
	f := r.cfg.Faults
	if r.rng.Float64() < f.Lost || r.now < r.silentUntil[p.id] || r.now < r.deadUntil[p.id] {
		return
	}
	delay := 1 + r.rng.Int64N(4)
	if r.rng.Float64() < f.Delayed {
		delay += r.rng.Int64N(silence)
	}
	r.after(delay, deliver)
	if r.rng.Float64() < f.Repeated {
		r.after(delay+r.rng.Int64N(2000), deliver)
	}
}

// round carries one report to the ledger and the offer back; two, where two
// masters think that the part is theirs.
func (r *run) round(p *part) {
	r.after(r.cfg.RoundMillis, func() { r.round(p) })
	p.takeOffLate(r.now)
	p.release(r.now)
	for _, l := range []*lease{p.lease, p.former} {
		if l == nil {
			continue
		}
		told := p.report(r.now, l)
		r.send(p, func() {
			if r.now < r.ledgerDeadUntil {
				return
			}
			o := r.ledger.exchange(r.now, told)
			r.m.messages++
			r.send(p, func() { p.accept(o, told.clock) })
		})
	}
}

func (r *run) join(v *visitor) {
	r.parts[r.rng.IntN(len(r.parts))].join(v, r.now)
	if r.rng.Float64() < r.cfg.Leave {
		ahead := int64(v.index) * int64(len(r.parts))
		wait := max(1, int64(float64(ahead*minute/r.rates.PerMinute)*(1-r.cfg.Leave)))
		v.leavesAt = r.now + r.rng.Int64N(wait)
	}
	r.poll(v)
}

func (r *run) poll(v *visitor) {
	if v.leavesAt > 0 && r.now >= v.leavesAt {
		r.gone()
		return
	}
	r.m.polls++
	if r.now < r.deadUntil[v.part.id] {
		// 503, with a Retry-After.
		r.after(1000+r.rng.Int64N(2000), func() { r.poll(v) })
		return
	}
	l := v.part.lease
	if v.part.former != nil && r.rng.IntN(2) == 0 {
		l = v.part.former
	}
	in, period := v.part.poll(v, l, r.now, r.rng.Int64N(256))
	if in {
		r.m.admitted = append(r.m.admitted, r.now)
		r.gone()
		return
	}
	r.after(period+5+r.rng.Int64N(96), func() { r.poll(v) })
}

// gone counts one less who waits.
func (r *run) gone() {
	if r.m.enough == 0 {
		r.m.enough = r.now
	}
	if r.waiting--; r.waiting >= 2*r.rates.Limit {
		r.m.scarce = r.now
	}
}
