package rehearse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

const (
	// patience is how long a call is given before it counts as lost.
	patience = 3 * time.Second
	// tolerance is how much too early is no fault: timers are that coarse.
	tolerance = 100 * time.Millisecond
	// hangUpTolerance is the same where a client hangs up: the server sees a call begin
	// and end later than the client does. Like all that follows it is real time, whatever
	// the client's clock.
	hangUpTolerance = time.Second
	// settled is how long one who should be silent is watched.
	settled = 5 * time.Second
	// silence is how late one who should ask again may be before it has given up: as
	// late as costs the place in a zone with the usual idle timeout.
	silence = time.Minute
	// mostMore is how many requests more than it has steps an act takes: who sends them
	// would go on for ever.
	mostMore = 10
)

// request is what a client asks.
type request struct {
	joins bool
	body  map[string]any
}

func (q request) String() string {
	if q.joins {
		return "join"
	}
	return "poll"
}

// text is a field of the body, "" where it is none.
func (q request) text(field string) string {
	s, _ := q.body[field].(string)
	return s
}

// Finding is a rule that was broken.
type Finding struct {
	Rule Rule
	Act  string
	Text string
}

// play is an act with its client.
type play struct {
	act    Act
	issuer answer.Issuer
	began  time.Time
	// speed is how many times as fast the client makes its pauses.
	speed float64

	mu sync.Mutex
	// requests counts those that came, next is the step for the next one in order.
	requests, next int
	clientID       string
	// place is the same in all answers, but for its Epoch: so each has a token of its own.
	place line.Place
	// newest is the token of the newest answer that arrived; given are all that may
	// have arrived and were not refused since.
	newest string
	given  map[string]bool
	pass   string
	// What the newest answer was, to which request; since when the client has it, and
	// for how long it has to wait.
	answered step
	to       request
	since    time.Duration
	pause    time.Duration
	// failures counts answers of rowOther, one after the other.
	failures int
	// entered: the pass was shown. left: nothing more can come.
	entered, left bool
	findings      []Finding
}

func newPlay(a Act, issuer answer.Issuer, speed float64) *play {
	now := time.Now()
	return &play{
		act: a, issuer: issuer, began: now, speed: speed, given: map[string]bool{},
		place: line.Place{ID: token.NewID(), ArrivedAtMicros: now.UnixMicro()},
	}
}

// clock is the time since it began, as the client's pauses are told.
func (p *play) clock() time.Duration { return p.scaled(time.Since(p.began)) }

// scaled is a real time, multiplied by the speed of the client's pauses.
func (p *play) scaled(real time.Duration) time.Duration {
	return time.Duration(float64(real) * p.speed)
}

// require records a finding where the client did not keep a rule.
func (p *play) require(r Rule, kept bool, format string, a ...any) {
	if !kept {
		p.findings = append(p.findings, Finding{r, p.act.Name, fmt.Sprintf(format, a...)})
	}
}

// ask judges a request, and returns the answer to it. Its number is for hungUp and waited.
func (p *play) ask(q request) (a sent, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	p.judge(q, now)
	s := p.choose(q)
	p.requests++
	p.place.Epoch++
	a = prepare(p.issuer, s, p.act.Name, p.place)
	if s.how == slow {
		// As if it hung up in time. If it does not, it has the answer later.
		now += p.scaled(patience)
	}
	p.record(s, a, q, now)
	return a, p.requests
}

// judge holds a request against what the newest answer asks.
func (p *play) judge(q request, now time.Duration) {
	n := p.requests + 1
	if q.joins {
		id := q.text("clientId")
		p.require(RuleClientID, id != "" && (p.clientID == "" || id == p.clientID),
			"request %d joins with the clientId %q, after %q", n, id, p.clientID)
		p.clientID = id
	}
	if p.requests == 0 {
		return
	}
	after := p.answered.String()
	row := rowOf(p.answered)
	if row.rule != "" {
		early := tolerance
		if p.answered.how == slow {
			early = p.scaled(hangUpTolerance)
		}
		p.require(row.rule, now >= p.since+p.pause-early, "request %d came %.1f s after %s, not %.1f s",
			n, max(0, now-p.since).Seconds(), after, p.pause.Seconds())
	}
	switch row.then {
	case thenPoll:
		p.require(RuleToken, !q.joins && q.text("token") == p.newest,
			"request %d, a %s, does not have the token of the newest answer", n, q)
	case thenAgain:
		p.require(RuleSame, q.joins == p.to.joins && maps.Equal(q.body, p.to.body),
			"request %d, a %s, is not the %s that was answered with %s", n, q, p.to, after)
	case thenJoin, thenMayJoin:
		p.require(RuleRejoin, q.joins, "request %d polls after %s", n, after)
	case thenSolve:
		p.require(RuleChallenge, q.joins && challenge.Solved(work, q.text("challenge")), "request %d, a %s, does not have a solution of the challenge", n, q)
	case thenStop:
		p.require(RuleStop, false, "request %d, a %s, came after %s", n, q, after)
	case thenEnter:
		p.require(RuleDone, false, "request %d, a %s, came after the pass", n, q)
	}
}

