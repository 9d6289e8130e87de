package problem

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
)

// readers are those who write clients: a section each of docs/reference/problems.md.
type readers string

const (
	visitors  readers = "visitors"
	limits    readers = "limits"
	operators readers = "operators"
	both      readers = "both"
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
	// authenticate is the header WWW-Authenticate, which a 401 must have.
	authenticate string
	// page is what docs/reference/problems.md says of it, for its readers, after the status and Retry-After: what it means,
	// and what a client does. It is "" in the further rows of a code.
	page string
	// readers are whose clients get it.
	readers readers
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
		errs:   []error{guard.ErrRefused},
		status: http.StatusTooManyRequests, code: "too_many_requests",
		title:    "Too many requests",
		detail:   "Wait as long as Retry-After says.",
		retryMin: 5, retryMax: 10,
		ofStatus: true,
		page: ", with `Retry-After`. For a join it is when the limit of its `clientId` or address has room again, and up to 3 s more for " +
			"an address, which many may share. For a poll before its time it is what is left of the period. " +
			"Nothing was done, and every place is kept.",
		readers: visitors,
	},
	{
		errs:   []error{serve.ErrInvalid},
		status: http.StatusBadRequest, code: "invalid_request",
		title:    "The request is not valid",
		ofStatus: true,
		page: "The body is no JSON object, or a field is missing, of the wrong type, malformed or too long. `detail` names the " +
			"field. On the operators' listener `errors` lists all faults.",
		readers: visitors,
	},
	{
		errs:   []error{token.ErrInvalid},
		status: http.StatusUnauthorized, code: "token_invalid",
		title:        "The token is not valid",
		detail:       "The token was not made for this zone by this waiting room. Join the line to get one.",
		authenticate: `Bearer realm="waiting room", error="invalid_token"`,
		page:         "The token was not made for this zone by this waiting room: join to get one. The store was not asked.",
		readers:      visitors,
	},
	{
		errs:   []error{entry.ErrGone},
		status: http.StatusGone, code: "token_expired",
		title:  "The place is no more",
		detail: "It was given up or not polled for too long, or its admission has expired. Join the line again.",
		page: "The place was given up, or not polled for longer than the zone's idle timeout, or its admission has expired: " +
			"join again.",
		readers: visitors,
	},
	{
		errs:   []error{answer.ErrSoldOut},
		status: http.StatusGone, code: "sold_out",
		title:   "There is nothing left to wait for",
		detail:  "The organiser has ended the line.",
		ordered: true,
		page: ", for polls and joins. There is nothing left to wait for, and `detail` says why, in the operator's words and in " +
			"the language that `Accept-Language` names, where there are several. Stop asking. An admitted visitor keeps the " +
			"pass.",
		readers: visitors,
	},
	{
		errs:   []error{operator.ErrUnauthorized},
		status: http.StatusUnauthorized, code: "unauthorized",
		title:        "The operators' token is missing or wrong",
		detail:       "Send it as Authorization: Bearer <token>.",
		authenticate: `Bearer realm="operators"`,
		page:         "`Authorization: Bearer` with the operators' token is missing or wrong.",
		readers:      operators,
	},
	{
		errs:   []error{operator.ErrGuessing},
		status: http.StatusTooManyRequests, code: "too_many_wrong_tokens",
		title:    "Too many wrong operators' tokens",
		detail:   "The token is wrong, as were several just before. The server takes the right one at any time.",
		retryMin: 2, retryMax: 4,
		page: "The token is wrong, as were five just before, from any address. The server takes the right one at any time: nobody is " +
			"locked out by what others try.",
		readers: operators,
	},
	{
		errs:   []error{operator.ErrHost},
		status: http.StatusMisdirectedRequest, code: "host_unknown",
		title:  "The request is for another host",
		detail: "The operators' listener answers as localhost and 127.0.0.1, and as what QUEUE_ADMIN_HOSTS names.",
		page: "The `Host` of the request is none of the operators' listener's own: a page of the internet may have had its name " +
			"lead to this machine. `QUEUE_ADMIN_HOSTS` names those of proxies in front.",
		readers: operators,
	},
	{
		errs:   []error{operator.ErrCrossOrigin, cors.ErrCrossOrigin},
		status: http.StatusForbidden, code: "cross_origin",
		title:  "The request comes from another site",
		detail: "A browser may send this for pages of this server's own site, or of one that the operator allows.",
		page: "A browser sent it for a page of another site: join, poll and leave work for pages of the server's own site, and " +
			"of those in `QUEUE_ALLOWED_ORIGINS`; changes by operators for the server's own pages alone. If the page is of " +
			"the same site, a proxy in between does not pass `Host` on, and the browser is too old to send `Sec-Fetch-Site`.",
		readers: visitors,
	},
	{
		status: http.StatusNotFound, code: "not_found",
		title:    "There is nothing at this path",
		detail:   "Check the path of the request.",
		ofStatus: true,
		page:     "There is nothing at this path.",
		readers:  both,
	},
	{
		errs:   []error{line.ErrZoneUnknown, line.ErrZoneDeleted},
		status: http.StatusNotFound, code: "zone_unknown",
		title:   "There is no such zone",
		detail:  "Check the zoneId; names of zones are case-sensitive.",
		page:    "There is no zone of this name, or it was deleted.",
		readers: visitors,
	},
	{
		errs:   []error{limiter.ErrPolicyUnknown, policyset.ErrUnknown},
		status: http.StatusNotFound, code: "policy_unknown",
		title:   "There is no such policy",
		detail:  "Check the name; names of policies are case-sensitive.",
		page:    "No policy of this name is in force on this server.",
		readers: limits,
	},
	{
		errs:   []error{schedule.ErrNoDraw},
		status: http.StatusNotFound, code: "draw_unknown",
		title:  "There is no such draw",
		detail: "The zone has had no draw under that name in the last week, or the draw has not closed yet: its list is there a few seconds later.",
		page: "The zone has had no draw under this name in the last week, or the draw has not closed yet. The list is " +
			"there from a few seconds after the draw has closed.",
		readers: limits,
	},
	{
		status: http.StatusMethodNotAllowed, code: "method_not_allowed",
		title:    "The path does not take this method",
		detail:   "The header Allow lists the methods that it takes.",
		ofStatus: true,
		page:     "The path does not take this method; `Allow` lists those that it takes.",
		readers:  both,
	},
	{
		errs:   []error{serve.ErrTooSlow},
		status: http.StatusRequestTimeout, code: "request_timeout",
		title:    "The body did not arrive in time",
		detail:   "Nothing was done. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
		page:    "The rest of the body did not come in time: a network that went away in the middle.",
		readers: visitors,
	},
	{
		errs:   []error{operator.ErrConflict, limit.ErrPoliciesChanged, line.ErrZoneChanged},
		status: http.StatusConflict, code: "conflict",
		title:    "Others are changing it",
		detail:   "Nothing was changed. Read it again, and send the change again.",
		retryMin: 1, retryMax: 3,
		page:    "Others changed the zone, or the policies of limits, each time this change was about to be made; it was not.",
		readers: operators,
	},
	{
		errs:   []error{operator.ErrFixed},
		status: http.StatusConflict, code: "event_fixed",
		title: "The event is fixed",
		page: "A list of `events` would change or drop an event that is [fixed](../operate/events.md#what-is-fixed). `detail` " +
			"says which command does what was wanted. Nothing was changed.",
		readers: operators,
	},
	{
		errs:   []error{operator.ErrPrecondition, policyset.ErrPrecondition},
		status: http.StatusPreconditionFailed, code: "precondition_failed",
		title:  "It has changed since you read it",
		detail: "Nothing was changed. Read it again, and decide anew.",
		page: "The request had `If-Match`, and the zone or policy has changed since it had this `ETag`; or the request had `If-None-Match: " +
			"*`, and the name is taken. Nothing was changed.",
		readers: both,
	},
	{
		errs:   []error{ticket.ErrMissing},
		status: http.StatusForbidden, code: "ticket_missing",
		title:   "You need an invitation to join",
		detail:  "Join with the ticket of the invitation.",
		page:    "Visitors need an invitation to join this zone: join with the ticket, as `ticket`.",
		readers: visitors,
	},
	{
		errs:   []error{ticket.ErrInvalid},
		status: http.StatusForbidden, code: "ticket_invalid",
		title:  "The ticket is not valid here",
		detail: "The shop did not sign the ticket.",
		page: "The shop did not sign the ticket, or the ticket has expired, or it is for another zone or another event: `detail` says " +
			"which. No place was taken.",
		readers: visitors,
	},
	{
		errs:   []error{ticket.ErrUsed},
		status: http.StatusForbidden, code: "ticket_used",
		title:  "The ticket was used",
		detail: "A visitor was admitted with the ticket before. It is good for one admission.",
		page: "A visitor was admitted with the ticket before, and the pass has expired. While the pass is good, a join with the ticket " +
			"gets the same pass.",
		readers: visitors,
	},
	{
		errs:   []error{challenge.ErrRequired},
		status: http.StatusForbidden, code: "challenge_required",
		title:  "Solve a challenge to join",
		detail: "Solve the challenge, and join again with the solution.",
		page: "The zone asks newcomers for a proof. `challenge` says for which, and `challenge.reason` why the proof was none: `required` (the " +
			"join showed none), `expired`, `used`, `wrong`, `wrong_zone`, `wrong_visitor`, `unknown_key`, `malformed` or `provider_away`. Solve it " +
			"and join again, with the solution as `challenge`. With `Retry-After`, come again then. See docs/operate/challenge.md.",
		ordered: true,
		readers: visitors,
	},
	{
		errs:   []error{challenge.ErrBusy},
		status: http.StatusTooManyRequests, code: "too_many_requests",
		title:    "Too many requests",
		detail:   "More solutions came than can be checked. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
		readers: visitors,
	},
	{
		errs:   []error{network.ErrShare},
		status: http.StatusTooManyRequests, code: "network_share",
		title:    "The network has its share of the line",
		detail:   "Many joined from this network lately. Join again when Retry-After has passed.",
		retryMin: 10, retryMax: 20,
		ordered: true,
		page: "The visitors of one network get at most a share of the line (`maxShareByNetwork`, `networkShares`), and lately as many joined from " +
			"this one. No place was taken; whoever has a place keeps it.",
		readers: visitors,
	},
	{
		errs:   []error{serve.ErrTooLarge},
		status: http.StatusRequestEntityTooLarge, code: "body_too_large",
		title:    "The body is too large",
		detail:   "A body may have 8192 bytes, an operator's 131072.",
		ofStatus: true,
		page:     "The body has more than 8192 bytes.",
		readers:  visitors,
	},
	{
		errs:   []error{wait.ErrClosed},
		status: http.StatusLocked, code: "zone_closed",
		title:   "The zone takes no newcomers",
		detail:  "The operator has closed it. Those who wait keep their places.",
		ordered: true,
		page:    "The operator closed the zone to newcomers. Visitors who wait keep their places.",
		readers: visitors,
	},
	{
		errs:   []error{wait.ErrFull},
		status: http.StatusTooManyRequests, code: "line_full",
		title:    "The line is full",
		detail:   "No place was taken. Try again when Retry-After has passed.",
		retryMin: 5, retryMax: 10,
		page:    "As many wait as the operator allows (`maxWaiting`). No place was taken.",
		readers: visitors,
	},
	{
		status: http.StatusServiceUnavailable, code: "service_unavailable",
		title:    "The waiting room is busy",
		detail:   "Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
		ofStatus: true,
		page:     "The server cannot take the request now.",
		readers:  visitors,
	},
	{
		errs:   []error{line.ErrFormat},
		status: http.StatusServiceUnavailable, code: "store_unavailable", title: "The waiting room's store does not answer",
		detail:   "A newer version of the server has written the data. Places are kept; newer servers answer.",
		retryMin: 1, retryMax: 3,
		page: ", `Retry-After` 1-60 s, rarely above 20: soon for the next visitor, later for visitors far back, and the later the more " +
			"newcomers there are. The store did not answer in time. Every place is kept: send the same request again, with " +
			"the same token or `clientId`.",
		readers: visitors,
	},
	{
		errs:   []error{line.ErrSecrets},
		status: http.StatusServiceUnavailable, code: "store_unavailable", title: "The waiting room's store does not answer",
		detail:   "This server's QUEUE_SECRET differs from that of the other servers on its store. Places are kept; the other servers answer.",
		retryMin: 1, retryMax: 3,
	},
	{
		errs:   []error{limit.ErrStoreUnavailable, line.ErrStoreUnavailable, context.DeadlineExceeded},
		status: http.StatusServiceUnavailable, code: "store_unavailable",
		title:    "The waiting room's store does not answer",
		detail:   "Places are kept. Send the same request again when Retry-After has passed.",
		retryMin: 1, retryMax: 3,
	},
}

// internalError is the problem for every error that is not in the table.
var internalError = kind{
	status: http.StatusInternalServerError, code: "internal_error",
	title:   "Something went wrong",
	detail:  "The server has logged it. Send the same request again.",
	page:    "An unexpected error. The server's log has it.",
	readers: visitors,
}

// Codes returns the codes of all problems, in the order of the alphabet.
func Codes() []string {
	seen := map[string]bool{internalError.code: true}
	for _, k := range table {
		seen[k.code] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
