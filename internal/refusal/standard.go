package refusal

import "net/http"

// The refusals that any HTTP server has, and those that errors of several packages share.
var (
	TooManyRequests = declare(Refusal{
		Status: http.StatusTooManyRequests, Code: "too_many_requests",
		Title:    "Too many requests",
		Detail:   "Wait as long as Retry-After says.",
		RetryMin: 5, RetryMax: 10,
		Outcome: "refused",
		Page:    Page{State: "away", AgainSeconds: 5},
		Alert: "bots, or clients that poll in a loop: let them. But if `queue_forwarded_joins_refused_total` rises with it, it" +
			" may be everybody behind your CDN: if its list has the address that the log tells, that list belongs in " +
			"`QUEUE_TRUSTED_PROXIES`; until then `queue-server limits delete joins-address`. Schools and mobile networks " +
			"that are refused: raise `joins-zone` or `joins-address` live " +
			"([limits.md](../explain/limits.md#the-limits-of-our-own-guard))",
		Readers: Visitors,
		Doc: ", with `Retry-After`. For a join it is when the limit of its `clientId` or address has room again, and up to 3 s more for " +
			"an address, which many may share. For a poll before its time it is what is left of the period. " +
			"Nothing was done, and every place is kept.",
	})
	Invalid = declare(Refusal{
		Status: http.StatusBadRequest, Code: "invalid_request",
		Title:  "The request is not valid",
		Detail: "The server could not read the request.",
		Alert: "a client asks for what is not there: a wrong zone in an app, or a scanner. Nothing is lost here but processor " +
			"time",
		Readers: Visitors,
		Doc: "The body is no JSON object, or a field is missing, of the wrong type, malformed or too long. `detail` names the " +
			"field. On the operators' listener `errors` lists all faults.",
	})
	NotFound = declare(Refusal{
		Status: http.StatusNotFound, Code: "not_found",
		Title:  "There is nothing at this path",
		Detail: "Check the path of the request.",
		Alert: "a client asks for what is not there: a wrong zone in an app, or a scanner. Nothing is lost here but processor " +
			"time",
		Readers: Both,
		Doc:     "There is nothing at this path.",
	})
	MethodNotAllowed = declare(Refusal{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Title:   "The path does not take this method",
		Detail:  "The header Allow lists the methods that it takes.",
		Readers: Both,
		Doc:     "The path does not take this method; `Allow` lists those that it takes.",
	})
	TooLarge = declare(Refusal{
		Status: http.StatusRequestEntityTooLarge, Code: "body_too_large",
		Title:   "The body is too large",
		Detail:  "A body may have 8192 bytes, an operator's 131072.",
		Readers: Visitors,
		Doc:     "The body has more than 8192 bytes.",
	})
	Conflict = declare(Refusal{
		Status: http.StatusConflict, Code: "conflict",
		Title:    "Others are changing it",
		Detail:   "Nothing was changed. Read it again, and send the change again.",
		RetryMin: 1, RetryMax: 3,
		Readers: Operators,
		Doc:     "Others changed the zone, or the policies of limits, each time this change was about to be made; it was not.",
	})
	Precondition = declare(Refusal{
		Status: http.StatusPreconditionFailed, Code: "precondition_failed",
		Title:   "It has changed since you read it",
		Detail:  "Nothing was changed. Read it again, and decide anew.",
		Readers: Operators,
		Doc: "The request had `If-Match`, and the zone or policy has changed since it had this `ETag`; or the request had `If-None-Match: " +
			"*`, and the name is taken. Nothing was changed.",
	})
	Unavailable = declare(Refusal{
		Status: http.StatusServiceUnavailable, Code: "service_unavailable",
		Title:    "The waiting room is busy",
		Detail:   "Send the same request again when Retry-After has passed.",
		RetryMin: 1, RetryMax: 3,
		Alert:   "the servers are too busy: [QueueServerBusy](#queueserverbusy)",
		Readers: Visitors,
		Doc:     "The server cannot take the request now.",
	})
	StoreUnavailable = declare(Refusal{
		Status: http.StatusServiceUnavailable, Code: "store_unavailable",
		Title:    "The waiting room's store does not answer",
		Detail:   "Places are kept. Send the same request again when Retry-After has passed.",
		RetryMin: 1, RetryMax: 3,
		Alert:   "[QueueStoreFailing](#queuestorefailing)",
		Readers: Visitors,
		Doc: ", `Retry-After` 1-60 s, rarely above 20: soon for the next visitor, later for visitors far back, and the later the more " +
			"newcomers there are. The store did not answer in time. Every place is kept: send the same request again, with " +
			"the same token or `clientId`.",
	})
	// Internal is for every error that has no refusal.
	Internal = declare(Refusal{
		Status: http.StatusInternalServerError, Code: "internal_error",
		Title:   "Something went wrong",
		Detail:  "The server has logged it. Send the same request again.",
		Readers: Visitors,
		Doc:     "An unexpected error. The server's log has it.",
	})
)

// Saying returns the refusal with another detail.
func (r Refusal) Saying(detail string) Refusal {
	r.Detail = detail
	return r
}
