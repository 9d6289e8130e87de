package fault

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// brakeWithin is how soon a pause must be in force (G12).
const brakeWithin = time.Second

// TestTheBrakeWithABrokenRedis: whatever is wrong with Redis, the server that is told
// to pause lets nobody in after a second, and says if that is not kept; when Redis is
// well again, the pause is in force everywhere, and in the record.
func TestTheBrakeWithABrokenRedis(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		breaks, mends func(t *testing.T, e *engine)
		// kept: Redis takes the pause all the same.
		kept bool
	}{
		"hung": {
			breaks: func(_ *testing.T, e *engine) { e.hang() }, mends: func(_ *testing.T, e *engine) { e.goOn() },
		},
		"killed": {
			breaks: func(_ *testing.T, e *engine) { e.Kill() }, mends: func(t *testing.T, e *engine) { t.Helper(); e.start(t) },
		},
		// What it says when its own disk is full, in other words.
		"refuses writes": {
			breaks: func(t *testing.T, e *engine) { t.Helper(); e.do(t, "CONFIG", "SET", "min-replicas-to-write", "1") },
			mends:  func(t *testing.T, e *engine) { t.Helper(); e.do(t, "CONFIG", "SET", "min-replicas-to-write", "0") },
		},
		"a replica": {
			breaks: func(t *testing.T, e *engine) { t.Helper(); e.do(t, "REPLICAOF", "127.0.0.1", "1") },
			mends:  func(t *testing.T, e *engine) { t.Helper(); e.do(t, "REPLICAOF", "NO", "ONE") },
		},
		"has no memory left": {
			breaks: func(t *testing.T, e *engine) { t.Helper(); e.do(t, "CONFIG", "SET", "maxmemory", "1") },
			mends:  func(t *testing.T, e *engine) { t.Helper(); e.do(t, "CONFIG", "SET", "maxmemory", "0") },
			kept:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t)
			one, two := startServer(t, serverOptions{redisURL: e.url()}), startServer(t, serverOptions{redisURL: e.url()})
			z := zone.Defaults("SHOP")
			z.Mode, z.OnStoreFailure = zone.ModeOpen, zone.FailureAdmit // so that a server admits alone soon
			one.put(t, z)
			await(t, settleTimeout, "both servers know the zone", func() bool { return two.knows(t.Context(), "SHOP") })
			if !one.letsIn(t) || !two.letsIn(t) {
				t.Fatal("nobody is let in before")
			}
			tt.breaks(t, e)
			if !tt.kept {
				await(t, settleTimeout, "the server admits by itself", func() bool { return one.letsIn(t) })
			}

			pause, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, one.operators+"/admin/zones/SHOP", strings.NewReader(`{"mode":"queue","perMinute":0}`))
			if err != nil {
				t.Fatal(err)
			}
			pause.Header.Set("Authorization", "Bearer "+operatorToken)
			begun := time.Now()
			answered := make(chan string)
			go func() {
				// A hung Redis is waited for longer than a visitor would.
				res, err := (&http.Client{Timeout: settleTimeout, Transport: &http.Transport{DisableKeepAlives: true}}).Do(pause)
				if err != nil {
					answered <- err.Error()
					return
				}
				_ = res.Body.Close()
				answered <- fmt.Sprint(res.StatusCode, " ", res.Header.Get("Warning"))
			}()
			await(t, settleTimeout, "a second passes", func() bool { return time.Since(begun) >= brakeWithin })
			for range 20 {
				if one.letsIn(t) {
					t.Error("somebody is let in a second after the pause")
				}
			}
			if got, warns := <-answered, `199 queue-server "in force on this server, but not kept: `; !strings.HasPrefix(got, "200 ") || strings.Contains(got, warns) == tt.kept {
				t.Errorf("the answer: %s", got)
			}

			tt.mends(t, e)
			await(t, settleTimeout, "the pause is on the other server, and in the record", func() bool {
				_, settings, _ := two.get(t.Context(), two.operators+"/admin/zones/SHOP")
				_, record, _ := two.get(t.Context(), two.operators+"/admin/audit?limit=1")
				return strings.Contains(settings, `"perMinute":0`) && strings.Contains(record, `"perMinute":0`)
			})
			await(t, settleTimeout, "all is kept", func() bool {
				_, figures, _ := one.get(t.Context(), one.operators+"/metrics")
				return strings.Contains(figures, "\nqueue_store_unsaved 0\n")
			})
			if one.letsIn(t) || two.letsIn(t) {
				t.Error("somebody is let in afterwards")
			}
		})
	}
}

// TestConnectionsShutNobodyOut: more of them than the server may have files open, idle
// or with a header that does not end, keep neither operators nor visitors out.
func TestConnectionsShutNobodyOut(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"idle":              "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"unfinished header": "POST /traffic/wait HTTP/1.1\r\nHost: x\r\nX-A: ",
		"nothing sent":      "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, serverOptions{under: []string{"sh", "-c", `ulimit -n 100; exec "$0" "$@"`}})
			z := zone.Defaults("SHOP")
			s.put(t, z)
			for range 110 {
				c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.public, "http://"))
				if err != nil {
					continue // closed at once, before the client saw it open
				}
				t.Cleanup(func() { _ = c.Close() })
				_, _ = io.WriteString(c, sent) // who is closed already has sent in vain
			}
			s.hold(t, "SHOP") // an operator, at once
			s.operate(t, http.MethodPatch, "SHOP", `{"perMinute":600}`, http.StatusOK)
			// Within the 5 s in which a header must end by itself.
			await(t, 3*time.Second, "a visitor is let in", func() bool { return s.letsIn(t) })
		})
	}
}

// letsIn reports whether somebody new is let in.
func (s *server) letsIn(t *testing.T) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.public+"/traffic/wait", strings.NewReader(`{"zoneId":"SHOP"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := s.do(req)
	return err == nil && strings.Contains(body, `"canEnter":true`)
}
