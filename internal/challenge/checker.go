package challenge

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// MaxSolution is the longest proof, in bytes. Those of providers are the longest: up to some 4,000.
	MaxSolution = 6 << 10
	// maxWork is the longest solution of work that is read, in bytes: some 700 are needed.
	maxWork = 2 << 10
	// ScriptlessWait is how old a challenge must be that is shown without a solution, where the zone's settings allow that.
	ScriptlessWait = time.Minute
	// wrongCost is what a wrong proof counts for an address beside its check.
	wrongCost = 20
)

// Reasons why a join is asked for a proof; docs/operate/challenge.md says what each means.
const (
	ReasonRequired     = "required"
	ReasonExpired      = "expired"
	ReasonUsed         = "used"
	ReasonWrongZone    = "wrong_zone"
	ReasonWrongVisitor = "wrong_visitor"
	ReasonWrong        = "wrong"
	ReasonUnknownKey   = "unknown_key"
	ReasonMalformed    = "malformed"
	ReasonProviderAway = "provider_away"
)

// Other outcomes of a join that was asked for a proof.
const (
	outSolved     = "solved"
	outRepeated   = "repeated"       // it showed again what was good before
	outScriptless = "without_script" // it waited instead
	outWaived     = "waived"         // the provider did not answer, and the zone admits
	outBusy       = "busy"
)

// Outcomes are all outcomes.
var Outcomes = []string{
	ReasonRequired, ReasonExpired, ReasonUsed, ReasonWrongZone, ReasonWrongVisitor, ReasonWrong, ReasonUnknownKey, ReasonMalformed,
	ReasonProviderAway, outSolved, outRepeated, outScriptless, outWaived, outBusy,
}

// ErrRequired: the join shows no proof that is good. Nobody took a place. Compare with errors.Is.
var ErrRequired = refusal.New("challenge: required", refusal.Refusal{
	Status: http.StatusForbidden, Code: "challenge_required",
	Title:   "Solve a challenge to join",
	Detail:  "Solve the challenge, and join again with the solution.",
	Outcome: "challenged",
	Ordered: true,
	Page:    refusal.Page{State: "proving"},
	Readers: refusal.Visitors,
	Doc: "The zone asks newcomers for a proof. `challenge` says for which, and `challenge.reason` why the proof was none: `required` (the " +
		"join showed none), `expired`, `used`, `wrong`, `wrong_zone`, `wrong_visitor`, `unknown_key`, `malformed` or `provider_away`. Solve it " +
		"and join again, with the solution as `challenge`. With `Retry-After`, come again then. See docs/operate/challenge.md.",
})

// RequiredError is ErrRequired, with what to show: the client is told of it as JSON.
type RequiredError struct {
	Kind   zone.Challenge `json:"kind"`
	Reason string         `json:"reason"`
	// Work is nil if a provider's token is to be shown. SiteKey and Action are for the widget of a provider.
	*Work
	SiteKey string `json:"siteKey,omitempty"`
	Action  string `json:"action,omitempty"`
	// UnsolvedAfter is after how many seconds the zone takes the challenge without a solution, 0 if it never does.
	UnsolvedAfter int `json:"unsolvedAfterSeconds,omitempty"`

	after time.Duration
}

// Error returns the sentence for a log.
func (e *RequiredError) Error() string { return ErrRequired.Error() + ": " + e.Reason }

// Unwrap returns ErrRequired.
func (e *RequiredError) Unwrap() error { return ErrRequired }

// Challenge returns what the client is told to show.
func (e *RequiredError) Challenge() any { return e }

// RetryAfterSeconds is when to come back, rounded up; 0 for as soon as there is a solution.
func (e *RequiredError) RetryAfterSeconds() int {
	return int((e.after + time.Second - 1) / time.Second)
}

// Meter counts.
type Meter interface {
	// Challenge counts a join that was asked for a proof, by its outcome: one of Outcomes.
	Challenge(zoneID, outcome string)
}

// Options are what a Checker is made of. All are required.
type Options struct {
	Keys     *token.Keys
	Spends   store.Spender
	Provider *Provider
	Meter    Meter
	Now      func() time.Time
}

// Checker makes challenges and checks proofs. Its methods may be called from any number of goroutines.
type Checker struct {
	Options
	queue queue
	seen  seen
	slow  slow
}

// New returns a checker.
func New(o Options) *Checker {
	return &Checker{Options: o, queue: queue{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}}
}

