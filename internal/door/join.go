package door

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"net/netip"

	"github.com/openqueue/waitingroom/internal/address"
	"github.com/openqueue/waitingroom/internal/limit"
	"github.com/openqueue/waitingroom/internal/limiter"
	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// spread is over how long those are sent away, in milliseconds, who are refused
	// by their address in one moment: a class that is told the same second would come
	// back in it, for the one permit that is there by then.
	spread = 3_000
	// warnEvery is how often the log may say that forwarded joins are refused, in
	// milliseconds.
	warnEvery = 600_000
)

// The reasons why no address is counted for a join.
const (
	// ReasonPrivate: it came from an address that is no subscriber's: of this
	// machine, a private network, or none at all. A balancer may be behind it.
	ReasonPrivate = "private"
	// ReasonTrusted: it came from a trusted proxy that does not say for whom.
	ReasonTrusted = "trusted"
)

// Reasons are all of them.
var Reasons = []string{ReasonPrivate, ReasonTrusted}

// Newcomer is one who asks for a place.
type Newcomer struct {
	// ZoneID and ClientID are what the newcomer says, in bounds. ClientID may be
	// empty.
	ZoneID, ClientID string
	// Address is where the request came from, as the trusted proxies tell.
	Address string
	// ClientIP is what the body says; empty, or an address.
	ClientIP string
	// Forwarded: there is a header that a proxy writes.
	Forwarded bool
}

// Admits returns nil for a newcomer who may ask for a place; a *RefusedError; or ctx's
// error, if that ended first.
func (d *Door) Admits(ctx context.Context, n Newcomer) error {
	if n.ClientID != "" {
		v, err := d.check(ctx, JoinsClient, clientKey(n.ZoneID, n.ClientID))
		if err != nil {
			return err
		}
		if !v.Allowed {
			return &RefusedError{RetryMillis: v.RetryMillis}
		}
	}
	from, ok := d.counted(&n)
	if !ok {
		return nil
	}
	v, err := d.check(ctx, JoinsAddress, address.Key(from))
	switch {
	case err != nil:
		return err
	case v.Allowed:
		return nil
	}
	if n.Forwarded && n.Address == from {
		d.meter.ForwardedRefused()
		d.warnOfForwarded(from)
	}
	return &RefusedError{RetryMillis: v.RetryMillis + rand.Int64N(spread)}
}

// flood refuses a poll ahead of its time that is one of too many. Until the time
// that it was told, there is nothing new for it.
func (d *Door) flood(ctx context.Context, p line.Place, a *line.Answer) error {
	var key [len("place:") + 11]byte
	copy(key[:], "place:")
	base64.RawURLEncoding.Encode(key[len("place:"):], p.ID[:])
	v, err := d.check(ctx, PollsToken, string(key[:]))
	if err != nil || v.Allowed {
		return err
	}
	return &RefusedError{RetryMillis: max(a.PeriodMillis, apart)}
}

// check asks one policy. One that does not exist allows everything.
func (d *Door) check(ctx context.Context, policy, key string) (limit.Verdict, error) {
	a, err := d.limiter.Check(ctx, limiter.Question{Policy: policy, Key: key})
	switch {
	case err == nil:
		return a.Verdict, nil
	case ctx.Err() != nil:
		return limit.Verdict{}, ctx.Err()
	case !errors.Is(err, limiter.ErrPolicyUnknown):
		// A cost of 1 and these keys are always in range: the door does not stand
		// or fall with what else there may be.
		d.log.ErrorContext(ctx, "door: a limit could not be checked", "policy", policy, "error", err)
	}
	return limit.Verdict{Allowed: true}, nil
}

// counted returns the address that a join counts for, if any.
func (d *Door) counted(n *Newcomer) (from string, ok bool) {
	a, err := netip.ParseAddr(n.Address)
	a = a.Unmap().WithZone("")
	if err == nil && d.trusts(a) {
		// A gateway that asks for its visitors is believed what it says of them.
		if b, err := netip.ParseAddr(n.ClientIP); err == nil && public(b.Unmap()) {
			return n.ClientIP, true
		}
		d.meter.JoinUnlimited(ReasonTrusted)
		return "", false
	}
	if err != nil || !public(a) {
		d.meter.JoinUnlimited(ReasonPrivate)
		if (n.Forwarded || !a.IsLoopback()) && !d.warnedPrivate.Swap(true) {
			d.log.Warn("joins come from an address that is no visitor's, and are not limited by address; "+
				"if a balancer or a proxy is there, name it in QUEUE_TRUSTED_PROXIES", "address", n.Address, "forwarded", n.Forwarded)
		}
		return "", false
	}
	return n.Address, true
}

func (d *Door) trusts(a netip.Addr) bool {
	for _, p := range d.trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// sharedSpace is between subscribers and their provider (RFC 6598), and in clouds.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// public reports whether an address can be a subscriber's. The others are those of
// this machine, of private networks and of nobody.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedSpace.Contains(a)
}

// warnOfForwarded says that those behind one address are refused who may be many.
func (d *Door) warnOfForwarded(from string) {
	now, last := d.millis(), d.warnedForwarded.Load()
	if now-last >= warnEvery && d.warnedForwarded.CompareAndSwap(last, now) {
		d.log.Warn("joins are refused that say they were forwarded; if the address is a balancer's or a CDN's of yours, "+
			"name its networks in QUEUE_TRUSTED_PROXIES, or visitors behind it are turned away", "address", from, "policy", JoinsAddress)
	}
}

// clientKey is the key of a clientId, which may be longer than a key.
func clientKey(zoneID, clientID string) string {
	key := "client:" + zoneID + "/" + clientID
	if len(key) > limiter.MaxKey {
		sum := sha256.Sum256([]byte(key))
		key = "client:#" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return key
}