// choose returns what a request is answered.
func (p *play) choose(q request) step {
	t := rowOf(p.answered).then
	known := q.joins || p.given[q.text("token")]
	switch {
	case p.requests > 0 && (t == thenStop || t == thenEnter || t == thenSolve && !challenge.Solved(work, q.text("challenge"))), !known && (t == thenJoin || t == thenMayJoin) && p.requests > 0:
		return p.answered
	case !known:
		return refused(token.ErrInvalid, 0)
	}
	for {
		s := p.act.steps[p.next]
		p.next = min(p.next+1, len(p.act.steps)-1)
		if t := rowOf(s).then; !q.joins || t != thenJoin && t != thenMayJoin {
			return s
		}
		// Nobody is told so of a token who sends none.
	}
}

// record keeps what the client was answered, and since when it has the answer.
func (p *play) record(s step, a sent, q request, at time.Duration) {
	p.answered, p.to, p.since = s, q, at
	if rowOf(s).then == thenAgain && rowOf(s).rule == RuleBackoff {
		p.failures++
	} else {
		p.failures = 0
	}
	p.pause = pauseAfter(s, p.failures)
	switch t := rowOf(s).then; {
	case t == thenJoin || t == thenMayJoin:
		p.newest, p.given = "", map[string]bool{}
	case a.token == "":
	case s.how == whole:
		p.newest, p.given[a.token] = a.token, true
		p.pass = a.pass
	default:
		p.given[a.token] = true // who knows how much of it arrived?
	}
}

// hungUp notes that the client of that request did not wait for its answer, which was on
// its way for so long.
func (p *play) hungUp(number int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.require(RulePatience, took >= patience-hangUpTolerance, "request %d was given up after %.1f s", number, took.Seconds())
	if number == p.requests {
		p.since = min(p.since, p.clock())
	}
}

// waited notes that the client of that request waited for the slow answer. It has none
// if it has asked again meanwhile.
func (p *play) waited(number int, a sent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number == p.requests {
		p.record(p.answered.but(whole), a, p.to, p.clock())
	}
}

// enter shows a pass that was signed for this act.
func (p *play) enter(pass string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pass == p.pass {
		p.entered = true
		return
	}
	p.require(RulePass, false, "the service was shown another pass than the one that was given last")
}

// leaves notes that nothing more will come of this client.
func (p *play) leaves() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
}

// dozes reports whether the device sleeps after the newest answer.
func (p *play) dozes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered.sleeps
}

// over reports whether the act has been played.
func (p *play) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch t := rowOf(p.answered).then; {
	case p.left, p.requests > len(p.act.steps)+mostMore:
		return true
	case p.requests == 0:
		return false
	case t == thenStop || t == thenMayJoin || t == thenEnter:
		return p.clock() >= p.since+p.scaled(settled)
	default:
		return p.clock() >= p.since+p.pause+p.scaled(silence)
	}
}

// result is what there is to tell of the act.
func (p *play) result() (played bool, findings []Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := play{act: p.act, findings: slices.Clip(p.findings)}
	if p.requests > 0 {
		switch rowOf(p.answered).then {
		case thenPoll, thenAgain:
			end.require(RuleGoOn, false, "it gave up after %s", p.answered)
		case thenJoin:
			end.require(RuleRejoin, false, "it did not join again after %s", p.answered)
		case thenSolve:
			end.require(RuleChallenge, false, "it did not join again after %s", p.answered)
		case thenEnter:
			end.require(RulePass, p.entered, "the service was not shown the pass")
		default:
		}
	}
	return p.requests > 0, end.findings
}

// sleep waits, unless the client hangs up.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
