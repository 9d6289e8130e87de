package split

import (
	"container/heap"
	"math/rand/v2"
	"slices"

	"github.com/openqueue/waitingroom/internal/simulate"
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
	// Faults are what goes wrong.
	Faults Faults
	Seed   uint64
}

// Faults are shares of messages and events a minute.
type Faults struct {
	// Lost, Repeated and Delayed are shares of the messages; delayed ones
	// take up to 3 s, longer than a lease.
	Lost, Repeated, Delayed float64
	// PartRestarts, LedgerLosses and Silences are events a minute; a silence
	// is 3 s in which no message of one part arrives.
	PartRestarts, LedgerLosses, Silences float64
	// SkewMillis is how far clocks are off, DriftMillionths how much faster
	// or slower they run.
	SkewMillis, DriftMillionths int64
}

// Report is what a run showed.
type Report struct {
	Admitted int
	// The most admissions in any window and in any 60 s, and the limits.
	MaxInWindow, MaxInMinute int
	WindowLimit, PerMinute   int64
	// CapacityUsed is the share of what the limit allows that was used, from
	// when two windows' worth waited until they did no more.
	CapacityUsed float64
	// OvertakenP99 and OvertakenMax count later arrivals that went first, in
	// windows' worth.
	OvertakenP99, OvertakenMax float64
	// Polls is the mean of those who were admitted, Messages what the ledger
	// answered a second.
	Polls, Messages float64
}

// run is a simulation under way.
type run struct {
	cfg      Config
	rng      *rand.Rand
	rates    window.Rates
	parts    []*part
	ledger   *ledger
	earlier  *ledger // a second ago
	visitors []visitor
	events   events
	now      int64
	waiting  int64

	admitted       []int64
	enough, scarce int64 // from when to when two windows' worth wait
	messages       int
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

// Run runs the crowd until everybody is in or gone.
func Run(cfg Config) Report {
	r := &run{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x73706c6974)), rates: window.RatesOf(cfg.Zone),
		now: 1_000_000, visitors: make([]visitor, cfg.Visitors),
	}
	r.ledger = newLedger(r.rates, cfg.Parts)
	r.earlier = r.ledger.clone()
	for i := range cfg.Parts {
		p := &part{id: i, rates: r.rates, parts: int64(cfg.Parts), epoch: 1, skew: r.skew()}
		if d := cfg.Faults.DriftMillionths; d > 0 {
			p.drift = r.rng.Int64N(2*d+1) - d
		}
		r.parts = append(r.parts, p)
		r.after(r.rng.Int64N(cfg.RoundMillis), func() { r.round(p) })
	}
	for i := range r.visitors {
		v := &r.visitors[i]
		r.after(r.rng.Int64N(max(1, cfg.ArriveMillis)), func() { r.join(v) })
	}
	r.waiting = int64(cfg.Visitors)
	r.every(1000, func() { r.earlier = r.ledger.clone() })
	r.chance(cfg.Faults.PartRestarts, func() { r.parts[r.rng.IntN(len(r.parts))].restart(r.skew()) })
	r.chance(cfg.Faults.Silences, func() { r.parts[r.rng.IntN(len(r.parts))].silentUntil = r.now + silence })
	r.chance(cfg.Faults.LedgerLosses, func() { r.ledger.lose(r.now, r.earlier) })
	for r.waiting > 0 {
		e := heap.Pop(&r.events).(event)
		r.now = e.at
		e.do()
	}
	return r.report()
}

func (r *run) after(delay int64, do func()) {
	heap.Push(&r.events, event{r.now + delay, int64(len(r.events)), do})
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
		r.chance(perMinute, do)
	})
}

func (r *run) skew() int64 {
	if r.cfg.Faults.SkewMillis == 0 {
		return 0
	}
	return r.rng.Int64N(2*r.cfg.Faults.SkewMillis+1) - r.cfg.Faults.SkewMillis
}

// silence is three times as long as a lease, in milliseconds.
const silence = 3 * validity

// send delivers a message of a part, or to it, after a while; or never, or twice.
func (r *run) send(p *part, deliver func()) {
	f := r.cfg.Faults
	if r.rng.Float64() < f.Lost || r.now < p.silentUntil {
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

// round carries one report to the ledger and the offer back.
func (r *run) round(p *part) {
	r.after(r.cfg.RoundMillis, func() { r.round(p) })
	p.takeOffLate(r.now)
	p.release(r.now)
	told := p.report(r.now)
	r.send(p, func() {
		o := r.ledger.exchange(r.now, told)
		r.messages++
		if o.number > 0 {
			r.send(p, func() { p.accept(o, told.clock) })
		}
	})
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
	in, period := v.part.poll(v, r.now, r.rng.Int64N(256))
	if in {
		r.admitted = append(r.admitted, r.now)
		r.gone()
		return
	}
	r.after(period+5+r.rng.Int64N(96), func() { r.poll(v) })
}

// gone counts one less who waits.
func (r *run) gone() {
	if r.enough == 0 {
		r.enough = r.now
	}
	if r.waiting--; r.waiting >= 2*r.rates.Limit {
		r.scarce = r.now
	}
}

func (r *run) report() Report {
	slices.Sort(r.admitted)
	out := Report{
		Admitted: len(r.admitted), WindowLimit: r.rates.Limit, PerMinute: r.rates.PerMinute,
		MaxInWindow: simulate.MaxWithin(r.admitted, r.rates.WindowMillis),
		MaxInMinute: simulate.MaxWithin(r.admitted, minute),
		Messages:    float64(r.messages) * 1000 / float64(r.now-1_000_000),
	}
	// From one window after the first admission on: the first window is full
	// at once, which would count for more than it is.
	from := r.enough + r.rates.WindowMillis
	if from < r.scarce {
		i, _ := slices.BinarySearch(r.admitted, from)
		j, _ := slices.BinarySearch(r.admitted, r.scarce)
		out.CapacityUsed = float64(j-i) * minute / float64(r.rates.PerMinute*(r.scarce-from))
	}
	r.order(&out)
	return out
}

// order counts, for each who was admitted, those who came later and went
// first, with a Fenwick tree over the arrivals.
func (r *run) order(out *Report) {
	var in []*visitor
	for i := range r.visitors {
		if v := &r.visitors[i]; v.admitted > 0 {
			in = append(in, v)
			out.Polls += float64(v.polls)
		}
	}
	out.Polls /= max(1, float64(len(in)))
	slices.SortStableFunc(in, func(a, b *visitor) int { return int(a.arrived - b.arrived) })
	rank := make(map[*visitor]int, len(in))
	for i, v := range in {
		rank[v] = i + 1
	}
	byAdmission := slices.Clone(in)
	slices.SortStableFunc(byAdmission, func(a, b *visitor) int { return int(a.admitted - b.admitted) })
	tree := make([]int, len(in)+1)
	overtaken := make([]float64, 0, len(in))
	for n, v := range byAdmission {
		earlier := 0
		for i := rank[v]; i > 0; i &= i - 1 {
			earlier += tree[i]
		}
		overtaken = append(overtaken, float64(n-earlier)/float64(r.rates.Limit))
		for i := rank[v]; i < len(tree); i += i & -i {
			tree[i]++
		}
	}
	slices.Sort(overtaken)
	if n := len(overtaken); n > 0 {
		out.OvertakenP99, out.OvertakenMax = overtaken[(n-1)*99/100], overtaken[n-1]
	}
}
