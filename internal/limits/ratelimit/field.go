package ratelimit

import (
	"net/http"
	"strconv"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// The fields, as net/http has them. Their case does not matter to HTTP.
const (
	policyField    = "Ratelimit-Policy"
	limitField     = "Ratelimit"
	quotaField     = "X-Ratelimit-Limit"
	remainingField = "X-Ratelimit-Remaining"
	resetField     = "X-Ratelimit-Reset"
	retryField     = "Retry-After"
)

// Fields are all that SetFields may set, for who copies or allows them.
var Fields = []string{policyField, limitField, quotaField, remainingField, resetField, retryField}

// fieldBytes is what the fields of a policy with two rules take: more allocate.
const fieldBytes = 256

// SetFields sets the fields of an answer, and leaves all others alone. All of their
// values lie in one string: a refusal should not cost more than a permit.
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

// RetrySeconds is Retry-After for so many milliseconds: rounded up, at least 1.
func RetrySeconds(millis int64) int64 { return max(1, seconds(millis)) }

// seconds rounds milliseconds, not negative, up.
func seconds(millis int64) int64 { return (millis + 999) / 1000 }

// writer gathers fields.
type writer struct {
	text  []byte
	names [6]string
	ends  [6]int
	n     int
}

// end ends the value of a field, if it has one.
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
		// Full, so that an append by somebody else copies it.
		h[w.names[i]] = values[i : i+1 : i+1]
		begun = w.ends[i]
	}
}

// item begins the i-th item of a list: a name in quotation marks. Names of policies
// have nothing that would have to be escaped.
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
		// Which of several rules it was, nobody knows any more.
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

// fromMemory: it is refused, and that is all that is known.
func fromMemory(a *limiter.Answer) bool {
	return !a.Allowed && a.Source != limiter.SourceClosed && len(a.Quotas) == 0
}

// window is t, in seconds.
func window(a *limiter.Answer, resetMillis int64) int64 {
	if a.Allowed {
		return seconds(resetMillis)
	}
	return min(seconds(resetMillis), RetrySeconds(a.RetryMillis))
}
