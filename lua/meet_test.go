package lua

import (
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
)

// inn is a Redis where servers meet, and a clock.
type inn struct {
	*testing.T
	store *Store
	clock *conformance.Clock
}

func newInn(t *testing.T) *inn {
	t.Helper()
	clock := conformance.NewClock()
	return &inn{T: t, store: openStore(t, clock.Now), clock: clock}
}

// guest is a server with these secrets, the one that signs first. It has not met the
// others yet.
func (n *inn) guest(secrets ...string) *Store {
	n.Helper()
	s, err := openOn(n.store.client, Options{Prefix: n.store.prefix, Now: n.clock.Now})
	if err != nil {
		n.Fatal(err)
	}
	s.timeouts, s.guest = n.store.timeouts, newGuest(secrets)
	return s
}

// meets has a server meet the others, and fails the test unless it is among them, or
// a stranger.
func (n *inn) meets(s *Store, stranger bool) {
	n.Helper()
	if err := s.meet(n.Context()); err != nil {
		n.Fatal(err)
	}
	for name, err := range map[string]error{"strange": s.Strange(), "ping": s.Ping(n.Context())} {
		if stranger != errors.Is(err, line.ErrSecrets) || !stranger && err != nil {
			n.Errorf("%s: %v, stranger %t", name, err, stranger)
		}
	}
}

// TestServersWithOtherSecrets: it is the newcomer who is kept out, however often it
// tries, and it writes nothing; until the others have left, or were not heard of.
func TestServersWithOtherSecrets(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(n *inn, s *Store){
		"stopped": func(_ *inn, s *Store) { s.part() },
		"killed":  func(n *inn, _ *Store) { n.clock.Add(hereFor + time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInn(t)
			a, b := n.guest("one"), n.guest("other")
			n.meets(a, false)
			for range 20 {
				before := n.store.snapshot(t)
				n.meets(b, true)
				if keys := changed(before, n.store.snapshot(t)); len(keys) > 0 {
					t.Errorf("changed: %v", keys)
				}
				n.clock.Add(meetEvery)
				n.meets(a, false)
			}
			n.clock.Add(hereFor)
			n.meets(b, true)
			leave(n, a)
			n.meets(b, false)
			n.meets(n.guest("one"), true)
			if servers := n.store.client.HLen(t.Context(), n.store.serversKey()).Val(); servers != 1 {
				t.Errorf("%d servers are here, want 1", servers)
			}
		})
	}
}

// TestRotation: in the documented rounds, over any number of servers, each of which
// is replaced by one with the next round's secrets, nobody is kept out. A round that
// is left out stops at the first server.
func TestRotation(t *testing.T) {
	t.Parallel()
	rounds := [][]string{{"old"}, {"old", "new"}, {"new", "old"}, {"new"}}
	n := newInn(t)
	servers := []*Store{n.guest(rounds[0]...), n.guest(rounds[0]...), n.guest(rounds[0]...)}
	for i, secrets := range rounds {
		for j := range servers {
			for _, s := range servers {
				n.meets(s, false)
			}
			if i > 0 {
				servers[j].part()
				servers[j] = n.guest(secrets...)
			}
			n.clock.Add(meetEvery)
		}
		for k, skips := range rounds {
			next := n.guest(skips...)
			fits := k >= i-1 && k <= i+1
			n.meets(next, !fits)
			next.part()
		}
	}
}

// TestClockSetBack: of a server that was here in the future nobody hears any more.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	n := newInn(t)
	n.meets(n.guest("one"), false)
	n.clock.Add(-time.Hour)
	n.meets(n.guest("other"), false)
}
