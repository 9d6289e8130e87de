package policyset

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

func parse(t *testing.T, text string) (limit.Policy, []strictyaml.Fault) {
	t.Helper()
	var doc yaml.Node
	parts.Must(t, yaml.Unmarshal([]byte(text), &doc))
	return Read(doc.Content[0], "")
}

func TestReadTakesAll(t *testing.T) {
	t.Parallel()
	got, faults := parse(t, `
name: api
key: [jwt, apiKey, ip]
scope: shared
onStoreFailure: closed
rules: &usual
  - {algorithm: sliding_log, limit: 100, windowSeconds: 60}
  - algorithm: token_bucket
    limit: 20
    windowSeconds: 10
    burst: 5
tiers:
  pro: [{algorithm: fixed_window, limit: 1000, windowSeconds: 60}]
  guest: *usual
`)
	usual := []limit.Rule{
		{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60},
		{Algorithm: limit.TokenBucket, Limit: 20, WindowSeconds: 10, Burst: 5},
	}
	want := limit.Policy{
		Name: "api", Key: []limit.Source{limit.SourceJWT, limit.SourceAPIKey, limit.SourceIP},
		Scope: limit.ScopeShared, OnStoreFailure: limit.FailureClosed, Rules: usual,
		Tiers: map[string][]limit.Rule{
			"pro": {{Algorithm: limit.FixedWindow, Limit: 1000, WindowSeconds: 60}}, "guest": usual,
		},
	}
	if len(faults) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%v", got, faults)
	}
	// Every setting of a policy and of a rule was there.
	for _, v := range []any{got, got.Rules[1]} {
		for field, value := range reflect.ValueOf(v).Fields() {
			if value.IsZero() {
				t.Errorf("%s was not read", field.Name)
			}
		}
	}
}

func TestReadTellsAllFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[]":                       "1 a policy must be settings by their names",
		"{name: 7, rules: two}":    `1 name must be a string; 1 rules must be a list`,
		"{name: a, Limit: 3}":      `1 "Limit" is not a setting of a policy; known are name, key, rules, tiers, scope, onStoreFailure`,
		"{name: a, name: b}":       "1 name is in line 1 already",
		"{name: a, scope: null}":   "1 scope must not be null: leave it out",
		"{name: a, rules: {}}":     "1 rules must be a list",
		"{name: a, tiers: []}":     "1 tiers must be settings by their names",
		"{name: a, rules: [7]}":    "1 a rule must be settings by their names",
		"{name: a}":                "1 tier default: 0 rules, must be between 1 and 8",
		"{name: a, key: [[ip]]}":   "1 key must be a string",
		"{name: a, tiers: {x: 7}}": "1 tiers.x must be a list",
		"{name: a, rules: [{algorithm: token_bucket, limit: 1.5, windowSeconds: 60}]}":            "1 limit must be a whole number",
		"name: a\nrules:\n- {algorithm: sliding_log, limit: 20000, windowSeconds: 0, burst: 1}\n": "1 tier default: rule 1: limit is 20000, must be between 1 and 10000; 1 tier default: rule 1: windowSeconds is 0, must be between 1 and 86400; 1 tier default: rule 1: burst is for token_bucket and leaky_bucket only",
		"name: a\nrules:\n- algorithm: fixed_window\n  limt: 5\n":                                 "4 \"limt\" is not a setting of a rule; did you mean \"limit\"?",
	} {
		_, faults := parse(t, text)
		var got []string
		for _, f := range faults {
			got = append(got, fmt.Sprint(f.Line, " ", f.Text))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, strings.Join(got, "; "), want)
		}
	}
}
