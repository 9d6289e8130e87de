package limit

import (
	"reflect"
	"slices"
	"testing"
	"time"

	vocabulary "github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// TestEveryFieldHasItsPlace: a field that is added to a rule, a policy or an answer inside is one
// of the public package, too, under the same name; or it is named here, with what stands for it.
func TestEveryFieldHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inside, public any
		// otherwise is what public has for a field of inside; "" where it has nothing.
		otherwise map[string]string
	}{
		{vocabulary.Rule{}, Rule{}, map[string]string{"WindowSeconds": "Window"}},
		{vocabulary.Policy{}, Policy{}, map[string]string{"Key": "", "Scope": "PerServer"}}, // a KeyFunc is the key
		{limiter.Question{}, Request{}, map[string]string{"Scale": ""}},                     // is for zones
		{vocabulary.Verdict{}, Decision{}, map[string]string{
			"RetryMillis": "RetryAfter", "DelayMillis": "Delay", "Quotas": "Remaining",
		}},
		// The header fields and the problem document have the others.
		{limiter.Answer{}, Decision{}, map[string]string{"Verdict": "Allowed", "Policy": "", "Tier": "", "Rules": "Remaining"}},
	} {
		public := reflect.TypeOf(tt.public)
		for field := range reflect.TypeOf(tt.inside).Fields() {
			want, renamed := tt.otherwise[field.Name]
			if !renamed {
				want = field.Name
			}
			if _, found := public.FieldByName(want); !found && want != "" {
				t.Errorf("%T has %s, and %T nothing for it", tt.inside, field.Name, tt.public)
			}
		}
	}
}

// TestEveryFieldGoesInside: no field of a public rule or policy is forgotten on the way in.
func TestEveryFieldGoesInside(t *testing.T) {
	t.Parallel()
	public := Policy{
		Name: "api", Rules: []Rule{{Algorithm: TokenBucket, Limit: 3, Window: time.Second, Burst: 2}}, PerServer: true,
		Tiers: map[string][]Rule{"pro": {{Algorithm: FixedWindow, Limit: 4, Window: time.Minute}}}, OnStoreFailure: FailOpen,
	}
	set, err := policySet([]Policy{public})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{public, public.Rules[0], set.Policies[0], set.Policies[0].Rules[0]} {
		for field, value := range reflect.ValueOf(v).Fields() {
			if value.IsZero() {
				t.Errorf("%T: %s is not set", v, field.Name)
			}
		}
	}
}

// TestEveryAlgorithmIsPublic, under its own name.
func TestEveryAlgorithmIsPublic(t *testing.T) {
	t.Parallel()
	var public []vocabulary.Algorithm
	for _, a := range []Algorithm{SlidingLog, SlidingCounter, TokenBucket, LeakyBucket, FixedWindow} {
		public = append(public, vocabulary.Algorithm(a))
	}
	if !slices.Equal(public, vocabulary.Algorithms) {
		t.Errorf("policy.go, as listed here, has %v, and should have %v", public, vocabulary.Algorithms)
	}
}