// Join is a join that has to show a proof.
type Join struct {
	Zone *zone.Settings
	// ClientID may be empty.
	ClientID string
	// Shown is what the join shows, "" for nothing; at most MaxSolution bytes.
	Shown string
	// Network is where the join comes from, "" if that is not known. A challenge is good for a place of the network that asked for it.
	Network string
	// Level is how much that network has taken lately: 0 for as usual, up to 2. Each level doubles the work.
	Level int
	// CountAttempt counts a proof that the join's address shows, and a wrong one once more. It reports whether the proofs of other
	// addresses are to be checked first.
	CountAttempt func(cost int64) (othersFirst bool)
}

// Proof is a proof that is good.
type Proof struct {
	// ID is the visitor's, for whom it is.
	ID line.ID
	// key names the proof in the store.
	key string
	// spent: this server knows that a place was taken with it.
	spent bool
	// elsewhere: another network asked for it. It finds the place that was taken with it, and takes none.
	elsewhere bool
}

// Check returns the join's proof, if that is good. The error is a *RequiredError, ErrBusy, or that of ctx.
func (d *Checker) Check(ctx context.Context, j Join) (p Proof, err error) {
	out := outSolved
	switch {
	case j.Shown == "":
		err = d.asks(j, ReasonRequired)
	case j.Zone.Challenge == zone.ChallengeWork:
		p, out, err = d.work(ctx, j)
	default:
		p, out, err = d.token(ctx, j)
	}
	var required *RequiredError
	switch {
	case errors.As(err, &required):
		out = required.Reason
	case errors.Is(err, ErrBusy):
		out = outBusy
	case err != nil:
		return p, err
	}
	d.Meter.Challenge(j.Zone.ZoneID, out)
	return p, err
}

// asks returns the error that asks for a proof, with a new challenge.
func (d *Checker) asks(j Join, reason string) *RequiredError {
	e := &RequiredError{Kind: j.Zone.Challenge, Reason: reason}
	if e.Kind != zone.ChallengeWork {
		e.SiteKey, e.Action = d.Provider.SiteKey, action
		return e
	}
	id := token.NewID()
	if j.ClientID != "" {
		id = d.Keys.VisitorID(j.Zone.ZoneID, j.ClientID)
	}
	p := newParameters(j.Zone.ZoneID, id, j.Zone.ChallengeMillis, j.Level, d.Now())
	p.Data.Network = j.Network
	e.Work = &Work{Parameters: p, Signature: d.Keys.SignChallenge(j.Zone.ZoneID, p.text())}
	if wait, ok := d.without(j, j.Network, false); ok {
		e.UnsolvedAfter = int(wait / time.Second)
	}
	return e
}

// without returns how old a challenge must be that the zone takes without a solution; ok is false if it takes none. takes says that
// one is shown, which is as old.
func (d *Checker) without(j Join, network string, takes bool) (wait time.Duration, ok bool) {
	if j.Zone.ChallengeWithoutScript == zone.WithoutScriptWait {
		return ScriptlessWait, true
	}
	return SlowWait, j.Level == 0 && d.slow.room(j.Zone.ZoneID, network, takes, d.Now())
}

// work checks a solution of work: what costs little first.
func (d *Checker) work(ctx context.Context, j Join) (Proof, string, error) {
	now := d.Now()
	shown, err := decode(j.Shown[:min(len(j.Shown), maxWork)])
	w := &shown.Challenge.Parameters
	id, idErr := base64.RawURLEncoding.DecodeString(w.Data.Visitor)
	reason := ""
	switch {
	case err != nil, idErr != nil, len(id) != len(line.ID{}):
		reason = ReasonMalformed
	case !d.Keys.VerifyChallenge(w.Data.Zone, w.text(), shown.Challenge.Signature):
		reason = ReasonUnknownKey
	case w.Data.Zone != j.Zone.ZoneID:
		reason = ReasonWrongZone
	case j.ClientID != "" && d.Keys.VisitorID(w.Data.Zone, j.ClientID) != line.ID(id):
		reason = ReasonWrongVisitor
	case now.Unix() >= w.ExpiresAt, w.Cost < leastCost<<j.Level/2: // the network has taken many places since
		reason = ReasonExpired
	}
	if reason != "" {
		return Proof{}, "", d.asks(j, reason)
	}
	p := Proof{ID: line.ID(id), key: w.Nonce, elsewhere: w.Data.Network != j.Network}
	if shown.Solution == nil {
		wait, ok := d.without(j, w.Data.Network, false)
		switch left := time.Unix(w.ExpiresAt, 0).Add(wait - Life).Sub(now); {
		case left > 0 && !ok:
			return Proof{}, "", d.asks(j, ReasonRequired)
		case left > 0:
			e := &RequiredError{Kind: j.Zone.Challenge, Reason: ReasonRequired, Work: &shown.Challenge, after: left}
			e.UnsolvedAfter = e.RetryAfterSeconds()
			return Proof{}, "", e
		}
		return d.decide(j, p, func() (state, string, error) {
			if _, ok := d.without(j, w.Data.Network, true); ok {
				return right, outScriptless, nil
			}
			if used, err := d.Used(ctx, j, p); err != nil || used { // by this join, whose answer was lost
				return spent, outRepeated, err
			}
			return unseen, "", d.asks(j, ReasonRequired)
		})
	}
	return d.decide(j, p, func() (state, string, error) {
		found, err := d.queue.check(ctx, w, shown.Solution.Counter, j.CountAttempt(1))
		if err != nil || !found {
			return wrong, "", err
		}
		d.slow.solved(j.Zone.ZoneID, now)
		return right, outSolved, nil
	})
}

