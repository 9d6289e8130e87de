package fault

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
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
			one, two := startServer(t, e.URL(), nil), startServer(t, e.URL(), nil)
			z := zone.Defaults("SHOP")
			z.Mode, z.OnStoreFailure = zone.ModeOpen, zone.FailureAdmit // so that a server admits alone soon
			one.Put(t, z, two)
			if !letsIn(t, one) || !letsIn(t, two) {
				t.Fatal("nobody is let in before")
			}
			tt.breaks(t, e)
			if !tt.kept {
				room.Await(t, "the server admits by itself", func() bool { return letsIn(t, one) })
			}

			begun := time.Now()
			answered := make(chan room.Reply)
			go func() { // a hung Redis is waited for longer than a visitor would
				r, _ := room.Ask(t.Context(), nil, http.MethodPatch, one.Operators+"/admin/zones/SHOP", `{"mode":"queue","perMinute":0}`,
					"Authorization", "Bearer "+room.OperatorToken, "X-Operator", "olga")
				answered <- r
			}()
			room.Await(t, "a second passes", after(brakeWithin+slack()))
			for range 20 {
				if letsIn(t, one) {
					t.Error("somebody is let in a second after the pause")
				}
			}
			got := <-answered
			if warned := strings.Contains(got.Header.Get("Warning"), "in force on this server, but not kept: "); got.Status != http.StatusOK || warned == tt.kept {
				t.Errorf("after %v the answer is %+v", time.Since(begun), got)
			}

			tt.mends(t, e)
			room.Await(t, "the pause is on the other server, and in the record", func() bool {
				return strings.Contains(two.Admin(t, "GET", "/admin/zones/SHOP", "").Body, `"perMinute":0`) &&
					strings.Contains(two.Admin(t, "GET", "/admin/audit?limit=1", "").Body, `"perMinute":0`)
			})
			room.Await(t, "all is kept", func() bool {
				return strings.Contains(room.Request(t, "GET", one.Operators+"/metrics", "").Body, "\nqueue_store_unsaved 0\n")
			})
			if letsIn(t, one) || letsIn(t, two) {
				t.Error("somebody is let in afterwards")
			}
		})
	}
}

// TestConnectionsShutNobodyOut: more of them than the server may have files open keep no operator out, and those with a
// header that does not end no visitor either. (Idle ones of one address are bounded; those of this machine, as of a
// proxy, are not, and are closed after 75 s.)
func TestConnectionsShutNobodyOut(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"idle":              "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"unfinished header": "POST /traffic/wait HTTP/1.1\r\nHost: x\r\nX-A: ",
		"nothing sent":      "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := room.New(t, settings("", nil))
			s.Name, s.Args = "sh", append([]string{"-c", `ulimit -n 100; exec "$0" "$@"`, s.Name}, s.Args...)
			s.Launch(t)
			s.Put(t, zone.Defaults("SHOP"))
			for range 110 {
				c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.Public, "http://"))
				if err != nil {
					continue // closed at once, before the client saw it open
				}
				t.Cleanup(func() { _ = c.Close() })
				_, _ = io.WriteString(c, sent) // who is closed already has sent in vain
			}
			hold(t, s, "SHOP") // an operator, at once
			s.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":600}`)
			if name != "idle" { // the others are closed after 5 s
				room.Await(t, "a visitor is let in", func() bool { return letsIn(t, s) })
			}
			s.Stop(t)
		})
	}
}

// letsIn reports whether a server lets somebody new in.
func letsIn(t *testing.T, s *room.Server) bool {
	t.Helper()
	r, err := room.Ask(t.Context(), nil, http.MethodPost, s.Public+"/traffic/wait", `{"zoneId":"SHOP"}`)
	return err == nil && strings.Contains(r.Body, `"canEnter":true`)
}
