package fault

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestOtherSecrets: of two servers on one Redis whose secrets differ, the one that
// came later is not ready, says why, and does not call good tokens invalid. The other
// goes on. When that one is gone, the one that waited serves.
func TestOtherSecrets(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	program := room.Program(t)
	first, env := prepareServer(t, e.url())
	first.become(t, program, env)
	first.awaitReady(t)
	first.put(t, busy("BUSY"))
	stranger, its := prepareServer(t, e.url())
	stranger.become(t, program, its.with("QUEUE_SECRET", otherSecret))
	await(t, startTimeout, "the stranger says why it is not ready", func() bool { return stranger.says(t, "QUEUE_SECRET") })

	there, here := newBalancer(stranger), newBalancer(first)
	t.Cleanup(there.close)
	t.Cleanup(here.close)
	place, err := here.join(t.Context(), "BUSY", "a")
	if err != nil {
		t.Fatal(err)
	}
	_, joined := there.join(t.Context(), "BUSY", "a")
	_, polled := there.poll(t.Context(), "BUSY", place.token)
	for call, err := range map[string]error{"join": joined, "poll": polled} {
		if r := (*refusal)(nil); !errors.As(err, &r) || r.code != codeUnavailable {
			t.Errorf("%s: %v, want %s, which keeps the place", call, err, codeUnavailable)
		}
	}
	if _, err := here.poll(t.Context(), "BUSY", place.token); err != nil || !first.ready() {
		t.Errorf("the server that was first: ready %t, %v", first.ready(), err)
	}
	for s, want := range map[*server]string{first: "queue_secrets_differ 0", stranger: "queue_secrets_differ 1"} {
		if status, text, err := s.get(t.Context(), s.operators+"/metrics"); err != nil || status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("metrics: %d %v, want %s", status, err, want)
		}
	}
	if n := strings.Count(stranger.Output(), "other servers of the store have other secrets"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	// Killed, so that it does not say that it leaves.
	first.Kill()
	await(t, 2*startTimeout, "the stranger is ready, since it is alone", stranger.ready)
	stranger.stop(t)
}

// TestRotationKeepsPlaces: in the documented rounds, with two servers that are
// replaced one after the other, every server is ready and every token good on both.
func TestRotationKeepsPlaces(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	program := room.Program(t)
	var servers []*server
	var envs []environment
	for range 2 {
		s, env := prepareServer(t, e.url())
		s.become(t, program, env)
		s.awaitReady(t)
		servers, envs = append(servers, s), append(envs, env)
	}
	z := busy("BUSY")
	z.PerMinute = 0
	servers[0].put(t, z)
	await(t, settleTimeout, "both know the zone", func() bool { return servers[1].knows(t.Context(), "BUSY") })
	web := newBalancer(servers...)
	t.Cleanup(web.close)
	var all []told
	check := func() {
		t.Helper()
		a, err := web.join(t.Context(), "BUSY", rand.Text())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
		for i, was := range all {
			for range servers {
				if a, err := web.poll(t.Context(), "BUSY", was.token); err != nil || a.arrivedAtMicros != was.arrivedAtMicros {
					t.Errorf("visitor %d of %d: %+v, %v", i+1, len(all), a, err)
				}
			}
		}
	}
	for _, round := range []string{secret + "," + newSecret, newSecret + "," + secret, newSecret} {
		if round == newSecret {
			all = nil // those of the old secret are no more, by then
		}
		for i, s := range servers {
			check()
			s.become(t, program, envs[i].with("QUEUE_SECRET", round))
			s.awaitReady(t)
			check()
		}
	}
	for _, s := range servers {
		s.stop(t)
	}
}

// TestNewerData: what a newer version has written, a server does not serve, and says
// so. It does not take the store for one that is away, either: the newer servers let
// visitors in, and another share on top would be too many.
func TestNewerData(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s, env := prepareServer(t, e.url())
	s.become(t, room.Program(t), env)
	s.awaitReady(t)
	z := busy("BUSY")
	z.OnStoreFailure = zone.FailureAdmit
	s.put(t, z)
	web := newBalancer(s)
	t.Cleanup(web.close)
	place, err := web.join(t.Context(), "BUSY", "a")
	if err != nil || !place.admitted {
		t.Fatalf("%+v, %v", place, err)
	}
	format := e.do(t, "HGET", "{BUSY}:zone", "format")
	e.do(t, "HSET", "{BUSY}:zone", "format", "99")
	await(t, startTimeout, "the server says why it is not ready", func() bool { return s.says(t, "newer version") })
	before := e.do(t, "HGETALL", "{BUSY}:zone")
	until := time.Now().Add(5 * time.Second) // the store counts as away after 3
	await(t, settleTimeout, "visitors are refused for a while", func() bool {
		_, joined := web.join(t.Context(), "BUSY", "b")
		_, polled := web.poll(t.Context(), "BUSY", place.token)
		for _, err := range []error{joined, polled} {
			if r := (*refusal)(nil); !errors.As(err, &r) || r.code != codeUnavailable {
				t.Fatalf("%v, want %s", err, codeUnavailable)
			}
		}
		return time.Now().After(until)
	})
	if after := e.do(t, "HGETALL", "{BUSY}:zone"); after != before {
		t.Errorf("the zone was %s, and is %s", before, after)
	}
	if n := strings.Count(s.Output(), `"level":"ERROR"`); n != 1 || !strings.Contains(s.Output(), "zone BUSY has format 99") {
		t.Errorf("the log has %d errors, want one that names the zone and its format", n)
	}
	e.do(t, "HSET", "{BUSY}:zone", "format", format)
	s.awaitReady(t)
	if a, err := web.poll(t.Context(), "BUSY", place.token); err != nil || a.admittedAtMillis != place.admittedAtMillis {
		t.Errorf("%+v, %v, want %+v", a, err, place)
	}
	s.stop(t)
}