// token checks the token of a provider.
func (d *Checker) token(ctx context.Context, j Join) (Proof, string, error) {
	sum := sha256.Sum256([]byte(j.Shown))
	p := Proof{key: hex.EncodeToString(sum[:nonceBytes])}
	// Without a clientId, the id follows from what is shown, so that a repeated join finds the same place.
	p.ID = d.Keys.VisitorID("challenge of "+j.Zone.ZoneID, p.key)
	if j.ClientID != "" {
		p.ID = d.Keys.VisitorID(j.Zone.ZoneID, j.ClientID)
		p.key += hex.EncodeToString(p.ID[:])
	}
	return d.decide(j, p, func() (state, string, error) {
		found, err := d.Provider.verify(ctx, j.Zone.Challenge, j.Shown, j.CountAttempt(1))
		if errors.Is(err, errAway) {
			if j.Zone.OnChallengeFailure == zone.FailureAdmit {
				return right, outWaived, nil
			}
			e := d.asks(j, ReasonProviderAway)
			e.after = awayAfter
			return found, "", e
		}
		if found == spent { // perhaps by this join, whose answer was lost
			if used, err := d.Used(ctx, j, p); err != nil || !used {
				return over, "", err
			}
			return spent, outRepeated, nil
		}
		return found, outSolved, err
	})
}

// decide says what comes of a proof, by what is known of it or else by what check finds. A check that fails is made again when
// the proof is shown again.
func (d *Checker) decide(j Join, p Proof, check func() (state, string, error)) (Proof, string, error) {
	st, out := d.seen.get(p.key, d.Now()), outRepeated
	if st == unseen {
		var err error
		if st, out, err = check(); err != nil {
			d.seen.set(p.key, unseen, d.Now())
			return Proof{}, "", err
		}
		if st == wrong {
			j.CountAttempt(wrongCost)
		}
		d.seen.set(p.key, st, d.Now())
	}
	p.spent = st == spent
	switch st {
	case pending:
		return Proof{}, "", ErrBusy
	case wrong:
		return Proof{}, "", d.asks(j, ReasonWrong)
	case over:
		return Proof{}, "", d.asks(j, ReasonUsed)
	default:
		return p, out, nil
	}
}

// Used reports whether a place was taken with the proof before, on any server. The error is one of the store.
func (d *Checker) Used(ctx context.Context, j Join, p Proof) (bool, error) {
	if p.spent {
		return true, nil
	}
	unused, err := d.Spends.Spend(ctx, spendKey(j, p), "", 0)
	if err != nil {
		return false, fmt.Errorf("challenge: used: %w", err)
	}
	if !unused {
		d.seen.set(p.key, spent, d.Now())
	}
	return !unused, nil
}

// Spend notes that a place was taken with the proof. If the store does not answer, only this server knows that: another server would
// take the proof for one more place of the same visitor, once the first is gone. The visitor keeps the first all the same.
func (d *Checker) Spend(ctx context.Context, j Join, p Proof) {
	d.seen.set(p.key, spent, d.Now())
	_, _ = d.Spends.Spend(ctx, spendKey(j, p), "", Life+time.Minute)
}

// Elsewhere returns the error for an unused proof for which another network asked; nil if the join's asked for it.
func (d *Checker) Elsewhere(j Join, p Proof) error {
	if !p.elsewhere {
		return nil
	}
	d.Meter.Challenge(j.Zone.ZoneID, ReasonWrongVisitor)
	return d.asks(j, ReasonWrongVisitor)
}

// Over refuses a proof with which a place was taken that is gone.
func (d *Checker) Over(j Join, p Proof) error {
	d.seen.set(p.key, over, d.Now())
	d.Meter.Challenge(j.Zone.ZoneID, ReasonUsed)
	return d.asks(j, ReasonUsed)
}

func spendKey(j Join, p Proof) string { return "challenge:" + j.Zone.ZoneID + "/" + p.key }
