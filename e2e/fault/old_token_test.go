package fault

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestOldTokens: whoever stocked tokens that were used, given up or swept gets nothing
// for them by a restart or a loss of all data: no place before those who wait, and no
// second pass. Those who wait have their places, in order.
func TestOldTokens(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		redis bool
		lose  func(t *testing.T, e *engine, servers []*room.Server)
	}{
		"embedded store: stopped": {lose: func(t *testing.T, _ *engine, servers []*room.Server) {
			t.Helper()
			servers[0].Stop(t)
			servers[0].Launch(t)
		}},
		"embedded store: killed": {lose: func(t *testing.T, _ *engine, servers []*room.Server) {
			t.Helper()
			servers[0].Kill()
			servers[0].Launch(t)
		}},
		"two servers: FLUSHALL": {redis: true, lose: func(t *testing.T, e *engine, _ []*room.Server) {
			t.Helper()
			e.do(t, "FLUSHALL")
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e *engine
			servers := []*room.Server{}
			if tt.redis {
				e = startEngine(t)
				servers = append(servers, startServer(t, e.URL(), nil), startServer(t, e.URL(), nil))
			} else {
				servers = append(servers, startServer(t, "", nil))
			}
			z := zone.Defaults("SALE")
			// A window at once: those who do not poll meanwhile must not fall silent.
			z.PerMinute, z.IdleTimeoutSeconds, z.MaxPerSecond = 50, 5, zone.PerSecondNone
			z.KeepPlaceSeconds = 0 // a token that was swept is worth nothing
			s := newSale(t, z, servers)
			stock := s.stock(t)
			honest := s.join(t, "honest", 10)

			tt.lose(t, e, servers)
			// A token that is polled at one server before another has told the store who departed
			// may stand in the line until then, a second at most, in which nobody can enter.
			room.Await(t, "no old token stands in the line", func() bool {
				stands := false
				for _, token := range stock {
					got := s.poll(t, token)
					if got.CanEnter && !s.passes[got.Admission.Pass] {
						t.Fatalf("an old token got %+v", got)
					}
					stands = stands || got.Waiting.Position > 0
				}
				return !stands
			})
			for range 2 { // the first poll puts back, the second compares
				for i := range honest {
					honest[i] = s.poll(t, honest[i].Token)
				}
			}
			for i, got := range honest {
				if got.Waiting.Position != int64(i+1) {
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

func newSale(t *testing.T, z zone.Settings, servers []*room.Server) *sale {
	t.Helper()
	s := &sale{web: newBalancer(servers...), passes: map[string]bool{}}
	t.Cleanup(s.web.close)
	servers[0].Put(t, z, servers[1:]...)
	return s
}

// join has some line up, or go in.
func (s *sale) join(t *testing.T, who string, n int) (all []room.Answer) {
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
func (s *sale) poll(t *testing.T, token string) room.Answer {
	t.Helper()
	var got room.Answer
	room.Await(t, "the token is answered", func() bool {
		var err error
		got, err = s.web.poll(t.Context(), "SALE", token)
		refused := (*refusal)(nil)
		return err == nil || errors.As(err, &refused) && refused.code == codeExpired
	})
	return got
}

// stock returns fifteen tokens that are worth nothing: five were used, five given up,
// five swept. The first and the newest token of each. Nobody is admitted after that.
func (s *sale) stock(t *testing.T) (tokens []string) {
	t.Helper()
	server := s.web.servers[0]
	s.join(t, "first", 5)
	used, left, swept := s.join(t, "used", 5), s.join(t, "left", 5), s.join(t, "swept", 5)
	for _, all := range [][]room.Answer{used, left, swept} {
		for _, v := range all {
			tokens = append(tokens, v.Token)
		}
	}
	room.Await(t, "five are in", func() bool {
		in := 0
		for i := range used {
			if !used[i].CanEnter {
				used[i] = s.poll(t, used[i].Token)
			}
			if used[i].CanEnter {
				s.passes[used[i].Admission.Pass] = true
				in++
			}
		}
		return in == len(used)
	})
	hold(t, server, "SALE")
	room.Await(t, "five were swept, while five others kept polling", func() bool {
		for i := range left {
			left[i] = s.poll(t, left[i].Token)
		}
		return strings.Contains(server.Admin(t, http.MethodGet, "/admin/zones/SALE/stats", "").Body, `"swept":5`)
	})
	for _, v := range left {
		tokens = append(tokens, v.Token)
		if r := room.Request(t, http.MethodPost, server.Public+"/traffic/leave", `{"zoneId":"SALE","token":"`+v.Token+`"}`); r.Status != http.StatusNoContent {
			t.Fatalf("leave: %+v", r)
		}
	}
	for _, v := range used {
		tokens = append(tokens, v.Token)
	}
	return tokens
}
