package ratelimit

import (
	"net/http"
	"strconv"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// The names of the fields in the form of net/http. In HTTP their case does not matter.
const (
	policyField    = "Ratelimit-Policy"
	limitField     = "Ratelimit"
	quotaField     = "X-Ratelimit-Limit"
	remainingField = "X-Ratelimit-Remaining"
	resetField     = "X-Ratelimit-Reset"
	retryField     = "Retry-After"
)

// Fields are all fields that SetFields may set, for code that copies or allows them.
var Fields = []string{policyField, limitField, quotaField, remainingField, resetField, retryField}

// SetFields sets the fields of an answer, and leaves all others as they are. A field that would be empty is left out.
func SetFields(h http.Header, a *limiter.Answer) {
	var policies, limits []byte
	for i, r := range a.Rules {
		policies = parameter(parameter(item(policies, a, i), ";q=", r.Quota()), ";w=", r.WindowSeconds)
	}
	for i, q := range a.Quotas {
		limits = parameter(parameter(item(limits, a, i), ";r=", q.Remaining), ";t=", window(a, q.ResetMillis))
	}
	retry := RetrySeconds(a.RetryMillis)
	// A refusal from memory says no more than that. It does not know which of several rules refused.
	if !a.Allowed && a.Source != limiter.SourceClosed && len(a.Quotas) == 0 {
		if len(a.Rules) == 1 {
			limits = parameter(parameter(item(limits, a, 0), ";r=", 0), ";t=", retry)
			set(h, quotaField, a.Rules[0].Quota())
		}
		set(h, remainingField, 0)
		set(h, resetField, retry)
	} else if i := a.Tightest(a.Rules); i >= 0 {
		set(h, quotaField, a.Rules[i].Quota())
		set(h, remainingField, a.Quotas[i].Remaining)
		set(h, resetField, window(a, a.Quotas[i].ResetMillis))
	}
	if len(policies) > 0 {
		h[policyField] = []string{string(policies)}
	}
	if len(limits) > 0 {
		h[limitField] = []string{string(limits)}
	}
	if !a.Allowed {
		set(h, retryField, retry)
	}
}

func set(h http.Header, name string, v int64) { h[name] = []string{strconv.FormatInt(v, 10)} }

// item begins the i-th item of a list: a name in quotation marks. Names of policies need no
// escaping.
func item(list []byte, a *limiter.Answer, i int) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	list = append(append(list, '"'), a.Policy...)
	if len(a.Rules) > 1 {
		list = strconv.AppendInt(append(list, '.'), int64(i+1), 10)
	}
	return append(list, '"')
}

func parameter(list []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(list, name...), v, 10)
}

// RetrySeconds returns Retry-After for a wait in milliseconds: rounded up, at least 1 s.
func RetrySeconds(millis int64) int64 { return max(1, seconds(millis)) }

// seconds rounds milliseconds up. They must not be negative.
func seconds(millis int64) int64 { return (millis + 999) / 1000 }

// window returns t in seconds.
func window(a *limiter.Answer, resetMillis int64) int64 {
	if a.Allowed {
		return seconds(resetMillis)
	}
	return min(seconds(resetMillis), RetrySeconds(a.RetryMillis))
}
