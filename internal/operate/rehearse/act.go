package rehearse

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Act is a script for one client.
type Act struct {
	// Name is the zone that a client joins to play it.
	Name string
	// About says what happens.
	About string
	// steps answer the requests, one after the other. The last one ends the wait.
	steps []step
}

// how an answer reaches the client.
type how int

const (
	whole how = iota
	lost      // not at all: the connection is closed once the request was read
	cut       // half of the body
	slow      // after slowAnswer
)

// slowAnswer is later than a client waits: see patience.
const slowAnswer = 5 * time.Second

// step is what one request is answered: a place to wait in, unless one of the others is set.
type step struct {
	how     how
	period  time.Duration // pollingPeriod, while waiting
	gathers bool          // while waiting: nobody has a number
	sleeps  bool          // the client's device sleeps when it has the answer, for asleep
	enter   bool
	problem refusal.Document
	page    int // the status of a page in HTML of something between client and room, or of its refusal in JSON
}

// asleep is for how long a device sleeps: longer than the usual idle timeout, and shorter than the longest period and silence.
const asleep = 65 * time.Second

func (s step) but(h how) step {
	s.how = h
	return s
}

func waiting(period time.Duration) step { return step{period: period} }

func gathering(period time.Duration) step { return step{period: period, gathers: true} }

func page(status int) step { return step{page: status} }

// refused is the problem that the room makes of an error. retry is its Retry-After, in
// seconds; 0 leaves what the room says.
func refused(err error, retry int) step {
	s := step{problem: refusal.Describe(err)}
	if retry > 0 {
		s.problem.RetryAfterSeconds = retry
	}
	return s
}

// busy is the 429 of one who asks too often.
func busy(retry int) step {
	s := step{problem: refusal.TooManyRequests.Document()}
	s.problem.RetryAfterSeconds = retry
	return s
}

func away(retry int) step { return refused(line.ErrStoreUnavailable, retry) }

// work is an easy challenge: one of 16 counters fits.
var work = challenge.Work{
	Parameters: challenge.Parameters{
		Algorithm: "SCRYPT", Cost: 2, MemoryCost: 1, Parallelism: 1, KeyLength: 32, KeyPrefix: "0", ExpiresAt: 4_102_444_800,
		Nonce: "6f70656e71756575652f726568656172", Salt: "616c6c20746865207761697427732061", Data: challenge.Data{Visitor: "AAAAAAAAAAA", Zone: "challenge"},
	},
	Signature: "rehearsed",
}

var (
	challenged = refused(&challenge.RequiredError{Kind: zone.ChallengeWork, Reason: challenge.ReasonRequired, Work: &work}, 0)
	entering   = step{enter: true}
	failed     = refused(errors.New("rehearsed"), 0)
	stranger   = refused(token.ErrInvalid, 0)
	unknown    = refused(line.ErrZoneUnknown, 0)
	second     = waiting(time.Second)
)

// Acts returns all acts.
func Acts() []Act {
	acts := []Act{
		{"calm", "a line that moves; each answer renews the token", []step{waiting(2 * time.Second), waiting(3 * time.Second), waiting(1500 * time.Millisecond), entering}},
		{"event", "people gather for an event: position 0, then a number, then the pass", []step{gathering(2 * time.Second), gathering(3 * time.Second), second, entering}},
		{"straight", "no line: the join is answered with the pass", []step{entering}},
		{"busy", "429 for the join, twice; 429 and 408 for polls", []step{busy(3), refused(wait.ErrFull, 5), second, busy(2), refused(serve.ErrTooSlow, 2), second, entering}},
		{"away", "503 for the join; three 503 one after the other in the middle of the wait", []step{away(2), second, away(3), away(2), away(3), second, entering}},
		{"failing", "six 500 one after the other", []step{second, failed, failed, failed, failed, failed, failed, entering}},
		{"lost", "no answer to the join, to a poll, and to the poll that is admitted", []step{second.but(lost), second.but(lost), second, second.but(lost), second, entering.but(lost), entering}},
		{"cut", "bodies that are cut short, that with the pass among them", []step{second.but(cut), second, second.but(cut), second, entering.but(cut), entering}},
		{"slow", "answers that take 5 s, to two polls", []step{second, second.but(slow), second, second.but(slow), second, entering}},
		{"gateway", "pages in HTML from a proxy: 502, 200, 504, 503; its own 403, 429 and 410 in JSON", []step{
			page(http.StatusBadGateway), second, page(http.StatusOK), page(http.StatusGatewayTimeout), second,
			page(http.StatusForbidden), second, page(http.StatusServiceUnavailable), page(http.StatusTooManyRequests), second, page(http.StatusGone), entering,
		}},
		{"pocket", "the device sleeps for 65 s, and wakes with its place: a command is stopped, and goes on", []step{second, {period: 20 * time.Second, sleeps: true}, second, entering}},
		{"challenge", "403 for the join: work is to be done first; no answer to the join with the solution", []step{challenged, second.but(lost), second, entering}},
		{"stranger", "401 for the token, twice", []step{second, stranger, second, stranger, entering}},
		{"expired", "410: the place is gone", []step{second, refused(entry.ErrGone, 0), second, entering}},
		{"sold-out", "410 for a poll: nobody need wait any more", []step{second, refused(answer.ErrSoldOut, 0)}},
		{"sold-out-before", "410 for the join: nobody need wait any more", []step{refused(answer.ErrSoldOut, 0)}},
		{"closed", "423 for the join", []step{refused(wait.ErrClosed, 0)}},
		{"unknown", "404 for the join: there is no such zone", []step{unknown}},
		{"deleted", "404 for a poll: the zone was deleted", []step{second, unknown}},
		{"worst", "all of it in one wait", []step{
			busy(1), second.but(lost), second, away(2), failed, failed, second.but(slow), second.but(cut), second,
			stranger, away(1), second.but(slow), second, entering.but(lost), page(http.StatusBadGateway), entering,
		}},
	}
	for _, p := range []refusal.Document{
		refusal.Invalid.Document(), refusal.Describe(cors.ErrCrossOrigin), refusal.NotFound.Document(),
		refusal.MethodNotAllowed.Document(), refusal.TooLarge.Document(),
	} {
		status := strconv.Itoa(p.Status)
		acts = append(acts, Act{"wrong-" + status, status + " " + p.Code + ": the request itself is wrong", []step{{problem: p}}})
	}
	return acts
}

// String says what a client was answered.
func (s step) String() string {
	switch {
	case s.how == lost:
		return "no answer"
	case s.how == cut:
		return "a body that was cut short"
	case s.how == slow:
		return "no answer within 3 s"
	case s.page != 0:
		return "a page with status " + strconv.Itoa(s.page)
	case s.enter:
		return "the pass"
	case s.problem.Status != 0:
		return strconv.Itoa(s.problem.Status) + " " + s.problem.Code
	case s.gathers:
		return "position 0"
	default:
		return "a place"
	}
}
