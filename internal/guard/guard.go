package guard

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Limiter decides.
type Limiter interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
}

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// JoinUnlimited counts one join that no address was counted for, by the reason:
	// one of Reasons.
	JoinUnlimited(reason string)
	// ForwardedRefused counts one join that was refused by its address and says that
	// it was forwarded, by a proxy that is not trusted: perhaps one of ours.
	ForwardedRefused()
}

// Options of a Guard. Lines, Remembered and Limiter are required.
type Options struct {
	// Lines is asked for what the guard does not know.
	Lines store.Lines
	// Remembered returns a zone's settings without asking the store, if they are
	// known.
	Remembered func(zoneID string) (zone.Settings, bool)
	// Limiter has the policies.
	Limiter Limiter
	// Trusted are the networks of the proxies in front.
	Trusted []netip.Prefix
	// Backends are the networks of those who join for their users, and are believed
	// what the body says of them.
	Backends []netip.Prefix
	// Meter may be nil.
	Meter Meter
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now. Only differences count.
	Now func() time.Time
}

// Guard is the first link of the chain: the rooms ask it. Its methods may be called from
// any number of goroutines.
type Guard struct {
	store.Viewer // who only looks is not guarded
	visitors     store.Visitors

	zones    *zones
	polls    *pollCache
	limiter  Limiter
	trusted  []netip.Prefix
	backends []netip.Prefix
	meter    Meter
	log      *slog.Logger
	now      func() time.Time
	epoch    time.Time

	// warnedPrivate: the log says that joins come from addresses that are nobody's;
	// warnedSilent, that a proxy of ours does not say for whom it asks.
	warnedPrivate, warnedSilent atomic.Bool
	// warnedForwarded is when the log last said that forwarded joins are refused, on
	// the guard's clock.
	warnedForwarded atomic.Int64
}

// New returns a Guard.
func New(o Options) *Guard {
	g := &Guard{
		Viewer: o.Lines, visitors: o.Lines, zones: newZones(o.Remembered), polls: newPollCache(), limiter: o.Limiter,
		trusted: o.Trusted, backends: o.Backends, meter: o.Meter, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
	}
	if g.meter == nil {
		g.meter = noMeter{}
	}
	g.epoch = time.Now()
	if g.now != nil {
		g.epoch = g.now()
	}
	g.warnedForwarded.Store(-warnEvery)
	return g
}

type noMeter struct{}

func (noMeter) JoinUnlimited(string) {}
func (noMeter) ForwardedRefused()    {}
