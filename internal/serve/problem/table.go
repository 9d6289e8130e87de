package problem

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
)

// kind is what all problems with one code have in common.
type kind struct {
	status int
	code   string
	title  string
	// detail says what to do, where the error has nothing better to say.
	detail string
	// retryMin and retryMax bound Retry-After, in seconds; 0 sends none. A
	// random choice between them keeps those who were refused in one moment
	// from coming back in one moment.
	retryMin, retryMax int
	// challenge is the WWW-Authenticate that a 401 has to carry.
	challenge string
	// ordered: an operator has said so. What alerts watch leaves it out.
	ordered bool
}

// The problems of the contract, and those that any HTTP server has.
var (
	invalidRequest = kind{
		status: http.StatusBadRequest, code: "invalid_request",
		title: "The request is not valid",
	}
	tokenInvalid = kind{
		status: http.StatusUnauthorized, code: "token_invalid",
		title:     "The token is not valid",
		detail:    "The token was not made for this zone by this waiting room. Join the line to get one.",
		challenge: `Bearer realm="waiting room", error="invalid_token"`,
	}
	unauthorized = kind{
		status: http.StatusUnauthorized, code: "unauthorized",
		title:     "The operators' token is missing or wrong",
		detail:    "Send it as Authorization: Bearer <token>.",
		challenge: `Bearer realm="operators"`,
	}
	guessing = kind{
		status: http.StatusTooManyRequests, code: "too_many_wrong_tokens",
		title:    "Too many wrong operators' tokens",
		detail:   "The token is wrong, as many from this address were. The right one is taken at any time.",
		retryMin: 2, retryMax: 4,
	}
	anotherHost = kind{
		status: http.StatusMisdirectedRequest, code: "host_unknown",
		title:  "The request is for another host",
		detail: "The operators' listener answers as localhost and 127.0.0.1, and as what QUEUE_ADMIN_HOSTS names.",
	}
	crossOrigin = kind{
		status: http.StatusForbidden, code: "cross_origin",
		title:  "The request comes from another site",
		detail: "A browser may send this for pages of this server's own site, or of one that the operator allows.",
	}
	notFound = kind{
		status: http.StatusNotFound, code: "not_found",
		title:  "There is nothing at this path",
		detail: "Check the path of the request.",
	}
	zoneUnknown = kind{
		status: http.StatusNotFound, code: "zone_unknown",
		title:  "There is no such zone",
		detail: "Check the zoneId; names of zones are case-sensitive.",
	}
	policyUnknown = kind{
		status: http.StatusNotFound, code: "policy_unknown",
		title:  "There is no such policy",
		detail: "Check the name; names of policies are case-sensitive.",
	}
	drawUnknown = kind{
		status: http.StatusNotFound, code: "draw_unknown",
		title:  "There is no such draw",
		detail: "The zone has had no draw under that name lately, or its list has no such part; the list is there when the draw has closed.",
	}
	methodNotAllowed = kind{
		status: http.StatusMethodNotAllowed, code: "method_not_allowed",
		title:  "The path does not take this method",
		detail: "The header Allow lists the methods that it takes.",
	}
	requestTimeout = kind{
		status: http.StatusRequestTimeout, code: "request_timeout",
		title:    "The body did not arrive in time",
		detail:   "Nothing was done. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	}
	conflict = kind{
		status: http.StatusConflict, code: "conflict",
		title:    "Others are changing it",
		detail:   "Nothing was changed. Look at what it is now, and send the change again.",
		retryMin: 1, retryMax: 3,
	}
	preconditionFailed = kind{
		status: http.StatusPreconditionFailed, code: "precondition_failed",
		title:  "It is not as you have seen it",
		detail: "Nothing was changed. Look at what it is now, and decide anew.",
	}
	tokenExpired = kind{
		status: http.StatusGone, code: "token_expired",
		title:  "The place is no more",
		detail: "It was given up or not polled for too long, or its admission has expired. Join the line again.",
	}
	ticketMissing = kind{
		status: http.StatusForbidden, code: "ticket_missing",
		title:  "Only who is invited may join",
		detail: "Join with the ticket of the invitation.",
	}
	ticketInvalid = kind{
		status: http.StatusForbidden, code: "ticket_invalid",
		title:  "The ticket is not for this",
		detail: "It was not signed by who invites.",
	}
	ticketUsed = kind{
		status: http.StatusForbidden, code: "ticket_used",
		title:  "The ticket was used",
		detail: "Who had it was let in before. It is good for one admission.",
	}
	soldOut = kind{
		status: http.StatusGone, code: "sold_out",
		title:   "There is nothing left to wait for",
		detail:  "The organiser has ended the line.",
		ordered: true,
	}
	bodyTooLarge = kind{
		status: http.StatusRequestEntityTooLarge, code: "body_too_large",
		title:  "The body is too large",
		detail: "A body may have 4096 bytes, an operator's 131072.",
	}
	zoneClosed = kind{
		status: http.StatusLocked, code: "zone_closed",
		title:   "The zone takes no newcomers",
		detail:  "The operator has closed it. Those who wait keep their places.",
		ordered: true,
	}
	tooManyRequests = kind{
		status: http.StatusTooManyRequests, code: "too_many_requests",
		title:    "Too many requests",
		detail:   "Wait as long as Retry-After says.",
		retryMin: 5, retryMax: 10,
	}
	lineFull = kind{
		status: http.StatusTooManyRequests, code: "line_full",
		title:    "The line is full",
		detail:   "No place was taken. Try again when Retry-After has passed.",
		retryMin: 5, retryMax: 10,
	}
	internalError = kind{
		status: http.StatusInternalServerError, code: "internal_error",
		title:  "Something went wrong",
		detail: "It has been logged. The request can be sent again.",
	}
	serviceUnavailable = kind{
		status: http.StatusServiceUnavailable, code: "service_unavailable",
		title:    "The waiting room is busy",
		detail:   "Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	}
	storeUnavailable = kind{
		status: http.StatusServiceUnavailable, code: "store_unavailable",
		title:    "The waiting room cannot look",
		detail:   "Places are kept. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	}
	// The same to programs, which are to ask again; people have something to mend.
	newerFormat = kind{
		status: storeUnavailable.status, code: storeUnavailable.code, title: storeUnavailable.title,
		detail:   "What is kept was written by a newer version of the server. Places are kept; newer servers answer.",
		retryMin: storeUnavailable.retryMin, retryMax: storeUnavailable.retryMax,
	}
	otherSecrets = kind{
		status: storeUnavailable.status, code: storeUnavailable.code, title: storeUnavailable.title,
		detail:   "This server's QUEUE_SECRET is not that of the others on its store. Places are kept; the others answer.",
		retryMin: storeUnavailable.retryMin, retryMax: storeUnavailable.retryMax,
	}
)

// table is the one place where an error gets its status and its code. The
// first row that errors.Is finds counts.
var table = []struct {
	err  error
	kind *kind
}{
	// First, since stores and rooms wrap it together with their own: the
	// client went away, or the server is stopping. Only the latter's clients
	// read the answer; for them it is true.
	{context.Canceled, &storeUnavailable},

	{serve.ErrTooLarge, &bodyTooLarge},
	{serve.ErrTooSlow, &requestTimeout},
	{serve.ErrInvalid, &invalidRequest},
	{token.ErrInvalid, &tokenInvalid},
	{guard.ErrRefused, &tooManyRequests},
	{entry.ErrGone, &tokenExpired},
	{answer.ErrSoldOut, &soldOut},
	{ticket.ErrMissing, &ticketMissing},
	{ticket.ErrInvalid, &ticketInvalid},
	{ticket.ErrUsed, &ticketUsed},
	{wait.ErrClosed, &zoneClosed},
	{wait.ErrFull, &lineFull},
	{operator.ErrUnauthorized, &unauthorized},
	{operator.ErrGuessing, &guessing},
	{operator.ErrHost, &anotherHost},
	{operator.ErrCrossOrigin, &crossOrigin},
	{cors.ErrCrossOrigin, &crossOrigin},
	{operator.ErrConflict, &conflict},
	{operator.ErrBusy, &tooManyRequests},
	{operator.ErrPrecondition, &preconditionFailed},
	{limit.ErrStoreUnavailable, &storeUnavailable},
	{limiter.ErrPolicyUnknown, &policyUnknown},
	{policyset.ErrPrecondition, &preconditionFailed},
	{policyset.ErrUnknown, &policyUnknown},
	{schedule.ErrNoDraw, &drawUnknown},
	{limit.ErrPoliciesChanged, &conflict},
	{line.ErrZoneUnknown, &zoneUnknown},
	{line.ErrZoneDeleted, &zoneUnknown},
	{line.ErrZoneChanged, &conflict},
	{line.ErrFormat, &newerFormat},
	{line.ErrSecrets, &otherSecrets},
	{line.ErrStoreUnavailable, &storeUnavailable},
	{context.DeadlineExceeded, &storeUnavailable},
}

// Codes are the codes of all problems, in the order of the alphabet.
func Codes() []string {
	seen := map[string]bool{internalError.code: true}
	for _, row := range table {
		seen[row.kind.code] = true
	}
	for _, k := range byStatus {
		seen[k.code] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// byStatus is for what echo and its middlewares refuse.
var byStatus = map[int]*kind{
	http.StatusBadRequest:            &invalidRequest,
	http.StatusNotFound:              &notFound,
	http.StatusMethodNotAllowed:      &methodNotAllowed,
	http.StatusRequestEntityTooLarge: &bodyTooLarge,
	http.StatusTooManyRequests:       &tooManyRequests,
	http.StatusInternalServerError:   &internalError,
	http.StatusServiceUnavailable:    &serviceUnavailable,
}
