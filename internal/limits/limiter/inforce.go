package limiter

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// policiesInForce are the policies by which questions are answered, by name. They never change.
type policiesInForce map[string]*policy

// policy is a policy in force.
type policy struct {
	limit.Policy // with defaults
	byTier       map[string]*tier
	// inOrder are the default tier, then the others by name.
	inOrder []*tier
	*policyMetrics
}

// tier is what one tier of a policy may take.
type tier struct {
	name  string
	rules []limit.Rule
	// share are the rules that this server enforces while the store is away.
	share []limit.Rule
	// seed belongs to this version of the tier.
	seed maphash.Seed
	*tierMetrics
}

// Use puts policies into force, in place of those before. They must be valid. Refusals of a
// policy that has changed are forgotten. What its clients have taken is not.
func (l *Limiter) Use(b limit.PolicySet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, now := *l.inForce.Load(), make(policiesInForce, len(b.Policies))
	for _, p := range b.Policies {
		p = p.WithDefaults()
		had := was[p.Name]
		if had != nil && reflect.DeepEqual(had.Policy, p) {
			now[p.Name] = had
			continue
		}
		now[p.Name] = l.ready(p.Clone(), had)
	}
	l.inForce.Store(&now)
}

// ready returns a policy that can be put into force. Its metrics go on from those of had, the
// former version, which is nil for a new policy.
func (l *Limiter) ready(p limit.Policy, had *policy) *policy {
	out := &policy{Policy: p, byTier: make(map[string]*tier, len(p.Tiers)+1)}
	if had != nil {
		out.policyMetrics = had.policyMetrics
	} else {
		out.policyMetrics = newPolicyMetrics()
	}
	names := append([]string{limit.DefaultTier}, slices.Sorted(maps.Keys(p.Tiers))...)
	for _, name := range names {
		rules := p.Rules
		if name != limit.DefaultTier {
			rules = p.Tiers[name]
		}
		t := newTier(name, rules, l.deps.Servers, maphash.MakeSeed(), out.tierMetricsOf(name))
		out.byTier[name], out.inOrder = t, append(out.inOrder, t)
	}
	out.keep(names)
	return out
}

// newTier returns a tier on one of so many servers.
func newTier(name string, rules []limit.Rule, servers int64, seed maphash.Seed, metrics *tierMetrics) *tier {
	t := &tier{name: name, rules: rules, seed: seed, tierMetrics: metrics}
	for _, r := range rules {
		t.share = append(t.share, r.Share(servers))
	}
	return t
}

// scaled returns the tier with its rules fitted. It has the seed and the metrics of t.
func (t *tier) scaled(by limit.Scale, servers int64) *tier {
	rules := make([]limit.Rule, len(t.rules))
	for i, r := range t.rules {
		rules[i] = r.Scaled(by)
	}
	return newTier(t.name, rules, servers, t.seed, t.tierMetrics)
}

// permits is the largest cost that rules can allow together.
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
	return p.inOrder[0]
}

// hash returns the hash by which refusals of a key are remembered. Another Scale gives another
// hash.
func (t *tier) hash(key string, fitted *limit.Scale) uint64 {
	hash := maphash.String(t.seed, key)
	if fitted != nil {
		hash ^= maphash.Comparable(t.seed, *fitted)
	}
	return hash
}

// Sources returns by what a policy tells clients apart. The caller must not change the slice.
// ok is false if no policy of that name is in force.
func (l *Limiter) Sources(name string) (sources []limit.Source, ok bool) {
	p := (*l.inForce.Load())[name]
	if p == nil {
		return nil, false
	}
	return p.Key, true
}
