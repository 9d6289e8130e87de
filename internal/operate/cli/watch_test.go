package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWatch: on a terminal each table is drawn over the one before. The command goes on through a restart of the server, says
// which zone's store is away, and ends when the server refuses the token.
func TestWatch(t *testing.T) {
	t.Parallel()
	rounds := []string{"", "a proxy answers", "", "the token is refused"}
	round := -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, kind, body string) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
		const problem = "application/problem+json"
		switch r.URL.Path {
		case "/admin/zones":
			switch round++; rounds[round] {
			case "a proxy answers":
				answer(http.StatusBadGateway, "text/html", "<h1>")
			case "the token is refused":
				answer(http.StatusUnauthorized, problem, `{"code":"unauthorized"}`)
			default:
				answer(http.StatusOK, "application/json", `{"zones":[{"zoneId":"AWAY"},{"zoneId":"DELETED"},{"zoneId":"TICKETS"}]}`)
			}
		case "/admin/zones/AWAY/stats":
			answer(http.StatusServiceUnavailable, problem, `{"code":"store_unavailable"}`)
		case "/admin/zones/DELETED/stats":
			answer(http.StatusNotFound, problem, `{"code":"zone_unknown"}`)
		default:
			answer(http.StatusOK, "application/json",
				`{"zoneId":"TICKETS","mode":"queue","perMinute":600,"windowLimit":60,"waiting":1234567,"joinsPerMinute":1234.5}`)
		}
	}))
	defer server.Close()
	var out strings.Builder
	c := &connection{Terminal: &Terminal{Getenv: withToken, Stdout: &out, Stderr: io.Discard, Screen: true}, adminURL: server.URL}
	s, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time, len(rounds))
	for range rounds {
		ticks <- time.Time{}
	}
	if err := s.watch(t.Context(), nil, ticks); statusOf(err) != ExitRefused {
		t.Errorf("%v when the token is refused", err)
	}
	const table = `
ZONE     STATE       WAITING    WINDOW  IN 60 S  USE  ESTIMATE  JOINS/M  POLLS/S  OVERDUE  INSIDE
AWAY     store away  -          -       -        -    -         -        -        -        -
TICKETS  queue       1,234,567  0/60    0/600    0 %  0 s       1,235    -        0        -
`
	screens := strings.Split(out.String(), clearScreen)
	if len(screens) != 4 || "\n"+screens[1] != table || !strings.HasSuffix(screens[2], "\nTrying again.\n") || screens[3] != screens[1] {
		t.Errorf("drawn:\n%s\nwant\n%s", out.String(), table)
	}
}

// TestWatchJSON: the standard output has JSON alone, while the server is away, too.
func TestWatchJSON(t *testing.T) {
	t.Parallel()
	away := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away = !away; away {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"zoneId":"TICKETS"}`)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var out, said strings.Builder
	c := &connection{Terminal: &Terminal{Getenv: withToken, Stdout: &out, Stderr: &said, Screen: true}, adminURL: server.URL, json: true}
	s, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	go func() {
		defer cancel()
		for range 3 {
			ticks <- time.Time{}
		}
	}()
	if err := s.watch(ctx, []string{"TICKETS"}, ticks); err != nil {
		t.Error(err)
	}
	const line = `{"zoneId":"TICKETS"}` + "\n"
	if !strings.HasPrefix(out.String(), line+line) || strings.Contains(out.String(), "figures") || !strings.Contains(said.String(), "Trying again") {
		t.Errorf("printed %q, said %q", &out, &said)
	}
}

// TestWatchEnds: when the operator has seen enough, and at once where no server answers.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[int]context.Context{ExitOK: ctx, ExitUnreachable: t.Context()} {
		terminal := &Terminal{Getenv: withToken, Stdout: io.Discard, Stderr: io.Discard}
		if got := execute(ctx, []string{"zones", "watch", "--admin-url", "http://127.0.0.1:1"}, terminal); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
	}
}
