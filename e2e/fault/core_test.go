package fault

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

// core is what a server is without HTTP: the store and the registry, in the
// test's own process, where the race detector sees them.
type core struct {
	store *lua.Store
	zones *registry.Registry
}

func openCore(t *testing.T, redisURL string) *core {
	t.Helper()
	store, err := lua.Open(t.Context(), lua.Options{URL: redisURL})
	if err != nil {
		t.Fatal(err)
	}
	d := &core{store: store, zones: registry.New(registry.Options{Store: store})}
	d.zones.Start(t.Context())
	return d
}

func (d *core) close(t *testing.T) {
	t.Helper()
	d.zones.Stop()
	if err := d.store.Close(); err != nil {
		t.Error(err)
	}
}

// cores are several, asked in turn as behind a balancer.
type cores struct {
	all  []*core
	next atomic.Uint64
}

func (d *cores) any() *core { return d.all[d.next.Add(1)%uint64(len(d.all))] }

func (d *cores) join(ctx context.Context, zoneID, clientID string) (told, error) {
	sum := sha256.Sum256([]byte(clientID))
	a, err := d.any().zones.Join(ctx, zoneID, line.ID(sum[:8]))
	return tell(zoneID, a, err)
}

func (d *cores) poll(ctx context.Context, zoneID, tok string) (told, error) {
	p, err := coreKeys().Verify(zoneID, tok)
	if err != nil {
		return told{}, err
	}
	a, err := d.any().zones.Poll(ctx, zoneID, p)
	return tell(zoneID, a, err)
}

// coreKeys sign the tokens of all cores.
var coreKeys = sync.OnceValue(func() *token.Keys {
	keys, err := token.NewKeys(make([]byte, token.MinSecretBytes))
	if err != nil {
		panic(err)
	}
	return keys
})

// tell puts an answer as HTTP would.
func tell(zoneID string, a line.Answer, err error) (told, error) {
	switch {
	case errors.Is(err, line.ErrStoreUnavailable):
		after := time.Duration(1+rand.IntN(3)) * time.Second
		return told{}, &refusal{code: codeUnavailable, after: after, told: true, err: err}
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		return told{}, &refusal{code: codeUnknown, after: afterBreak, err: err}
	case err != nil:
		return told{}, err
	case a.Status == line.Gone:
		return told{}, &refusal{code: codeExpired, after: afterBreak, err: errors.New("gone")}
	}
	return told{
		token:    coreKeys().Sign(zoneID, a.Place),
		admitted: a.Status == line.Admitted || a.Status == line.AdmittedBefore,
		position: a.Position, period: time.Duration(a.PeriodMillis) * time.Millisecond,
		arrivedAtMicros: a.Place.ArrivedAtMicros, admittedAtMillis: a.AdmittedAtMillis,
	}, nil
}

// TestStoreUnderRace has one fault after the other hit the store in this
// process: for the race detector, and for goroutines that are left over.
func TestStoreUnderRace(t *testing.T) {
	t.Parallel()
	e := startEngine(t, "--appendonly", "yes")
	p := startProxy(t, e.addr())
	room := &cores{all: []*core{openCore(t, p.url()), openCore(t, p.url())}}
	z := busy("BUSY")
	s := &experiment{
		fault: "one after the other: cut, slow, hung, killed, emptied", zones: []zone.Settings{z},
		crowd: &crowd{room: room}, engines: []*engine{e},
		baseline: measureTimers(t.Context()),
		// The race detector's own, and that of the tests beside this one: how long things take is for
		// the faults on a machine of their own.
		slack: 10 * time.Second,
	}
	put := func(t testing.TB, z zone.Settings) {
		t.Helper()
		if _, err := room.all[0].zones.PutZone(t.Context(), z, nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.hold = func(t testing.TB, _ string) {
		t.Helper()
		none := z
		none.PerMinute = 0
		put(t, none)
	}
	s.stop = func(t *testing.T) {
		t.Helper()
		for _, d := range room.all {
			d.close(t)
		}
	}
	put(t, z)
	await(t, settleTimeout, "the other core knows the zone", func() bool {
		_, err := room.all[1].zones.Zone(t.Context(), z.ZoneID)
		return err == nil
	})
	s.fill(t, aThousand)
	s.breaks()
	for range 10 {
		e.do(t, "SCRIPT", "FLUSH")
		p.cut()
	}
	s.mends(time.Now())
	s.answered(t)
	p.slow(100 * time.Millisecond)
	s.mends(time.Now())
	s.answered(t)
	p.slow(0)
	e.hang()
	s.refusals(t, s.refused()+aCrowd/4)
	e.goOn()
	s.mends(time.Now())
	s.answered(t)
	e.Kill()
	s.refusals(t, s.refused()+aCrowd/4)
	e.start(t)
	s.mends(time.Now())
	s.answered(t)
	e.do(t, "FLUSHALL")
	s.mends(time.Now())
	s.settle(t)
	for _, d := range room.all {
		if err := d.store.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.finish(t)
}
