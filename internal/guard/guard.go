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

// Limiter decides whether a client is within its limits. *limiter.Limiter does.
type Limiter interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
}

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// JoinUnlimited counts one join that was not limited by address. reason is one of Reasons.
	JoinUnlimited(reason string)
	// ForwardedRefused counts one join that was refused by its address although a header says that a proxy forwarded
	// it. The proxy is not among the trusted ones, but may be the operator's.
	ForwardedRefused()
}

// Options of a Guard. Lines, Remembered and Limiter are required.
type Options struct {
	// Lines is the next link of the chain.
	Lines store.Lines
	// Remembered returns a zone's settings without asking the store, if they are
	// known.
	Remembered func(zoneID string) (zone.Settings, bool)
	// Limiter decides by the guard's policies.
	Limiter Limiter
	// Trusted are the networks of the proxies in front.
	Trusted []netip.Prefix
	// Backends are the networks of services that join for their users. The clientIp in their requests is believed.
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
	store.Viewer // calls that only look are not guarded
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

	// warnedPrivate: the log says already that joins come from addresses that are no visitor's. warnedSilent: it says
	// already that a trusted proxy does not say for whom it asks.
	warnedPrivate, warnedSilent atomic.Bool
	// warnedForwarded is when the log last said that forwarded joins are refused, in milliseconds on the guard's clock.
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
