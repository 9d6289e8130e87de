package problem

import (
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/site"
)

// maxRetry is how long the slowest bucket takes to have room for its largest cost.
const maxRetry = limit.MaxLimit * limit.MaxWindowSeconds

// told are refusals of a limit, and of the gate. They are no errors, and do not come from Handler:
// packages ratelimit and site write them. All are 4xx: a gateway takes a 5xx for a failure of the server that it
// asks, and may be set to let the request through then.
var told = []*kind{
	{
		status: http.StatusTooManyRequests, code: ratelimit.Code,
		title:    ratelimit.Title,
		detail:   ratelimit.Detail,
		retryMin: 1, retryMax: maxRetry,
	},
	{
		status: http.StatusTooManyRequests, code: ratelimit.ClosedCode,
		title:    ratelimit.ClosedTitle,
		detail:   ratelimit.ClosedDetail,
		retryMin: 1, retryMax: maxRetry,
	},
	{
		status: http.StatusTooManyRequests, code: site.Code,
		title:  site.Title,
		detail: site.Detail,
	},
}

// Ordered returns the codes of refusals that operators asked for, in the order of the alphabet.
func Ordered() (codes []string) {
	for _, k := range table {
		if k.ordered && !slices.Contains(codes, k.code) {
			codes = append(codes, k.code)
		}
	}
	slices.Sort(codes)
	return codes
}

// Kind is a row of the table, for tests.
type Kind struct {
	Code, Title, Detail, Type  string
	Status, RetryMin, RetryMax int
	Challenge                  string
}

// Kinds returns all problems, by code.
func Kinds() map[string]Kind {
	all := make(map[string]Kind)
	add := func(k *kind) {
		all[k.code] = Kind{
			Code: k.code, Title: k.title, Detail: k.detail, Type: typeBase + k.code, Status: k.status,
			RetryMin: k.retryMin, RetryMax: k.retryMax, Challenge: k.challenge,
		}
	}
	for i := range table {
		add(&table[i])
	}
	for _, k := range told {
		add(k)
	}
	add(&internalError)
	return all
}
