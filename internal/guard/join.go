package guard

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// spread is the random time, in milliseconds, that is added when a join is refused by its address. A school class
	// behind one address would else come back in the same second, when there is one permit.
	spread = 3_000
	// leastRetry is the shortest time, in milliseconds, after which one who polls too often is told to come back.
	leastRetry = 100
	// warnEvery is how often the log may say the same thing.
	warnEvery = 10 * time.Minute
)

// The reasons why no address is counted for a join.
const (
	// ReasonPrivate: the join came from an address that is no subscriber's: of this machine, of a private network, or
	// none at all. It may be that of a balancer.
	ReasonPrivate = "private"
	// ReasonTrusted: the join came from a trusted proxy or backend, which does not say for whom it asks.
	ReasonTrusted = "trusted"
)

// Reasons are all reasons.
var Reasons = []string{ReasonPrivate, ReasonTrusted}

// Newcomer is what tells one who asks for a place from others.
type Newcomer struct {
	// ClientID is a stable key of the client's own. It may be empty.
	ClientID string
	// Address is where the request came from, as the trusted proxies tell. It is the zero value if that is no address.
	Address netip.Addr
	// ClientIP is the clientIp of the body, or the zero value. It counts only if Address is in Backends.
	ClientIP netip.Addr
	// Forwarded: the request has a header that proxies write.
	Forwarded bool
}

// Admits returns nil for a newcomer who may ask for a place in the zone with these settings, else a *RefusedError; or ctx's
// error if ctx ended first.
func (g *Guard) Admits(ctx context.Context, z *zone.Settings, n Newcomer) error {
	if n.ClientID != "" {
		a, err := g.check(ctx, limiter.Question{Policy: JoinsClient, Key: clientKey(z.ZoneID, n.ClientID)})
		if err != nil {
			return err
		}
		if !a.Allowed {
			return &RefusedError{RetryMillis: a.RetryMillis}
		}
	}
	from, ok := g.counted(&n)
	if !ok {
		return nil
	}
	a, err := g.checkAddress(ctx, z, from)
	if err != nil || a.Allowed {
		return err
	}
	if n.Forwarded && n.Address == from {
		g.options.Meter.ForwardedRefused()
		g.forwarded.Do(func() { // one address may be that of many visitors
			g.options.Logger.Warn("joins are refused that say they were forwarded, which anybody can write; if the address is in the list that your "+
				"balancer or CDN publishes, that list belongs in QUEUE_TRUSTED_PROXIES, or visitors behind it are turned away; "+
				"if it is not, do not name it: whoever is named chooses the address that counts", "address", from, "policy", a.Policy)
		})
	}
	return &RefusedError{RetryMillis: a.RetryMillis + rand.Int64N(spread)}
}

// checkAddress asks the policies about an address: what it may have in the zone, and in all zones.
func (g *Guard) checkAddress(ctx context.Context, z *zone.Settings, from netip.Addr) (limiter.Answer, error) {
	questions := make([]limiter.Question, 0, 2)
	if by, ok := shareOf(z.InForce()); ok {
		questions = append(questions, limiter.Question{Policy: JoinsZone, Key: "zone:" + z.ZoneID + "/" + address.Line(from), Scale: &by})
	}
	questions = append(questions, limiter.Question{Policy: JoinsAddress, Key: address.Of(from)})
	bounded := ctx
	if g.options.Within > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, g.options.Within)
		defer cancel()
	}
	a, err := g.options.Limiter.CheckAll(bounded, questions...)
	return g.decided(ctx, JoinsAddress, a, err)
}

// CountAttempt counts a proof that an address shows, and reports whether it shows so many lately that others go first. Where no
// address is counted, nobody has to wait for others.
func (g *Guard) CountAttempt(ctx context.Context, n Newcomer, cost int64) (othersFirst bool) {
	from, reason := g.source(&n)
	if reason != "" {
		return false
	}
	a, err := g.check(ctx, limiter.Question{Policy: Challenges, Key: address.Of(from), Cost: cost})
	return err == nil && !a.Allowed
}

// Source returns the address that a join or a poll counts for, the zero value if there is none.
func (g *Guard) Source(n Newcomer) netip.Addr {
	from, _ := g.source(&n)
	return from
}

