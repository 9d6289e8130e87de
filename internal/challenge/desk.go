package challenge

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// MaxSolution is the longest proof, in bytes. Those of providers are the longest: up to some 4,000.
const MaxSolution = 6 << 10

// maxWork is the longest solution of work that is read, in bytes: some 700 are needed.
const maxWork = 2 << 10

// ScriptlessWait is how old a challenge must be that is shown without a solution, where the zone's settings allow that.
const ScriptlessWait = time.Minute

// Action is what a provider is told that its widget is for.
const Action = "join"

// ErrRequired: the join shows no proof that is good. Nobody took a place. A RequiredError says what to show. Compare with errors.Is.
var ErrRequired = errors.New("challenge: required")

// Reasons why a join is asked for a proof.
const (
	ReasonRequired     = "required"      // it showed none
	ReasonExpired      = "expired"       // Life is over
	ReasonUsed         = "used"          // the place that was taken with it is gone
	ReasonWrongZone    = "wrong_zone"    // made for another zone
	ReasonWrongVisitor = "wrong_visitor" // made for another clientId
	ReasonWrong        = "wrong"         // the solution is none, or the provider says no
	ReasonUnknownKey   = "unknown_key"   // signed with a secret that this server does not have
	ReasonMalformed    = "malformed"     // it cannot be read
	ReasonProviderAway = "provider_away" // the provider did not answer, and the zone holds
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

// Asked is what a join has to show, as the client is told.
type Asked struct {
	Kind   zone.Challenge `json:"kind"`
	Reason string         `json:"reason"`
	*Work
	// SiteKey and Action are for the widget of a provider.
	SiteKey string `json:"siteKey,omitempty"`
	Action  string `json:"action,omitempty"`
}

// RequiredError is ErrRequired, with what to show.
type RequiredError struct {
	asked Asked
	after time.Duration
}

// Error returns the sentence for a log.
func (e *RequiredError) Error() string { return ErrRequired.Error() + ": " + e.asked.Reason }

// Unwrap returns ErrRequired.
func (e *RequiredError) Unwrap() error { return ErrRequired }

// Asked is a member of the problem: see problem.Problem.
func (e *RequiredError) Asked() any { return e.asked }

// Work returns the work to do; nil if a provider's token is to be shown.
func (e *RequiredError) Work() *Work { return e.asked.Work }

// RetryAfterSeconds is when to come back, rounded up; 0 for as soon as there is a solution.
func (e *RequiredError) RetryAfterSeconds() int {
	return int((e.after + time.Second - 1) / time.Second)
}

// Meter counts.
type Meter interface {
	// Challenge counts a join that was asked for a proof, by its outcome: one of Outcomes.
	Challenge(zoneID, outcome string)
}

// Options are what a Desk is made of. All but Provider and Now are required.
type Options struct {
	Keys   *token.Keys
	Spends store.Spender
	// Provider is nil if the server has no keys for one.
	Provider *Provider
	Meter    Meter
	// Now defaults to time.Now.
	Now func() time.Time
}

// Desk makes challenges and checks proofs. Its methods may be called from any number of goroutines.
type Desk struct {
	Options
	queue *queue
	seen  seen
}

// New returns a desk. Stop ends what it runs.
func New(o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{Options: o, queue: newQueue()}
}

// Stop ends the derivations and the connections to the provider. Joins that wait for one get ErrBusy.
func (d *Desk) Stop() {
	close(d.queue.stop)
	d.queue.workers.Wait()
	if d.Provider != nil {
		d.Provider.client.CloseIdleConnections()
	}
}

// Join is one that has to show a proof.
type Join struct {
	Zone *zone.Settings
	// ClientID may be empty.
	ClientID string
	// Shown is what the join shows, "" for nothing; at most MaxSolution bytes.
	Shown string
	// Press counts something that the join's address did, of which a challenge and a check cost 1. It returns how much the address
	// asks for lately: 0 for as usual, up to MaxLevel.
	Press func(cost int64) (level int)
}

const (
	// MaxLevel is the highest level of an address. Each doubles the work.
	MaxLevel = 2
	// wrongCost is what a wrong solution costs an address beside its check.
	wrongCost = 20
)

// Proof is a proof that is good.
type Proof struct {
	// ID is the visitor's, for whom it is.
	ID line.ID
	// Again: a place was taken with it, which this server knows.
	Again bool
	key   string
	zone  string
}

// Check returns the join's proof, if that is good. The error is a *RequiredError, ErrBusy, or that of ctx.
func (d *Desk) Check(ctx context.Context, j Join) (Proof, error) {
	var p Proof
	var err error
	if j.Zone.Challenge == zone.ChallengeWork {
		p, err = d.work(ctx, j)
	} else {
		p, err = d.token(ctx, j)
	}
	var required *RequiredError
	switch {
	case errors.As(err, &required):
		d.Meter.Challenge(j.Zone.ZoneID, required.asked.Reason)
	case errors.Is(err, ErrBusy):
		d.Meter.Challenge(j.Zone.ZoneID, outBusy)
	}
	return p, err
}

// work checks a solution of work: what costs little first.
func (d *Desk) work(ctx context.Context, j Join) (Proof, error) {
	if j.Shown == "" {
		return Proof{}, d.asks(j, ReasonRequired)
	}
	now := d.Now()
	shown, err := decode(j.Shown[:min(len(j.Shown), maxWork)])
	p := &shown.Challenge.Parameters
	id, idErr := base64.RawURLEncoding.DecodeString(p.Data.Visitor)
	switch {
	case err != nil, idErr != nil, len(id) != len(line.ID{}):
		return Proof{}, d.asks(j, ReasonMalformed)
	case !d.Keys.VerifyChallenge(p.Data.Zone, p.text(), shown.Challenge.Signature):
		return Proof{}, d.asks(j, ReasonUnknownKey)
	case p.Data.Zone != j.Zone.ZoneID:
		return Proof{}, d.asks(j, ReasonWrongZone)
	case j.ClientID != "" && d.Keys.VisitorID(p.Data.Zone, j.ClientID) != line.ID(id):
		return Proof{}, d.asks(j, ReasonWrongVisitor)
	case now.Unix() >= p.ExpiresAt:
		return Proof{}, d.asks(j, ReasonExpired)
	}
	proof := Proof{ID: line.ID(id), key: p.Nonce, zone: j.Zone.ZoneID}
	if shown.Solution == nil {
		left := time.Unix(p.ExpiresAt, 0).Add(ScriptlessWait - Life).Sub(now)
		switch {
		case j.Zone.ChallengeWithoutScript != zone.WithoutScriptWait:
			return Proof{}, d.asks(j, ReasonRequired)
		case left > 0:
			return Proof{}, &RequiredError{Asked{Kind: j.Zone.Challenge, Reason: ReasonRequired, Work: &shown.Challenge}, left}
		}
		d.Meter.Challenge(proof.zone, outScriptless)
		return proof, nil
	}
	return d.decide(j, proof, func() (state, error) {
		later := j.Press(1) == MaxLevel
		found, err := d.queue.check(ctx, p, shown.Solution.Counter, later)
		switch {
		case err != nil:
			return unseen, err
		case !found:
			j.Press(wrongCost)
			return wrong, nil
		}
		return right, nil
	})
}

// decide says what comes of a proof, by what is known of it or else by what check finds. A check that fails is made again when
// the proof is shown again.
func (d *Desk) decide(j Join, p Proof, check func() (state, error)) (Proof, error) {
	st, out := d.seen.get(p.key, d.Now()), outRepeated
	if st == unseen {
		found, err := check()
		d.seen.set(p.key, found, d.Now())
		if err != nil {
			return Proof{}, err
		}
		st, out = found, outSolved
	}
	switch st {
	case pending:
		return Proof{}, ErrBusy
	case wrong:
		return Proof{}, d.asks(j, ReasonWrong)
	case over:
		return Proof{}, d.asks(j, ReasonUsed)
	default:
		p.Again = st == spent
		d.Meter.Challenge(p.zone, out)
		return p, nil
	}
}

// asks returns the error that asks for a proof, with a new challenge.
func (d *Desk) asks(j Join, reason string) error {
	a := Asked{Kind: j.Zone.Challenge, Reason: reason}
	if j.Zone.Challenge != zone.ChallengeWork {
		a.SiteKey, a.Action = d.Provider.siteKey(), Action
		return &RequiredError{asked: a}
	}
	id := token.NewID()
	if j.ClientID != "" {
		id = d.Keys.VisitorID(j.Zone.ZoneID, j.ClientID)
	}
	a.Work = &Work{Parameters: newParameters(j.Zone.ZoneID, id, j.Zone.ChallengeMillis, min(MaxLevel, j.Press(1)), d.Now())}
	a.Work.Signature = d.Keys.SignChallenge(j.Zone.ZoneID, a.Work.Parameters.text())
	return &RequiredError{asked: a}
}

// Used reports whether a place was taken with the proof before, on any server. The error is one of the store.
func (d *Desk) Used(ctx context.Context, p Proof) (bool, error) {
	if p.Again {
		return true, nil
	}
	unused, err := d.Spends.Spend(ctx, p.spendKey(), "", 0)
	if err != nil {
		return false, fmt.Errorf("challenge: used: %w", err)
	}
	if !unused {
		d.seen.set(p.key, spent, d.Now())
	}
	return !unused, nil
}

// Spend notes that a place was taken with the proof. If the store does not answer, this server alone knows.
func (d *Desk) Spend(ctx context.Context, p Proof) {
	d.seen.set(p.key, spent, d.Now())
	// The visitor has the place. An error that is lost here leaves a solution that other servers take for a second place of that
	// visitor, once the first is gone.
	_, _ = d.Spends.Spend(ctx, p.spendKey(), "", Life+time.Minute)
}

// Over refuses a proof with which a place was taken that is gone.
func (d *Desk) Over(j Join, p Proof) error {
	d.seen.set(p.key, over, d.Now())
	d.Meter.Challenge(p.zone, ReasonUsed)
	return d.asks(j, ReasonUsed)
}

func (p Proof) spendKey() string { return "challenge:" + p.zone + "/" + p.key }

// token checks the token of a provider.
func (d *Desk) token(ctx context.Context, j Join) (Proof, error) {
	if j.Shown == "" {
		return Proof{}, d.asks(j, ReasonRequired)
	}
	sum := sha256.Sum256([]byte(j.Shown))
	p := Proof{key: hex.EncodeToString(sum[:nonceBytes]), zone: j.Zone.ZoneID}
	// The id follows from what is shown, so that a repeated join finds the same place.
	p.ID = d.Keys.VisitorID("challenge of "+j.Zone.ZoneID, p.key)
	if j.ClientID != "" {
		p.ID = d.Keys.VisitorID(j.Zone.ZoneID, j.ClientID)
		p.key += hex.EncodeToString(p.ID[:])
	}
	return d.decide(j, p, func() (state, error) {
		j.Press(1)
		found, err := d.Provider.verify(ctx, j.Zone.Challenge, j.Shown)
		switch {
		case errors.Is(err, errAway) && j.Zone.OnChallengeFailure == zone.FailureAdmit:
			d.Meter.Challenge(p.zone, outWaived)
			return right, nil
		case errors.Is(err, errAway):
			away := Asked{Kind: j.Zone.Challenge, Reason: ReasonProviderAway, SiteKey: d.Provider.siteKey(), Action: Action}
			return unseen, &RequiredError{away, awayAfter}
		case found == wrong:
			j.Press(wrongCost)
		case found == spent: // perhaps by this join, whose answer was lost
			if used, err := d.Used(ctx, p); err != nil || !used {
				return over, err
			}
		}
		return found, err
	})
}
