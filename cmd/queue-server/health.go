package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// readyTimeout is how long the store may take to say that it is there:
	// longer than any call that a visitor would wait for.
	readyTimeout = 500 * time.Millisecond
	// readyMaxAge lets any number of balancers ask without load on the store.
	readyMaxAge = 200 * time.Millisecond
)

// errDraining: the server goes on answering, but wants no new connections.
var errDraining = errors.New("draining")

// health knows whether this server should get traffic.
type health struct {
	ping func(context.Context) error
	// alone is how many zones this server admits to while the store is away.
	alone    func(context.Context) int
	now      func() time.Time
	draining atomic.Bool

	mu   sync.Mutex
	at   time.Time // of the latest ping
	last error
}

func newHealth(ping func(context.Context) error, alone func(context.Context) int) *health {
	return &health{ping: ping, alone: alone, now: time.Now}
}

// drain has ready refuse from now on.
func (h *health) drain() { h.draining.Store(true) }

// ready returns nil if this server and its store can serve; else errDraining or
// the store's error. Those who ask together share one ping.
func (h *health) ready(ctx context.Context) error {
	if h.draining.Load() {
		return errDraining
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && h.now().Sub(h.at) < readyMaxAge {
		return h.last
	}
	// The answer is for all who ask, so it does not end with one of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	h.last = h.ping(ctx)
	h.at = h.now()
	return h.last
}

// asksForTraffic reports what /readyz would say: that the store answers, or that
// there is a zone to which this server admits without it.
func (h *health) asksForTraffic(ctx context.Context) bool {
	err := h.ready(ctx)
	return err == nil || !errors.Is(err, errDraining) && !unfit(err) && h.alone(ctx) > 0
}

// unfit reports whether the store answers, and this server must not serve it.
func unfit(err error) bool { return errors.Is(err, line.ErrSecrets) || errors.Is(err, line.ErrFormat) }
