package ratelimit

import (
	"strconv"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// The problem for a client whose limit is used up.
const (
	// Code is for programs to compare. It never changes its meaning.
	Code   = "rate_limited"
	Title  = "The limit is used up"
	Detail = "Send the same request again when Retry-After has passed."
)

// The problem for a client that is refused because the store is away and the policy is
// closed.
const (
	ClosedCode   = "limits_unavailable"
	ClosedTitle  = "The limit cannot be looked up"
	ClosedDetail = "Nobody is let through meanwhile. Send the same request again when Retry-After has passed."
)

// The beginnings of the two documents.
const (
	refused = `{"type":"` + refusal.TypeBase + Code + `","title":"` + Title + `","status":429,"detail":"` + Detail +
		`","code":"` + Code + `","policy":"`
	closed = `{"type":"` + refusal.TypeBase + ClosedCode + `","title":"` + ClosedTitle + `","status":429,"detail":"` + ClosedDetail +
		`","code":"` + ClosedCode + `","policy":"`
)

// AppendRefusal appends the problem document of a refusal.
func AppendRefusal(b []byte, a *limiter.Answer) []byte {
	if a.Source == limiter.SourceClosed {
		b = append(b, closed...)
	} else {
		b = append(b, refused...)
	}
	// The name of a policy needs no escaping.
	b = append(append(b, a.Policy...), `","retryAfterMillis":`...)
	return append(strconv.AppendInt(b, a.RetryMillis, 10), '}')
}
