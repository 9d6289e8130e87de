package limiter

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// book is what questions are answered by: policies, made ready.
type policiesInForce struct {
	policies map[string]*policy
}

// byName are the policies in the order of their names.
func (b *policiesInForce) byName() []*policy {
	var all []*policy
	for _, name := range slices.Sorted(maps.Keys(b.policies)) {
		all = append(all, b.policies[name])
	}
	return all
}

// policy is one that is in force.
type policy struct {
	is        limit.Policy // with defaults
	name      string
	scope     limit.Scope
	onFailure limit.FailurePolicy
	byTier    map[string]*tier
	usual     *tier
	*policyMetrics
}

// tier is what one tier of a policy may take.
type tier struct {
	name  string
	rules []limit.Rule
	// parts are the rules of each part: one of them, as a rule.
	parts [][]limit.Rule
	// share is what this server enforces by itself.
	share []limit.Rule
	// maxCost is the most that can ever be allowed at once, shareCost that of
	// share.
	maxCost, shareCost int64
	// seed is this version's own.
	seed maphash.Seed
	// next goes round the parts.
	next atomic.Uint64
	*tierMetrics
}

// Use puts policies into force, in place of those before. They must be valid. What
// was remembered of a policy that differs is forgotten; what its clients have taken
// is not.
func (l *Limiter) Use(b limit.PolicySet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.inForce.Load().policies
	now := &policiesInForce{make(map[string]*policy, len(b.Policies))}
	for _, p := range b.Policies {
		p = p.WithDefaults()
		had := was[p.Name]
		if had != nil && reflect.DeepEqual(had.is, p) {
			now.policies[p.Name] = had
			continue
		}
		now.policies[p.Name] = l.ready(p.Clone(), had)
	}
	l.inForce.Store(now)
}

// ready makes a policy ready. What was seen of it goes on.
func (l *Limiter) ready(p limit.Policy, had *policy) *policy {
	out := &policy{
		is: p, name: p.Name, scope: p.Scope, onFailure: p.OnStoreFailure, byTier: make(map[string]*tier, len(p.Tiers)),
	}
	if had != nil {
		out.policyMetrics = had.policyMetrics
	} else {
		out.policyMetrics = newPolicyMetrics()
	}
	shards := p.Shards
	if p.Scope == limit.ScopeServer {
		shards = 1
	}
	prepare := func(name string, rules []limit.Rule) *tier {
		t := &tier{name: name, rules: rules, seed: maphash.MakeSeed(), share: shares(rules, l.deps.Servers-1, l.deps.Servers)}
		t.maxCost, t.shareCost = limit.MaxLimit, permits(t.share)
		for i := range shards {
			part := shares(rules, i, shards)
			t.parts = append(t.parts, part)
			t.maxCost = min(t.maxCost, permits(part))
		}
		t.tierMetrics = out.tierMetricsOf(name)
		return t
	}
	out.usual = prepare(limit.DefaultTier, p.Rules)
	for _, name := range slices.Sorted(maps.Keys(p.Tiers)) {
		out.byTier[name] = prepare(name, p.Tiers[name])
	}
	out.keep(append(slices.Sorted(maps.Keys(p.Tiers)), limit.DefaultTier))
	return out
}

// scaled is the tier with its rules fitted. What is remembered and counted is the
// tier's own.
func (t *tier) scaled(by limit.Scale, servers int64) *tier {
	rules := make([]limit.Rule, len(t.rules))
	for i, r := range t.rules {
		rules[i] = r.Scaled(by)
	}
	out := &tier{
		name: t.name, rules: rules, parts: [][]limit.Rule{rules}, share: shares(rules, servers-1, servers),
		maxCost: permits(rules), seed: t.seed, tierMetrics: t.tierMetrics,
	}
	out.shareCost = permits(out.share)
	return out
}

func shares(rules []limit.Rule, i, n int64) []limit.Rule {
	if n == 1 {
		return rules
	}
	out := make([]limit.Rule, len(rules))
	for at, r := range rules {
		out[at] = r.Share(i, n)
	}
	return out
}

// permits is the largest cost that all rules can allow.
func permits(rules []limit.Rule) int64 {
	least := int64(limit.MaxLimit)
	for _, r := range rules {
		least = min(least, r.Permits())
	}
	return least
}

func (p *policy) tier(name string) *tier {
	if t := p.byTier[name]; t != nil {
		return t
	}
	return p.usual
}

// hash finds what is remembered of a key, whose refusals are others where the rules are
// fitted otherwise.
func (t *tier) hash(key string, fitted *limit.Scale) uint64 {
	hash := maphash.String(t.seed, key)
	if fitted != nil {
		hash ^= maphash.Comparable(t.seed, *fitted)
	}
	return hash
}

// partOf is the hash of one part of a key.
func partOf(hash uint64, part int64) uint64 {
	// The odd constant is that of Fibonacci hashing: 2^64 by the golden ratio.
	return hash ^ uint64(part)*0x9e3779b97f4a7c15
}

// Sources returns what a policy tells clients apart by, not to be changed; ok is
// false where no policy of that name is in force.
func (l *Limiter) Sources(name string) (sources []limit.Source, ok bool) {
	p := l.inForce.Load().policies[name]
	if p == nil {
		return nil, false
	}
	return p.is.Key, true
}
