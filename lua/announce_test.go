package lua

import (
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
)

// peers is a Redis that servers share, and a clock.
type peers struct {
	*testing.T
	store *Store
	clock *conformance.Clock
}

func newPeers(t *testing.T) *peers {
	t.Helper()
	clock := conformance.NewClock()
	return &peers{T: t, store: openStore(t, clock.Now), clock: clock}
}

// server is one with these secrets, the one that signs first. It has not announced
// itself yet.
func (n *peers) server(secrets ...string) *Store {
	n.Helper()
	s, err := openOn(n.store.client, Options{Prefix: n.store.prefix, Now: n.clock.Now})
	if err != nil {
		n.Fatal(err)
	}
	s.timeouts, s.announced = n.store.timeouts, newAnnouncement(secrets)
	return s
}

// announces has a server announce itself, and fails the test unless it is among them, or
// a stranger.
func (n *peers) announces(s *Store, stranger bool) {
	n.Helper()
	if err := s.announce(n.Context()); err != nil {
		n.Fatal(err)
	}
	for name, err := range map[string]error{"strange": s.SecretsDiffer(), "ping": s.Ping(n.Context())} {
		if stranger != errors.Is(err, line.ErrSecrets) || !stranger && err != nil {
			n.Errorf("%s: %v, stranger %t", name, err, stranger)
		}
	}
}

// TestServersWithOtherSecrets: it is the newcomer who is kept out, however often it
// tries, and it writes nothing; until the others have left, or were not heard of.
func TestServersWithOtherSecrets(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(n *peers, s *Store){
		"stopped": func(_ *peers, s *Store) { s.withdraw() },
		"killed":  func(n *peers, _ *Store) { n.clock.Add(hereFor + time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newPeers(t)
			a, b := n.server("one"), n.server("other")
			n.announces(a, false)
			n.announces(n.server("one"), false)
			if n.announces(a, false); a.Servers() != 2 || b.Servers() != 0 {
				t.Errorf("%d servers are here, want 2", a.Servers())
			}
			for range 20 {
				before := n.store.snapshot(t)
				n.announces(b, true)
				if keys := changed(before, n.store.snapshot(t)); len(keys) > 0 {
					t.Errorf("changed: %v", keys)
				}
				n.clock.Add(announceEvery)
				n.announces(a, false)
			}
			n.clock.Add(hereFor)
			n.announces(b, true)
			leave(n, a)
			n.announces(b, false)
			n.announces(n.server("one"), true)
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
	n := newPeers(t)
	servers := []*Store{n.server(rounds[0]...), n.server(rounds[0]...), n.server(rounds[0]...)}
	for i, secrets := range rounds {
		for j := range servers {
			for _, s := range servers {
				n.announces(s, false)
			}
			if i > 0 {
				servers[j].withdraw()
				servers[j] = n.server(secrets...)
			}
			n.clock.Add(announceEvery)
		}
		for k, skips := range rounds {
			next := n.server(skips...)
			fits := k >= i-1 && k <= i+1
			n.announces(next, !fits)
			next.withdraw()
		}
	}
}

// TestClockSetBack: of a server that was here in the future nobody hears any more.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	n := newPeers(t)
	n.announces(n.server("one"), false)
	n.clock.Add(-time.Hour)
	n.announces(n.server("other"), false)
}

// ownKey is a server's key of visitors' ids.
type ownKey []byte

func (k *ownKey) VisitorKey() []byte { return *k }

func (k *ownKey) UseVisitorKey(key []byte) error {
	*k = key
	return nil
}

// TestVisitorKeyIsShared: that of the first server is used by all, and is put back when Redis has lost it.
func TestVisitorKeyIsShared(t *testing.T) {
	t.Parallel()
	n := newPeers(t)
	a, b := n.server("one"), n.server("one")
	first, second := ownKey("first"), ownKey("second")
	a.visitors, b.visitors = &first, &second
	n.announces(a, false)
	n.announces(b, false)
	if string(second) != "first" {
		t.Errorf("the second server uses %q", second)
	}
	must(t, n.store.client.Del(t.Context(), n.store.visitorKeyKey()).Err())
	n.announces(b, false)
	third := ownKey("third")
	c := n.server("one")
	c.visitors = &third
	n.announces(c, false)
	if string(third) != "first" {
		t.Errorf("after a loss, a new server uses %q", third)
	}
}
