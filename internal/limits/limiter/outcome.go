package limiter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Outcome is what became of a question.
type Outcome int

// The outcomes.
const (
	// Allowed and Refused were decided by the counts: those of the store, or for a policy of
	// scope server those of this server.
	Allowed Outcome = iota
	Refused
	// RefusedFromMemory was decided by an earlier refusal, without any counts.
	RefusedFromMemory
	// AllowedOpen, RefusedClosed, AllowedLocally and RefusedLocally were decided by the
	// failure policy, while the store did not answer.
	AllowedOpen
	RefusedClosed
	AllowedLocally
	RefusedLocally

	outcomes
)

// outcomeNames are the names of outcomes in metrics and in the stats of a policy, and what they mean.
var outcomeNames = [outcomes]struct{ metric, json, doc string }{
	{"allowed", "allowed", "By who counts."},
	{"refused", "refused", "By who counts."},
	{"refused_from_memory", "refusedFromMemory", "Known to be refused still; nobody was asked."},
	{"allowed_open", "allowedOpen", "The store was away, and the policy is open."},
	{"refused_closed", "refusedClosed", "The store was away, and the policy is closed."},
	{"allowed_locally", "allowedLocally", "The store was away; within this server's share."},
	{"refused_locally", "refusedLocally", "The store was away; above this server's share."},
}

// Described calls each outcome with its name in Counts and what it means.
func Described(say func(name, doc string)) {
	for _, o := range outcomeNames {
		say(o.json, o.doc)
	}
}

// String returns the name of the outcome in metrics.
func (o Outcome) String() string { return outcomeNames[o].metric }

// Allows reports whether the question was allowed.
func (o Outcome) Allows() bool { return o == Allowed || o == AllowedOpen || o == AllowedLocally }

// Counts are how many questions had each outcome.
type Counts [outcomes]uint64

// MarshalJSON writes each count under the name of its outcome.
func (c Counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for o, n := range c {
		b = fmt.Appendf(b, "%q:%d,", outcomeNames[o].json, n)
	}
	b[len(b)-1] = '}'
	return b, nil
}

// UnmarshalJSON reads what MarshalJSON wrote. An outcome that is missing is 0.
func (c *Counts) UnmarshalJSON(b []byte) error {
	var named map[string]uint64
	if err := json.Unmarshal(b, &named); err != nil {
		return fmt.Errorf("limiter: counts: %w", err)
	}
	for o := range c {
		c[o] = named[outcomeNames[o].json]
	}
	return nil
}

// Total is the number of questions.
func (c Counts) Total() uint64 { return c.Allowed() + c.Refused() }

// Allowed is how many questions were allowed.
func (c Counts) Allowed() uint64 { return c[Allowed] + c[AllowedOpen] + c[AllowedLocally] }

// Refused is how many questions were refused.
func (c Counts) Refused() uint64 {
	return c[Refused] + c[RefusedFromMemory] + c[RefusedClosed] + c[RefusedLocally]
}

// WithoutStore is how many questions the failure policy answered.
func (c Counts) WithoutStore() uint64 {
	return c[AllowedOpen] + c[RefusedClosed] + c[AllowedLocally] + c[RefusedLocally]
}

func (c Counts) minus(d Counts) Counts {
	for i := range c {
		c[i] -= d[i]
	}
	return c
}

// Plus returns the sum of both.
func (c Counts) Plus(d Counts) Counts {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// minute is how many seconds TierStats.Recent counts.
const minute = 60

// policyMetrics is what happened to all versions of a policy on this server since it was first
// put into force.
type policyMetrics struct {
	mu      sync.Mutex
	tiers   map[string]*tierMetrics
	seconds int // how many were noted, up to minute
}

// tierMetrics counts the outcomes of one tier.
type tierMetrics struct {
	counts [outcomes]atomic.Uint64
	// past are the counts at the ends of the latest seconds, the oldest first. The mutex of policyMetrics guards them.
	past []Counts
}

func newPolicyMetrics() *policyMetrics {
	return &policyMetrics{tiers: make(map[string]*tierMetrics)}
}

// tierMetricsOf returns the metrics of a tier, which are new for a new tier.
func (s *policyMetrics) tierMetricsOf(tier string) *tierMetrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tiers[tier]
	if t == nil {
		t = &tierMetrics{}
		s.tiers[tier] = t
	}
	return t
}

// keep forgets all tiers but these.
func (s *policyMetrics) keep(tiers []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tiers, func(name string, _ *tierMetrics) bool { return !slices.Contains(tiers, name) })
}

func (t *tierMetrics) count(o Outcome) { t.counts[o].Add(1) }

func (t *tierMetrics) read() Counts {
	var c Counts
	for i := range c {
		c[i] = t.counts[i].Load()
	}
	return c
}

// note notes that a second ends, for all policies.
func (l *Limiter) note() {
	for _, p := range *l.inForce.Load() {
		p.note()
	}
}

func (s *policyMetrics) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seconds = min(s.seconds+1, minute)
	for _, t := range s.tiers {
		t.past = append(t.past[max(0, len(t.past)-minute):], t.read())
	}
}

// recent returns what happened in the last minute, or since the tier was made.
func (t *tierMetrics) recent() Counts {
	if len(t.past) <= minute {
		return t.read()
	}
	return t.read().minus(t.past[0])
}

// TierCounts are the counts of one tier since the start of this server.
type TierCounts struct {
	Policy, Tier string
	Counts
}

// Counts returns the counts of all tiers, in the order of the policies' names.
func (l *Limiter) Counts() []TierCounts {
	var all []TierCounts
	inForce := *l.inForce.Load()
	for _, name := range slices.Sorted(maps.Keys(inForce)) {
		for _, t := range inForce[name].inOrder {
			all = append(all, TierCounts{name, t.name, t.read()})
		}
	}
	return all
}

// TierStats is what was seen of a tier.
type TierStats struct {
	Tier   string `json:"tier" doc:"Its name; 'default' for whoever has no other." example:"default"`
	Total  Counts `json:"total" doc:"Since the server started."`
	Recent Counts `json:"recent" doc:"Of the last minute."`
}

// Stats is what this server has seen of a policy: the answer of GET /admin/limits/{name}/stats.
type Stats struct {
	Name          string      `json:"name" doc:"The policy's name." example:"api"`
	Failing       int         `json:"failingPartitions" maximum:"64" doc:"How many partitions of the store, of 16, do not answer now, so that the policies' onStoreFailure decides." example:"0"`
	RecentSeconds int         `json:"recentSeconds" maximum:"60" doc:"How many seconds 'recent' is of; fewer than 60 on a server that was just started." example:"60"`
	Tiers         []TierStats `json:"tiers" minItems:"1" maxItems:"17" doc:"The default one, then the others by name."`
}

// Stats returns what this server has seen of a policy. The error is ErrPolicyUnknown.
func (l *Limiter) Stats(name string) (Stats, error) {
	p := (*l.inForce.Load())[name]
	if p == nil {
		return Stats{}, ErrPolicyUnknown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Stats{Name: name, Failing: l.Failing(), RecentSeconds: p.seconds}
	for _, t := range p.inOrder {
		out.Tiers = append(out.Tiers, TierStats{Tier: t.name, Total: t.read(), Recent: t.recent()})
	}
	return out, nil
}
