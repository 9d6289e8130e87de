package limit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	good := limit.Rule{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60}
	policy := func(change func(*limit.Policy)) limit.Policy {
		p := limit.Policy{Name: "api", Rules: []limit.Rule{good}}
		change(&p)
		return p
	}
	tests := []struct {
		name, wants string
		policy      limit.Policy
	}{
		{"good", "", policy(func(*limit.Policy) {})},
		{"defaults", "", policy(func(p *limit.Policy) { *p = p.WithDefaults() })},
		{"no name", "name", policy(func(p *limit.Policy) { p.Name = "" })},
		{"braces", "name", policy(func(p *limit.Policy) { p.Name = "a{b}" })},
		{"no rules", "0 rules", policy(func(p *limit.Policy) { p.Rules = nil })},
		{"key twice", "twice", policy(func(p *limit.Policy) { p.Key = []limit.Source{"ip", "ip"} })},
		{"key unknown", "key", policy(func(p *limit.Policy) { p.Key = []limit.Source{"cookie"} })},
		{"a long log", "limit is 10001", policy(func(p *limit.Policy) { p.Rules[0].Limit = 10_001 })},
		{"a burst of a log", "burst", policy(func(p *limit.Policy) { p.Rules[0].Burst = 1 })},
		{"no algorithm", "algorithm", policy(func(p *limit.Policy) { p.Rules[0].Algorithm = "" })},
		{"a rule twice", "earlier", policy(func(p *limit.Policy) { p.Rules = append(p.Rules, good) })},
		{"a tier named default", "tier", policy(func(p *limit.Policy) {
			p.Tiers = map[string][]limit.Rule{"default": {good}}
		})},
		{"an empty tier", "tier pro", policy(func(p *limit.Policy) { p.Tiers = map[string][]limit.Rule{"pro": nil} })},
	}
	for _, test := range tests {
		err := test.policy.Validate()
		if test.wants == "" && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.wants != "" && (!errors.Is(err, limit.ErrInvalid) || !strings.Contains(err.Error(), test.wants)) {
			t.Errorf("%s: %v, want one about %q", test.name, err, test.wants)
		}
	}
}

// TestShare: the shares of so many servers are never more than the rule, and valid.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, a := range limit.Algorithms {
		r := limit.Rule{Algorithm: a, Limit: 103, WindowSeconds: 60}
		if a.HasBurst() {
			r.Burst = 41
		}
		for _, n := range []int64{1, 8, 1000} {
			part := r.Share(n)
			if err := (limit.Policy{Name: "part", Rules: []limit.Rule{part}}).Validate(); err != nil {
				t.Errorf("%s: %v", a, err)
			}
			if part.Limit != max(1, 103/n) || part.Permits() != max(1, r.Permits()/n) || n == 1 && part.Permits() != r.Permits() {
				t.Errorf("%s: one of %d shares of %+v is %+v", a, n, r, part)
			}
		}
	}
}

// TestScaled: a rule that is scaled stays valid, and permits what the Scale says.
func TestScaled(t *testing.T) {
	t.Parallel()
	for _, a := range limit.Algorithms {
		r := limit.Rule{Algorithm: a, Limit: 120, WindowSeconds: 60}
		if a == limit.TokenBucket || a == limit.LeakyBucket {
			r.Burst = 40
		}
		for _, tt := range []struct {
			by   limit.Scale
			want int64
		}{
			{limit.Scale{By: 1, Of: 1, Least: 1, Most: 1_000}, r.Permits()},
			{limit.Scale{By: 0, Of: 600, Least: 0, Most: 0}, 1},
			{limit.Scale{By: 1, Of: 600, Least: 10, Most: 1_000}, 10},
			{limit.Scale{By: 1, Of: 600, Least: 10, Most: 3}, 3},
			{limit.Scale{By: limit.MaxLimit, Of: 1, Least: 1, Most: 500}, 500},
		} {
			got := r.Scaled(tt.by)
			if err := (limit.Policy{Name: "got", Rules: []limit.Rule{got}}).Validate(); err != nil || got.Permits() != tt.want || got.WindowSeconds != 60 {
				t.Errorf("%s by %+v: %+v, %v", a, tt.by, got, err)
			}
		}
	}
}

func TestPolicySet(t *testing.T) {
	t.Parallel()
	p := limit.Policy{Name: "b", Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 1}}}
	first := limit.PolicySet{}.Put(p)
	p.Name = "a"
	second := first.Put(p)
	if second.Version != 2 || second.Policies[0].Name != "a" || len(first.Policies) != 1 || second.Validate() != nil {
		t.Fatalf("%+v, %+v", first, second)
	}
	gone := second.Delete("b")
	if _, found := gone.Find("b"); found || len(gone.Deleted) != 1 || len(second.Policies) != 2 {
		t.Fatalf("%+v", gone)
	}
	p.Name = "b"
	if back := gone.Put(p); len(back.Deleted) != 0 || back.Version != 4 {
		t.Fatalf("%+v", back)
	}
}
