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

// fieldBytes is enough for the fields of a policy with two rules. Those of more rules need
// an allocation.
const fieldBytes = 256

// SetFields sets the fields of an answer, and leaves all others as they are. All values share
// one string, so that a refusal does not cost more than a permit.
func SetFields(h http.Header, a *limiter.Answer) {
	var buf [fieldBytes]byte
	w := writer{text: buf[:0]}
	w.policies(a)
	w.limits(a)
	w.tightest(a)
	if !a.Allowed {
		w.value(retryField, RetrySeconds(a.RetryMillis))
	}
	w.set(h)
}

// RetrySeconds returns Retry-After for a wait in milliseconds: rounded up, at least 1 s.
func RetrySeconds(millis int64) int64 { return max(1, seconds(millis)) }

// seconds rounds milliseconds up. They must not be negative.
func seconds(millis int64) int64 { return (millis + 999) / 1000 }

// writer collects fields: their values in text, their names, and where each value ends.
type writer struct {
	text  []byte
	names [6]string
	ends  [6]int
	n     int
}

// end ends the value of a field. A field with an empty value is left out.
func (w *writer) end(name string) {
	begun := 0
	if w.n > 0 {
		begun = w.ends[w.n-1]
	}
	if len(w.text) == begun {
		return
	}
	w.names[w.n], w.ends[w.n] = name, len(w.text)
	w.n++
}

func (w *writer) value(name string, v int64) {
	w.text = strconv.AppendInt(w.text, v, 10)
	w.end(name)
}

func (w *writer) set(h http.Header) {
	text, values := string(w.text), make([]string, w.n)
	begun := 0
	for i := range w.n {
		values[i] = text[begun:w.ends[i]]
		// The capacity is 1, so that an append by other code copies the slice.
		h[w.names[i]] = values[i : i+1 : i+1]
		begun = w.ends[i]
	}
}

// item begins the i-th item of a list: a name in quotation marks. Names of policies need no
// escaping.
func (w *writer) item(a *limiter.Answer, i int, first bool) {
	if !first {
		w.text = append(w.text, ", "...)
	}
	w.text = append(append(w.text, '"'), a.Policy...)
	if len(a.Rules) > 1 {
		w.text = strconv.AppendInt(append(w.text, '.'), int64(i+1), 10)
	}
	w.text = append(w.text, '"')
}

func (w *writer) parameter(name string, v int64) {
	w.text = strconv.AppendInt(append(w.text, name...), v, 10)
}

func (w *writer) policies(a *limiter.Answer) {
	for i, r := range a.Rules {
		w.item(a, i, i == 0)
		w.parameter(";q=", r.Quota())
		w.parameter(";w=", r.WindowSeconds)
	}
	w.end(policyField)
}

func (w *writer) limits(a *limiter.Answer) {
	if fromMemory(a) && len(a.Rules) == 1 {
		w.item(a, 0, true)
		w.parameter(";r=", 0)
		w.parameter(";t=", RetrySeconds(a.RetryMillis))
	}
	for i, q := range a.Quotas {
		w.item(a, i, i == 0)
		w.parameter(";r=", q.Remaining)
		w.parameter(";t=", window(a, q.ResetMillis))
	}
	w.end(limitField)
}

func (w *writer) tightest(a *limiter.Answer) {
	if fromMemory(a) {
		// The memory does not know which of several rules refused.
		if len(a.Rules) == 1 {
			w.value(quotaField, a.Rules[0].Quota())
		}
		w.value(remainingField, 0)
		w.value(resetField, RetrySeconds(a.RetryMillis))
		return
	}
	if i := a.Tightest(a.Rules); i >= 0 {
		w.value(quotaField, a.Rules[i].Quota())
		w.value(remainingField, a.Quotas[i].Remaining)
		w.value(resetField, window(a, a.Quotas[i].ResetMillis))
	}
}

// fromMemory reports whether no more is known than that the request is refused.
func fromMemory(a *limiter.Answer) bool {
	return !a.Allowed && a.Source != limiter.SourceClosed && len(a.Quotas) == 0
}

// window returns t in seconds.
func window(a *limiter.Answer, resetMillis int64) int64 {
	if a.Allowed {
		return seconds(resetMillis)
	}
	return min(seconds(resetMillis), RetrySeconds(a.RetryMillis))
}
