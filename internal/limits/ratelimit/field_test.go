package ratelimit_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
)

var (
	minute = limit.Rule{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60}
	burst  = limit.Rule{Algorithm: limit.TokenBucket, Limit: 5, WindowSeconds: 1, Burst: 20}
)

func answer(source limiter.Source, rules []limit.Rule, v limit.Verdict) *limiter.Answer {
	return &limiter.Answer{Verdict: v, Policy: "api", Tier: "default", Rules: rules, Source: source}
}

func TestSetFields(t *testing.T) {
	t.Parallel()
	one, two := []limit.Rule{minute}, []limit.Rule{minute, burst}
	const onePolicy, twoPolicies = `"api";q=100;w=60`, `"api.1";q=100;w=60, "api.2";q=20;w=1`
	for _, tt := range []struct {
		name   string
		answer *limiter.Answer
		// the fields, in the order of ratelimit.Fields; - for none
		want string
	}{
		{"allowed", answer(limiter.SourceStore, one, limit.Verdict{
			Allowed: true, Quotas: []limit.Quota{{Remaining: 37, ResetMillis: 11_001}},
		}), onePolicy + `|"api";r=37;t=12|100|37|12|-`},
		{"the tightest of two", answer(limiter.SourceStore, two, limit.Verdict{
			Allowed: true, Quotas: []limit.Quota{{Remaining: 60, ResetMillis: 59_000}, {Remaining: 3, ResetMillis: 3400}},
		}), twoPolicies + `|"api.1";r=60;t=59, "api.2";r=3;t=4|20|3|4|-`},
		{"untouched", answer(limiter.SourceStore, one, limit.Verdict{
			Allowed: true, Quotas: []limit.Quota{{Remaining: 100}},
		}), onePolicy + `|"api";r=100;t=0|100|100|0|-`},
		{"refused", answer(limiter.SourceStore, one, limit.Verdict{
			RetryMillis: 2001, Quotas: []limit.Quota{{ResetMillis: 59_000}},
		}), onePolicy + `|"api";r=0;t=3|100|0|3|3`},
		{"refused, and soon over", answer(limiter.SourceStore, one, limit.Verdict{
			RetryMillis: 1, Quotas: []limit.Quota{{ResetMillis: 1}},
		}), onePolicy + `|"api";r=0;t=1|100|0|1|1`},
		{"too dear", answer(limiter.SourceStore, one, limit.Verdict{
			RetryMillis: 30_000, Quotas: []limit.Quota{{Remaining: 4, ResetMillis: 59_000}},
		}), onePolicy + `|"api";r=4;t=30|100|4|30|30`},
		{"from memory", answer(limiter.SourceMemory, one, limit.Verdict{RetryMillis: 1500}),
			onePolicy + `|"api";r=0;t=2|100|0|2|2`},
		{"from memory, of two", answer(limiter.SourceMemory, two, limit.Verdict{RetryMillis: 1500}),
			twoPolicies + `|-|-|0|2|2`},
		{"open", answer(limiter.SourceOpen, one, limit.Verdict{Allowed: true}), onePolicy + `|-|-|-|-|-`},
		{"closed", answer(limiter.SourceClosed, one, limit.Verdict{RetryMillis: 1000}), onePolicy + `|-|-|-|-|1`},
	} {
		h := http.Header{"Content-Type": {"text/plain"}}
		ratelimit.SetFields(h, tt.answer)
		var got []string
		for _, name := range ratelimit.Fields {
			value := h.Get(name)
			if value == "" {
				value = "-"
			}
			got = append(got, value)
		}
		if got := strings.Join(got, "|"); got != tt.want || h.Get("Content-Type") != "text/plain" {
			t.Errorf("%s: %v\n%s, want\n%s", tt.name, h, got, tt.want)
		}
		checkStructured(t, h)
	}
}

// item is an item of a structured list in the form that these fields use: a string, with
// integers of at most 15 digits (RFC 9651, sections 3.1 and 3.3).
var item = regexp.MustCompile(`^"[ !#-\[\]-~]*"(;[a-z*][a-z0-9_.*-]*=-?[0-9]{1,15})+$`)

func checkStructured(t *testing.T, h http.Header) {
	t.Helper()
	for _, name := range []string{"RateLimit-Policy", "RateLimit"} {
		value := h.Get(name)
		for member := range strings.SplitSeq(value, ", ") {
			if value != "" && !item.MatchString(member) {
				t.Errorf("%s: %q is no member of a structured list", name, member)
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for source, code := range map[limiter.Source]string{
		limiter.SourceStore: "rate_limited", limiter.SourceMemory: "rate_limited", limiter.SourceLocal: "rate_limited",
		limiter.SourceClosed: "limits_unavailable",
	} {
		var got map[string]any
		a := answer(source, []limit.Rule{minute}, limit.Verdict{RetryMillis: 1234})
		if err := json.Unmarshal(ratelimit.AppendRefusal(nil, a), &got); err != nil {
			t.Fatal(err)
		}
		if got["code"] != code || got["policy"] != "api" || got["retryAfterMillis"] != 1234.0 || got["status"] != 429.0 {
			t.Errorf("%s: %v", source, got)
		}
	}
}
