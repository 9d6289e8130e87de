package quota

import "strconv"

// The problem document of a refusal (RFC 9457), as internal/problem lists it.
const (
	// ContentType is its media type.
	ContentType = "application/problem+json"
	// Code is what a program compares. It never changes its meaning.
	Code = "rate_limited"
	// Title is the same for all refusals, and so is Detail.
	Title  = "The limit is used up"
	Detail = "Send the same request again when Retry-After has passed."
	// TypeBase and the code make the address of the description.
	TypeBase = "https://github.com/openqueue/waitingroom/blob/main/internal/problem/README.md#"
)

// refusal is what all documents begin with.
const refusal = `{"type":"` + TypeBase + Code + `","title":"` + Title + `","status":429,"detail":"` + Detail +
	`","code":"` + Code + `","policy":"`

// AppendRefusal appends the document of a refusal by a policy, whose name needs no
// escaping, for so many milliseconds.
func AppendRefusal(b []byte, policy string, retryMillis int64) []byte {
	b = append(append(b, refusal...), policy...)
	b = append(b, `","retryAfterMillis":`...)
	return append(strconv.AppendInt(b, retryMillis, 10), '}')
}
