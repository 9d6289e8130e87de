package guard_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const zoneID = "TEST_ZONE"

// room is a guard of a zone.
type room struct {
	guard *guard.Guard
	zone  zone.Settings
	clock *parts.Clock
	meter *meter
	logs  *bytes.Buffer
	limit *limiter.Limiter
}

func newRoom(policies ...limit.Policy) *room {
	r := &room{zone: zone.Defaults(zoneID), clock: parts.NewClock(), meter: &meter{}, logs: &bytes.Buffer{}}
	r.limit = limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{Now: r.clock.Now}), Now: r.clock.Now})
	r.use(policies...)
	r.guard = r.behind(r.limit)
	return r
}

// admits asks the guard about a newcomer to the zone.
func (r *room) admits(ctx context.Context, n guard.Newcomer) error {
	return r.guard.Admits(ctx, &r.zone, n)
}

// behind returns a guard with this limiter.
func (r *room) behind(l guard.Limiter) *guard.Guard {
	return guard.New(guard.Options{
		Limiter: l, Meter: r.meter,
		Trusted: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, Backends: []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25")},
		Logger: slog.New(slog.NewTextHandler(r.logs, nil)),
	})
}

func (r *room) use(policies ...limit.Policy) {
	var b limit.PolicySet
	for _, p := range policies {
		b = b.Put(p)
	}
	r.limit.Use(b)
}

// meter writes down what it is told.
type meter struct {
	mu   sync.Mutex
	seen []string
}

func (m *meter) JoinUnlimited(reason string) { m.note("unlimited " + reason) }
func (m *meter) ForwardedRefused()           { m.note("forwarded refused") }

func (m *meter) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, what)
}
