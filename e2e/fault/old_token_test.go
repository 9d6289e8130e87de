package fault

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestOldTokens: whoever stocked tokens that were used, given up or swept gets nothing
// for them by a restart or a loss of all data: no place before those who wait, and no
// second pass. Those who wait have their places, in order.
func TestOldTokens(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		redis bool
		lose  func(t *testing.T, e *engine, servers []*server)
	}{
		"embedded store: stopped": {lose: func(t *testing.T, _ *engine, servers []*server) {
			t.Helper()
			servers[0].stop(t)
			servers[0].start(t)
		}},
		"embedded store: killed": {lose: func(t *testing.T, _ *engine, servers []*server) {
			t.Helper()
			servers[0].Kill()
			servers[0].start(t)
		}},
		"two servers: FLUSHALL": {redis: true, lose: func(t *testing.T, e *engine, _ []*server) {
			t.Helper()
			e.do(t, "FLUSHALL")
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e *engine
			servers := []*server{}
			if tt.redis {
				e = startEngine(t)
				servers = append(servers, startServer(t, serverOptions{redisURL: e.url()}), startServer(t, serverOptions{redisURL: e.url()}))
			} else {
				servers = append(servers, startServer(t, serverOptions{}))
			}
			z := zone.Defaults("SALE")
			// A window at once: those who do not poll meanwhile must not fall silent.
			z.PerMinute, z.IdleTimeoutSeconds, z.MaxPerSecond = 50, 5, zone.PerSecondNone
			s := newSale(t, z, servers)
			stock := s.stock(t)
			honest := s.join(t, "honest", 10)

			tt.lose(t, e, servers)
			// A token that is polled at one server before another has told the store who departed
			// may stand in the line until then, a second at most, in which nobody can enter.
			await(t, settleTimeout, "no old token stands in the line", func() bool {
				stands := false
				for _, token := range stock {
					got := s.poll(t, token)
					if got.pass != "" && !s.passes[got.pass] {
						t.Fatalf("an old token got %+v", got)
					}
					stands = stands || got.position > 0
				}
				return !stands
			})
			for range 2 { // the first poll puts back, the second compares
				for i := range honest {
					honest[i] = s.poll(t, honest[i].token)
				}
			}
			for i, got := range honest {
				if got.position != int64(i+1) {
					t.Errorf("number %d of those who waited got %+v", i+1, got)
				}
			}
		})
	}
}

// sale is a zone over HTTP, and who goes through it.
type sale struct {
	web *balancer
	// passes are all that there were.
	passes map[string]bool
	all    int
}

func newSale(t *testing.T, z zone.Settings, servers []*server) *sale {
	t.Helper()
	s := &sale{web: newBalancer(servers...), passes: map[string]bool{}}
	t.Cleanup(s.web.close)
	servers[0].put(t, z)
	for _, server := range servers {
		await(t, settleTimeout, "every server knows the zone", func() bool { return server.knows(t.Context(), z.ZoneID) })
	}
	return s
}

// join has some line up, or go in.
func (s *sale) join(t *testing.T, who string, n int) (all []told) {
	t.Helper()
	for range n {
		s.all++
		got, err := s.web.join(t.Context(), "SALE", fmt.Sprintf("%s %d", who, s.all))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got)
	}
	return all
}

// poll returns what the token is good for: nothing, if it has expired.
func (s *sale) poll(t *testing.T, token string) told {
	t.Helper()
	var got told
	await(t, settleTimeout, "the token is answered", func() bool {
		var err error
		got, err = s.web.poll(t.Context(), "SALE", token)
		refused := (*refusal)(nil)
		return err == nil || errors.As(err, &refused) && refused.code == codeExpired
	})
	return got
}

// stock returns fifteen tokens that are worth nothing: five were used, five given up,
// five swept. The first and the newest token of each. Nobody is let in after that.
func (s *sale) stock(t *testing.T) (tokens []string) {
	t.Helper()
	server := s.web.servers[0]
	s.join(t, "first", 5)
	used, left, swept := s.join(t, "used", 5), s.join(t, "left", 5), s.join(t, "swept", 5)
	for _, all := range [][]told{used, left, swept} {
		for _, v := range all {
			tokens = append(tokens, v.token)
		}
	}
	await(t, settleTimeout, "five are in", func() bool {
		in := 0
		for i := range used {
			if used[i].pass == "" {
				used[i] = s.poll(t, used[i].token)
			}
			if used[i].pass != "" {
				s.passes[used[i].pass] = true
				in++
			}
		}
		return in == len(used)
	})
	server.hold(t, "SALE")
	await(t, settleTimeout, "five were swept, while five others kept polling", func() bool {
		for i := range left {
			left[i] = s.poll(t, left[i].token)
		}
		_, stats, err := server.get(t.Context(), server.operators+"/admin/zones/SALE/stats")
		return err == nil && strings.Contains(stats, `"swept":5`)
	})
	for _, v := range left {
		tokens = append(tokens, v.token)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.public+"/traffic/leave",
			strings.NewReader(`{"zoneId":"SALE","token":"`+v.token+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if status, text, err := server.do(req); err != nil || status != http.StatusNoContent {
			t.Fatalf("leave: %d %s %v", status, text, err)
		}
	}
	for _, v := range used {
		tokens = append(tokens, v.token)
	}
	return tokens
}

// TestFirstTokens: a client that keeps its first token is vouched for by the servers
// that it polls. Where they remember nobody (--door-limits off), it has lost its place
// once the token is older than the idle timeout.
func TestFirstTokens(t *testing.T) {
	t.Parallel()
	for limits, kept := range map[string]int{"on": 10, "off": 0} {
		t.Run("door limits "+limits, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t)
			o := serverOptions{redisURL: e.url(), more: []string{"--door-limits", limits}}
			z := zone.Defaults("SALE")
			z.PerMinute, z.IdleTimeoutSeconds = 0, 5
			s := newSale(t, z, []*server{startServer(t, o), startServer(t, o)})
			first := s.join(t, "first", 10)
			began := time.Now()
			old := func() bool { return time.Since(began) > 2*z.IdleTimeout() }
			await(t, settleTimeout, "the first tokens are old", func() bool {
				for _, v := range first {
					for range s.web.servers { // the balancer asks them in turn
						s.poll(t, v.token)
					}
				}
				return old()
			})
			e.do(t, "FLUSHALL")
			there := 0
			for _, v := range first {
				if s.poll(t, v.token).position > 0 {
					there++
				}
			}
			if there != kept {
				t.Errorf("%d of %d have their places, want %d", there, len(first), kept)
			}
		})
	}
}
