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
	// errs are the errors that become this problem. If an error is in two rows, the first one counts.
	errs   []error
	status int
	code   string
	title  string
	// detail says what to do. If it is "", the error's own Detail does.
	detail string
	// retryMin and retryMax bound Retry-After, in seconds; 0 sends none. A random
	// choice between them spreads the return of clients who were refused at one moment.
	retryMin, retryMax int
	// challenge is the header WWW-Authenticate, which a 401 must have.
	challenge string
	// ordered says that an operator asked for such refusals, so alerts do not count them.
	ordered bool
	// ofStatus says that the row also stands for errors of echo and its middlewares, which
	// have this status only.
	ofStatus bool
}

// table is the one place where an error gets its status and its code: the problems of the
// contract, and those that any HTTP server has. It is searched from the start, so what a crowd
// gets stands first.
var table = []kind{
	{
		errs:   []error{guard.ErrRefused, operator.ErrBusy},
		status: http.StatusTooManyRequests, code: "too_many_requests",
		title:    "Too many requests",
		detail:   "Wait as long as Retry-After says.",
		retryMin: 5, retryMax: 10,
		ofStatus: true,
	},
	{
		errs:   []error{serve.ErrInvalid},
		status: http.StatusBadRequest, code: "invalid_request",
		title:    "The request is not valid",
		ofStatus: true,
	},
	{
		errs:   []error{token.ErrInvalid},
		status: http.StatusUnauthorized, code: "token_invalid",
		title:     "The token is not valid",
		detail:    "The token was not made for this zone by this waiting room. Join the line to get one.",
		challenge: `Bearer realm="waiting room", error="invalid_token"`,
	},
	{
		errs:   []error{entry.ErrGone},
		status: http.StatusGone, code: "token_expired",
		title:  "The place is no more",
		detail: "It was given up or not polled for too long, or its admission has expired. Join the line again.",
	},
	{
		errs:   []error{answer.ErrSoldOut},
		status: http.StatusGone, code: "sold_out",
		title:   "There is nothing left to wait for",
		detail:  "The organiser has ended the line.",
		ordered: true,
	},
	{
		errs:   []error{operator.ErrUnauthorized},
		status: http.StatusUnauthorized, code: "unauthorized",
		title:     "The operators' token is missing or wrong",
		detail:    "Send it as Authorization: Bearer <token>.",
		challenge: `Bearer realm="operators"`,
	},
	{
		errs:   []error{operator.ErrGuessing},
		status: http.StatusTooManyRequests, code: "too_many_wrong_tokens",
		title:    "Too many wrong operators' tokens",
		detail:   "The token is wrong, as many from this address were. The right one is taken at any time.",
		retryMin: 2, retryMax: 4,
	},
	{
		errs:   []error{operator.ErrHost},
		status: http.StatusMisdirectedRequest, code: "host_unknown",
		title:  "The request is for another host",
		detail: "The operators' listener answers as localhost and 127.0.0.1, and as what QUEUE_ADMIN_HOSTS names.",
	},
	{
		errs:   []error{operator.ErrCrossOrigin, cors.ErrCrossOrigin},
		status: http.StatusForbidden, code: "cross_origin",
		title:  "The request comes from another site",
		detail: "A browser may send this for pages of this server's own site, or of one that the operator allows.",
	},
	{
		status: http.StatusNotFound, code: "not_found",
		title:    "There is nothing at this path",
		detail:   "Check the path of the request.",
		ofStatus: true,
	},
	{
		errs:   []error{line.ErrZoneUnknown, line.ErrZoneDeleted},
		status: http.StatusNotFound, code: "zone_unknown",
		title:  "There is no such zone",
		detail: "Check the zoneId; names of zones are case-sensitive.",
	},
	{
		errs:   []error{limiter.ErrPolicyUnknown, policyset.ErrUnknown},
		status: http.StatusNotFound, code: "policy_unknown",
		title:  "There is no such policy",
		detail: "Check the name; names of policies are case-sensitive.",
	},
	{
		errs:   []error{schedule.ErrNoDraw},
		status: http.StatusNotFound, code: "draw_unknown",
		title:  "There is no such draw",
		detail: "The zone has had no draw under that name lately, or its list has no such part; the list is there when the draw has closed.",
	},
	{
		status: http.StatusMethodNotAllowed, code: "method_not_allowed",
		title:    "The path does not take this method",
		detail:   "The header Allow lists the methods that it takes.",
		ofStatus: true,
	},
	{
		errs:   []error{serve.ErrTooSlow},
		status: http.StatusRequestTimeout, code: "request_timeout",
		title:    "The body did not arrive in time",
		detail:   "Nothing was done. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	},
	{
		errs:   []error{operator.ErrConflict, limit.ErrPoliciesChanged, line.ErrZoneChanged},
		status: http.StatusConflict, code: "conflict",
		title:    "Others are changing it",
		detail:   "Nothing was changed. Look at what it is now, and send the change again.",
		retryMin: 1, retryMax: 3,
	},
	{
		errs:   []error{operator.ErrFixed},
		status: http.StatusConflict, code: "event_fixed",
		title: "The event is fixed",
	},
	{
		errs:   []error{operator.ErrPrecondition, policyset.ErrPrecondition},
		status: http.StatusPreconditionFailed, code: "precondition_failed",
		title:  "It is not as you have seen it",
		detail: "Nothing was changed. Look at what it is now, and decide anew.",
	},
	{
		errs:   []error{ticket.ErrMissing},
		status: http.StatusForbidden, code: "ticket_missing",
		title:  "Only who is invited may join",
		detail: "Join with the ticket of the invitation.",
	},
	{
		errs:   []error{ticket.ErrInvalid},
		status: http.StatusForbidden, code: "ticket_invalid",
		title:  "The ticket is not for this",
		detail: "It was not signed by who invites.",
	},
	{
		errs:   []error{ticket.ErrUsed},
		status: http.StatusForbidden, code: "ticket_used",
		title:  "The ticket was used",
		detail: "Who had it was let in before. It is good for one admission.",
	},
	{
		errs:   []error{serve.ErrTooLarge},
		status: http.StatusRequestEntityTooLarge, code: "body_too_large",
		title:    "The body is too large",
		detail:   "A body may have 4096 bytes, an operator's 131072.",
		ofStatus: true,
	},
	{
		errs:   []error{wait.ErrClosed},
		status: http.StatusLocked, code: "zone_closed",
		title:   "The zone takes no newcomers",
		detail:  "The operator has closed it. Those who wait keep their places.",
		ordered: true,
	},
	{
		errs:   []error{wait.ErrFull},
		status: http.StatusTooManyRequests, code: "line_full",
		title:    "The line is full",
		detail:   "No place was taken. Try again when Retry-After has passed.",
		retryMin: 5, retryMax: 10,
	},
	{
		status: http.StatusServiceUnavailable, code: "service_unavailable",
		title:    "The waiting room is busy",
		detail:   "Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
		ofStatus: true,
	},
	{
		errs:   []error{line.ErrFormat},
		status: http.StatusServiceUnavailable, code: "store_unavailable", title: "The waiting room cannot look",
		detail:   "What is kept was written by a newer version of the server. Places are kept; newer servers answer.",
		retryMin: 1, retryMax: 3,
	},
	{
		errs:   []error{line.ErrSecrets},
		status: http.StatusServiceUnavailable, code: "store_unavailable", title: "The waiting room cannot look",
		detail:   "This server's QUEUE_SECRET is not that of the others on its store. Places are kept; the others answer.",
		retryMin: 1, retryMax: 3,
	},
	{
		errs:   []error{limit.ErrStoreUnavailable, line.ErrStoreUnavailable, context.DeadlineExceeded},
		status: http.StatusServiceUnavailable, code: "store_unavailable",
		title:    "The waiting room cannot look",
		detail:   "Places are kept. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	},
}

// internalError is the problem for every error that is not in the table.
var internalError = kind{
	status: http.StatusInternalServerError, code: "internal_error",
	title:  "Something went wrong",
	detail: "It has been logged. The request can be sent again.",
}

// Codes returns the codes of all problems, in the order of the alphabet.
func Codes() []string {
	seen := map[string]bool{internalError.code: true}
	for _, k := range table {
		seen[k.code] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
