package rehearse

import (
	"strconv"
	"strings"
	"time"
)

// Rule is something that a client has to do, or to leave.
type Rule string

// The rules, in the order in which they are told.
const (
	RuleForm       Rule = "form"
	RuleClientID   Rule = "client-id"
	RulePeriod     Rule = "period"
	RuleToken      Rule = "token"
	RuleRetryAfter Rule = "retry-after"
	RuleBackoff    Rule = "backoff"
	RulePatience   Rule = "patience"
	RuleSame       Rule = "same"
	RuleGoOn       Rule = "go-on"
	RuleRejoin     Rule = "rejoin"
	RuleChallenge  Rule = "challenge"
	RuleStop       Rule = "stop"
	RuleDone       Rule = "done"
	RulePass       Rule = "pass"
)

// Rules are all rules, each with what it asks.
var Rules = []struct {
	Rule Rule
	Asks string
}{
	{RuleForm, "asks as /openapi.yaml says: POST, the two paths, JSON, a zone that is there"},
	{RuleClientID, "joins with a clientId, the same as long as it waits"},
	{RulePeriod, "polls no sooner than pollingPeriod says"},
	{RuleToken, "polls with the token of the newest answer"},
	{RuleRetryAfter, "waits Retry-After seconds after 408, 429 and 503"},
	{RuleBackoff, "after 500, no answer or anything else waits 1 s, then 2, 4, 8 and every 16 s"},
	{RulePatience, "gives a call 3 s before it hangs up"},
	{RuleSame, "sends the same request again after 408, 429, 503, 500, no answer or anything else"},
	{RuleGoOn, "goes on until it has the pass, whatever it is answered on the way"},
	{RuleRejoin, "forgets the token after 401 and 410; joins again after 401"},
	{RuleChallenge, "does the work of a 403 challenge_required, and joins again with the solution"},
	{RuleStop, "stops after 400, 403, 404, 405, 413, 423, and 410 sold_out"},
	{RuleDone, "asks no more once canEnter is true"},
	{RulePass, "shows the pass that it was given to the service behind, here GET /service"},
}

// then is what a client does next.
type then int

const (
	thenPoll    then = iota
	thenAgain        // the same request
	thenJoin         // without the token
	thenMayJoin      // that, or nothing: as the user wants
	thenSolve        // join, with the solution
	thenStop
	thenEnter
)

// row is one of the table "What each answer asks of you".
type row struct {
	// answer is the first column.
	answer string
	then   then
	// rule is the one that is broken by whoever does it too early.
	rule Rule
}

// The rows that no status leads to: those of 200, and the one for whatever is in no other.
var (
	rowWait  = row{"200, `canEnter` false", thenPoll, RulePeriod}
	rowEnter = row{"200, `canEnter` true", thenEnter, ""}
	rowOther = row{"500, no answer, anything else", thenAgain, RuleBackoff}
)

// rows are the table, in its order.
var rows = []row{
	rowWait,
	rowEnter,
	{"403 `challenge_required`", thenSolve, ""},
	{"400, 403, 404 `not_found`, 405, 413", thenStop, ""},
	{"401 `token_invalid`", thenJoin, ""},
	{"404 `zone_unknown`", thenStop, ""},
	{"410 `token_expired`", thenMayJoin, ""},
	{"410 `sold_out`", thenStop, ""},
	{"423 `zone_closed`", thenStop, ""},
	{"408, 429", thenAgain, RuleRetryAfter},
	{"503", thenAgain, RuleRetryAfter},
	rowOther,
}

// rowOf is what a step asks of one who gets it; for a slow one, of one who hung up.
func rowOf(s step) row {
	switch {
	case s.how != whole || s.page != 0:
		return rowOther
	case s.enter:
		return rowEnter
	case s.problem.Status == 0:
		return rowWait
	}
	status := strconv.Itoa(s.problem.Status)
	for _, r := range rows {
		for answer := range strings.SplitSeq(r.answer, ", ") {
			if answer == status || answer == status+" `"+s.problem.Code+"`" {
				return r
			}
		}
	}
	return rowOther
}

// longestBackoff is how often the pause of 1 s doubles: to 16 s.
const longestBackoff = 4

// pauseAfter is how long a client waits after a step; failures are those without a
// usable answer, this one among them.
func pauseAfter(s step, failures int) time.Duration {
	switch rowOf(s).rule {
	case RulePeriod:
		return s.period
	case RuleRetryAfter:
		return time.Duration(s.problem.RetryAfterSeconds) * time.Second
	case RuleBackoff:
		return time.Second << min(failures-1, longestBackoff)
	default:
		return 0
	}
}
