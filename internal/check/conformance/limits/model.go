package limits

import (
	"math/big"
	"sort"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// grant is what one request was granted.
type grant struct {
	at   int64
	cost *big.Rat
}

// model is one rule of one key: the plain list of what was granted, from which
// everything is worked out anew, by the definitions of package limit, in fractions.
type model struct {
	rule   limit.Rule
	grants []grant
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func (m *model) window() int64 { return m.rule.WindowSeconds * 1000 }

func (m *model) begun(t int64) int64 { return t - t%m.window() }

func (m *model) isCounter() bool {
	return m.rule.Algorithm == limit.FixedWindow || m.rule.Algorithm == limit.SlidingCounter
}

// latest is the moment behind which the clock must not be.
func (m *model) latest() (int64, bool) {
	if len(m.grants) == 0 {
		return 0, false
	}
	at := m.grants[len(m.grants)-1].at
	if m.isCounter() {
		at = m.begun(at)
	}
	return at, true
}

// moment is when now is for the rule.
func (m *model) moment(now int64) int64 {
	if at, found := m.latest(); found && now < at {
		return at
	}
	return now
}

// mend moves what was granted to a clock that was set back by more than a window.
func (m *model) mend(now int64) {
	at, found := m.latest()
	if !found || at-now <= m.window() {
		return
	}
	switch {
	case m.rule.Algorithm == limit.SlidingLog:
		kept := m.grants[:0]
		for _, g := range m.grants {
			if g.at > at-m.window() {
				kept = append(kept, grant{now, g.cost})
			}
		}
		m.grants = kept
	case m.isCounter():
		m.shift(at - m.begun(now))
	default:
		m.shift(at - now)
	}
}

func (m *model) shift(by int64) {
	for i := range m.grants {
		m.grants[i].at -= by
	}
}

// between is how many permits were granted in [from, to).
func (m *model) between(from, to int64) *big.Rat {
	sum := new(big.Rat)
	for _, g := range m.grants {
		if from <= g.at && g.at < to {
			sum.Add(sum, g.cost)
		}
	}
	return sum
}

// level is how many tokens a bucket has at t: it begins full.
func (m *model) level(t int64) *big.Rat {
	full := whole(m.rule.Permits())
	tokens, last := new(big.Rat).Set(full), t
	if len(m.grants) > 0 {
		last = m.grants[0].at
	}
	fill := func(to int64) {
		tokens.Add(tokens, new(big.Rat).Mul(whole(to-last), big.NewRat(m.rule.Limit, m.window())))
		if last = to; tokens.Cmp(full) > 0 {
			tokens.Set(full)
		}
	}
	for _, g := range m.grants {
		fill(g.at)
		tokens.Sub(tokens, g.cost)
	}
	fill(t)
	return tokens
}

// leaves is when a permit that comes now would leave the leaky bucket, if it had room:
// each takes w/L to follow the one before.
func (m *model) leaves(t int64) *big.Rat {
	free := new(big.Rat)
	for _, g := range m.grants {
		if at := whole(g.at); free.Cmp(at) < 0 {
			free.Set(at)
		}
		free.Add(free, new(big.Rat).Mul(g.cost, big.NewRat(m.window(), m.rule.Limit)))
	}
	if at := whole(t); free.Cmp(at) < 0 {
		return at
	}
	return free
}

// used is how much of the rule's room is used at the moment t, and how much there
// is, so that any cost fits that leaves used <= room.
func (m *model) used(t int64) (used, room *big.Rat) {
	w := m.window()
	switch m.rule.Algorithm {
	case limit.SlidingLog:
		return m.between(t-w+1, t+1), whole(m.rule.Limit)
	case limit.FixedWindow:
		return m.between(m.begun(t), m.begun(t)+w), whole(m.rule.Limit)
	case limit.SlidingCounter:
		begun := m.begun(t)
		fading := m.between(begun-w, begun)
		fading.Mul(fading, big.NewRat(begun+w-t, w))
		return fading.Add(fading, m.between(begun, begun+w)), whole(m.rule.Limit)
	case limit.TokenBucket:
		full := whole(m.rule.Permits())
		return new(big.Rat).Sub(full, m.level(t)), full
	default: // the leaky bucket: those who have not left yet
		wait := new(big.Rat).Sub(m.leaves(t), whole(t))
		return wait.Mul(wait, big.NewRat(m.rule.Limit, w)), whole(m.rule.Burst + 1)
	}
}

func (m *model) fits(t int64, cost int64) bool {
	used, room := m.used(t)
	return used.Add(used, whole(cost)).Cmp(room) <= 0
}

// farAway is later than everything ends, in milliseconds.
const farAway = 1 << 51

// until is in how many milliseconds after now the cost fits.
func (m *model) until(now, cost int64) int64 {
	if m.fits(m.moment(now), cost) {
		return 0
	}
	return int64(sort.Search(farAway, func(d int) bool { return m.fits(m.moment(now+int64(d)), cost) }))
}

// quota is what is left.
func (m *model) quota(now int64) limit.Quota {
	used, room := m.used(m.moment(now))
	left := room.Sub(room, used)
	var q limit.Quota
	if left.Sign() > 0 {
		q.Remaining = new(big.Int).Quo(left.Num(), left.Denom()).Int64()
	}
	all := m.rule.Permits()
	if m.rule.Algorithm == limit.SlidingLog {
		all = m.rule.Limit
	}
	q.ResetMillis = m.until(now, all)
	return q
}

// take adds a grant, and returns the delay.
func (m *model) take(now, cost int64) (delay int64) {
	at := m.moment(now)
	if m.rule.Algorithm == limit.LeakyBucket {
		wait := m.leaves(at)
		wait.Sub(wait, whole(now))
		up := new(big.Int).Add(wait.Num(), new(big.Int).Sub(wait.Denom(), big.NewInt(1)))
		delay = up.Quo(up, wait.Denom()).Int64()
	}
	m.grants = append(m.grants, grant{at, whole(cost)})
	return delay
}

// change gives the rule another limit and burst. Of a bucket, what has come back
// until the latest grant came back by the old ones.
func (m *model) change(limits, burst int64) {
	if at, found := m.latest(); found && m.rule.Algorithm.HasBurst() {
		used, _ := m.used(at)
		m.grants = []grant{{at, used}}
	}
	m.rule.Limit, m.rule.Burst = limits, burst
}

// decide is what a store does.
func decide(rules []*model, now, cost int64) limit.Verdict {
	var v limit.Verdict
	for _, m := range rules {
		m.mend(now)
		v.RetryMillis = max(v.RetryMillis, m.until(now, cost))
	}
	v.Allowed = v.RetryMillis == 0
	for _, m := range rules {
		if v.Allowed {
			v.DelayMillis = max(v.DelayMillis, m.take(now, cost))
		}
		v.Quotas = append(v.Quotas, m.quota(now))
	}
	return v
}