// Named reports whether a join comes from one of Backends and has a clientId.
func (g *Guard) Named(n Newcomer) bool {
	return n.ClientID != "" && address.Within(g.options.Backends, n.Address)
}

// Flood returns a *RefusedError for a poll before its time if the visitor sends too many. The time to come back is
// retryMillis, that of the last answer, since there is nothing new before.
func (g *Guard) Flood(ctx context.Context, id line.ID, retryMillis int64) error {
	var key [len("place:") + 11]byte
	copy(key[:], "place:")
	base64.RawURLEncoding.Encode(key[len("place:"):], id[:])
	return g.often(ctx, string(key[:]), retryMillis)
}

// Exchange returns a *RefusedError for a pass that is shown too often to the store, by whomever: see PollsToken.
func (g *Guard) Exchange(ctx context.Context, admission [16]byte) error {
	return g.often(ctx, "pass:"+base64.RawURLEncoding.EncodeToString(admission[:]), 0)
}

// often returns a *RefusedError if PollsToken refuses the key. The time to come back is retryMillis, and at least leastRetry.
func (g *Guard) often(ctx context.Context, key string, retryMillis int64) error {
	v, err := g.check(ctx, limiter.Question{Policy: PollsToken, Key: key})
	if err != nil || v.Allowed {
		return err
	}
	return &RefusedError{RetryMillis: max(retryMillis, leastRetry)}
}

// check asks one policy that this server counts by itself.
func (g *Guard) check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	a, err := g.options.Limiter.Check(ctx, q)
	return g.decided(ctx, q.Policy, a, err)
}

// decided returns the limiter's answer, or the error of a ctx that ended. A policy that does not exist allows everything.
func (g *Guard) decided(ctx context.Context, policy string, a limiter.Answer, err error) (limiter.Answer, error) {
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return limiter.Answer{}, ctx.Err()
	case !errors.Is(err, limiter.ErrPolicyUnknown):
		// A cost of 1 and the guard's keys are always in range. Any other error is logged, and the request allowed. In an overload
		// each join has one.
		g.unchecked.Do(func() {
			g.options.Logger.ErrorContext(ctx, "guard: a limit could not be checked, and holds nobody back; this is said once in ten minutes",
				"policy", policy, "error", err)
		})
	}
	return allowed, nil
}

// counted returns the address that a join counts for; ok is false if there is none.
func (g *Guard) counted(n *Newcomer) (from netip.Addr, ok bool) {
	from, reason := g.source(n)
	if reason == "" {
		return from, true
	}
	g.options.Meter.JoinUnlimited(reason)
	switch {
	case reason == ReasonTrusted:
		g.silent.Do(func() {
			g.options.Logger.Warn("joins come through a proxy of ours that does not say for whom, and are not limited by address; "+
				"have it write the visitor's address into X-Forwarded-For", "address", n.Address)
		})
	case n.Forwarded, !n.Address.Unmap().IsLoopback():
		g.private.Do(func() {
			g.options.Logger.Warn("joins come from an address that is no visitor's, and are not limited by address; "+
				"if it is a balancer or a proxy of yours that writes the visitor's address into X-Forwarded-For itself, "+
				"name it in QUEUE_TRUSTED_PROXIES", "address", n.Address, "forwarded", n.Forwarded)
		})
	}
	return netip.Addr{}, false
}

// source returns the address that a join counts for, or the reason why there is none.
func (g *Guard) source(n *Newcomer) (from netip.Addr, reason string) {
	backend := address.Within(g.options.Backends, n.Address)
	switch {
	case backend && public(n.ClientIP):
		return n.ClientIP, ""
	case backend || address.Within(g.options.Trusted, n.Address):
		return netip.Addr{}, ReasonTrusted
	case !public(n.Address):
		return netip.Addr{}, ReasonPrivate
	}
	return n.Address, ""
}

// sharedSpace is between subscribers and their provider (RFC 6598), and in clouds.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// public reports whether an address can be a subscriber's. The others are those of
// this machine, of private networks and of nobody.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedSpace.Contains(a)
}

// clientKey returns the limiter's key for a clientId. A clientId too long for a key is hashed.
func clientKey(zoneID, clientID string) string {
	key := "client:" + zoneID + "/" + clientID
	if len(key) > limiter.MaxKey {
		sum := sha256.Sum256([]byte(key))
		key = "client:#" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return key
}
