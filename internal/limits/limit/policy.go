package limit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FailurePolicy says what a server answers while the store is away.
type FailurePolicy string

// The failure policies.
const (
	// FailureOpen allows everything: for a service that is better overloaded than unreachable.
	FailureOpen FailurePolicy = "open"
	// FailureClosed refuses everything: for a limit that must never be exceeded.
	FailureClosed FailurePolicy = "closed"
	// FailureLocal makes each server enforce its share of the limit from memory.
	FailureLocal FailurePolicy = "local"
)

// Scope says where permits are counted.
type Scope string

// The scopes.
const (
	// ScopeShared counts in the store, for all servers together.
	ScopeShared Scope = "shared"
	// ScopeServer counts in each server's own memory. It costs the store nothing, and
	// n servers together allow up to n times the limit.
	ScopeServer Scope = "server"
)

// Source is something by which clients can be told apart.
type Source string

// The sources.
const (
	// SourceIP is the client's address, behind the proxies of QUEUE_TRUSTED_PROXIES. Of
	// an IPv6 address it is the network of 64 bits, which one subscriber has.
	SourceIP Source = "ip"
	// SourceAPIKey is the header X-API-Key, hashed.
	SourceAPIKey Source = "apiKey"
	// SourceJWT is a claim of a bearer token that verifies.
	SourceJWT Source = "jwt"
)

// DefaultTier is the tier of a client who has no other, in metrics and answers.
const DefaultTier = "default"

// The bounds of a policy.
const (
	// MaxRules is how many rules a tier may have.
	MaxRules = 8
	// MaxTiers bounds the tiers, each of which is a label of metrics.
	MaxTiers = 16
	// MaxPolicies bounds the policies of a server, each of which is a label, too.
	MaxPolicies = 100
	// maxName bounds the names of policies and tiers.
	maxName = 64
)

// Policy is one named limit.
type Policy struct {
	// Name is 1-64 of A-Z a-z 0-9 . _ -
	Name           string            `json:"name" yaml:"name" pattern:"^[A-Za-z0-9._-]+$" minLength:"1" maxLength:"64" doc:"The policy. A change may leave it out; it is that of the path." example:"api"`
	Key            []Source          `json:"key,omitempty" yaml:"key,omitempty" required:"always" maxItems:"3" doc:"What clients are told apart by; the first that a request has counts. ip is the address, of IPv6 the network of 64 bits; apiKey the header X-API-Key, hashed; jwt a claim of a bearer token that verifies. A caller that names the key itself needs none. [ip] when absent." example:"[apiKey, ip]"`
	Rules          []Rule            `json:"rules" yaml:"rules" required:"body" minItems:"1" maxItems:"8" doc:"For whoever has no tier, or one that is not among tiers. All are decided together, all or nothing."`
	Tiers          map[string][]Rule `json:"tiers,omitempty" yaml:"tiers,omitempty" maxProperties:"16" minItems:"1" maxItems:"8" doc:"Rules by the name of the tier, in place of rules. Each tier counts for itself."`
	Scope          Scope             `json:"scope,omitempty" yaml:"scope,omitempty" required:"always" default:"shared" doc:"shared counts in the store, for all servers together. server counts in each server's own memory: it costs the store nothing, and n servers allow up to n times the limit." example:"shared"`
	OnStoreFailure FailurePolicy     `json:"onStoreFailure,omitempty" yaml:"onStoreFailure,omitempty" required:"always" default:"local" doc:"While the store does not answer: open allows everything, closed refuses everything, local has each server enforce its share of the limit from memory." example:"local"`
}

// WithDefaults returns the policy with the defaults of the fields that are empty.
func (p Policy) WithDefaults() Policy {
	if len(p.Key) == 0 {
		p.Key = []Source{SourceIP}
	}
	if p.Scope == "" {
		p.Scope = ScopeShared
	}
	if p.OnStoreFailure == "" {
		p.OnStoreFailure = FailureLocal
	}
	return p
}

// Clone returns a copy that shares nothing with p.
func (p Policy) Clone() Policy {
	p.Key, p.Rules, p.Tiers = slices.Clone(p.Key), slices.Clone(p.Rules), maps.Clone(p.Tiers)
	for name, rules := range p.Tiers {
		p.Tiers[name] = slices.Clone(rules)
	}
	return p
}

// ValidName reports whether a policy or a tier can have that name.
func ValidName(name string) bool {
	const may = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return len(name) >= 1 && len(name) <= maxName && name != "." && name != ".." && strings.Trim(name, may) == ""
}

// Validate returns all faults of the policy, in one error that wraps ErrInvalid; nil for
// none.
func (p Policy) Validate() error {
	var errs []error
	bad := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, a...)...))
	}
	if !ValidName(p.Name) {
		bad("name %q must be 1 to %d of A-Z a-z 0-9 . _ -", p.Name, maxName)
	}
	for i, k := range p.Key {
		if k != SourceIP && k != SourceAPIKey && k != SourceJWT {
			bad("key %q must be ip, apiKey or jwt", k)
		}
		if slices.Contains(p.Key[:i], k) {
			bad("key %q is there twice", k)
		}
	}
	if p.Scope != "" && p.Scope != ScopeShared && p.Scope != ScopeServer {
		bad("scope %q must be shared or server", p.Scope)
	}
	switch p.OnStoreFailure {
	case "", FailureOpen, FailureClosed, FailureLocal:
	default:
		bad("onStoreFailure %q must be open, closed or local", p.OnStoreFailure)
	}
	if len(p.Tiers) > MaxTiers {
		bad("%d tiers, at most %d", len(p.Tiers), MaxTiers)
	}
	errs = append(errs, p.validateRules(DefaultTier, p.Rules))
	for _, name := range slices.Sorted(maps.Keys(p.Tiers)) {
		if !ValidName(name) || name == DefaultTier {
			bad("tier %q must be 1 to %d of A-Z a-z 0-9 . _ - and not %s", name, maxName, DefaultTier)
		}
		errs = append(errs, p.validateRules(name, p.Tiers[name]))
	}
	return errors.Join(errs...)
}

func (p Policy) validateRules(tier string, rules []Rule) error {
	var errs []error
	bad := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf("%w: tier %s: "+format, append([]any{ErrInvalid, tier}, a...)...))
	}
	if len(rules) == 0 || len(rules) > MaxRules {
		bad("%d rules, must be between 1 and %d", len(rules), MaxRules)
	}
	for i, r := range rules {
		for _, fault := range r.faults() {
			bad("rule %d: %s", i+1, fault)
		}
		for _, other := range rules[:i] {
			if r.Algorithm == other.Algorithm && r.WindowSeconds == other.WindowSeconds {
				bad("rule %d has the algorithm and the window of an earlier rule; keep the tighter one", i+1)
			}
		}
	}
	return errors.Join(errs...)
}
