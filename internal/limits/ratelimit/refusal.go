package ratelimit

import (
	"strconv"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// ContentType is the media type of a refusal (RFC 9457).
const ContentType = "application/problem+json"

// TypeBase and a code make the address of the problem's description.
const TypeBase = "https://github.com/openqueue/waitingroom/blob/main/internal/problem/README.md#"

// The problem of one whose limit is used up, as internal/serve/problem lists it.
const (
	// Code is what a program compares. It never changes its meaning.
	Code   = "rate_limited"
	Title  = "The limit is used up"
	Detail = "Send the same request again when Retry-After has passed."
)

// The problem of one who is refused since nobody can count: the store is away, and
// the policy is closed.
const (
	ClosedCode   = "limits_unavailable"
	ClosedTitle  = "The limit cannot be looked up"
	ClosedDetail = "Nobody is let through meanwhile. Send the same request again when Retry-After has passed."
)

// What the documents begin with.
const (
	refused = `{"type":"` + TypeBase + Code + `","title":"` + Title + `","status":429,"detail":"` + Detail +
		`","code":"` + Code + `","policy":"`
	closed = `{"type":"` + TypeBase + ClosedCode + `","title":"` + ClosedTitle + `","status":429,"detail":"` + ClosedDetail +
		`","code":"` + ClosedCode + `","policy":"`
)

// AppendRefusal appends the document of a refusal.
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
