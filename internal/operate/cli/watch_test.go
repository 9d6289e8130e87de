package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve/problem"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWatchSurvivesARestart: it says that the server does not answer, and goes
// on when it does again.
func TestWatchSurvivesARestart(t *testing.T) {
	var mu sync.Mutex
	answer := "stats"
	set := func(next string) { mu.Lock(); defer mu.Unlock(); answer = next }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch answer {
		case "stats":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"zoneId":"Z","mode":"queue","perMinute":600,"waiting":1}`)
		case "gone":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"unauthorized"}`)
		}
	}))
	defer server.Close()
	out, errOut := newText(), newText()
	status := make(chan int, 1)
	go func() {
		status <- execute(t.Context(), []string{"zones", "watch", "Z", "--every=100ms", "--admin-url", server.URL}, &Terminal{
			Getenv: withToken, Stdout: out, Stderr: errOut,
		})
	}()
	out.await(t, `"zoneId":"Z","stats":{`)
	set("gone")
	errOut.await(t, "Trying again\n")
	set("stats")
	errOut.await(t, "the server answers again, after 0 s\n")
	set("refused")
	if got := <-status; got != ExitRefused {
		t.Errorf("status %d when the token is refused, want %d: %s", got, ExitRefused, errOut.string())
	}
	if n := strings.Count(errOut.string(), "Trying again"); n != 1 {
		t.Errorf("said %d times that it tries again:\n%s", n, errOut.string())
	}
}

// text is what a command has printed so far.
type text struct {
	mu   sync.Mutex
	more *sync.Cond
	all  bytes.Buffer
}

func newText() *text {
	x := &text{}
	x.more = sync.NewCond(&x.mu)
	return x
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.more.Broadcast()
	return x.all.Write(p)
}

func (x *text) string() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.String()
}

// await waits until the text holds want, for as long as tests may take.
func (x *text) await(t *testing.T, want string) {
	t.Helper()
	late := time.AfterFunc(time.Minute, x.more.Broadcast)
	defer late.Stop()
	begun := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !strings.Contains(x.all.String(), want) {
		if time.Since(begun) >= time.Minute {
			t.Fatalf("no %q in\n%s", want, x.all.String())
		}
		x.more.Wait()
	}
}

// TestWatchDraws: on a terminal a picture is drawn over the one before, fits the
// window, and leaves the cursor where it was found.
func TestWatchDraws(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, map[string]string{
			"/admin/zones":                 `{"zones":[{"zoneId":"TEST_ZONE"},{"zoneId":"TICKETS"}]}`,
			"/admin/zones/TEST_ZONE/stats": `{"zoneId":"TEST_ZONE","mode":"closed","perMinute":10,"windowLimit":1}`,
			"/admin/zones/TICKETS/stats":   `{"zoneId":"TICKETS","mode":"queue","perMinute":600,"windowLimit":60}`,
		}[r.URL.Path])
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out := newText()
	status := make(chan int, 1)
	go func() {
		status <- execute(ctx, []string{"zones", "watch", "--every=100ms", "--admin-url", server.URL}, &Terminal{
			Getenv: withToken, Stdout: out, Stderr: io.Discard,
			Screen: func() (int, int, bool) { return 66, 24, true },
		})
	}()
	out.await(t, "\n"+clearScreen)
	cancel()
	if got := <-status; got != ExitOK {
		t.Errorf("status %d when the operator has seen enough, want 0", got)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(out.string(), clearScreen), clearScreen)
	picture := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  http://\S+`).ReplaceAllString(first, "11:59:00  http://server")
	if want := `
11:59:00  http://server  every 100ms, Ctrl-C ends it

ZONE       STATE   WAITING  WINDOW  IN 60 S  USE  ESTIMATE  JOINS/
TEST_ZONE  closed  0        0/1     0/10     0 %  0 s       -     
TICKETS    queue   0        0/60    0/600    0 %  0 s       -     
`[1:]; picture != want {
		t.Errorf("got\n%swant\n%s", picture, want)
	}
}

func TestWatchTable(t *testing.T) {
	t.Parallel()
	rate := 1234.5
	got := strings.Join(watchTable([]zoneView{
		{zoneID: "TICKETS", stats: adminclient.Reply[adminclient.Stats]{Value: adminclient.Stats{
			Mode: zone.ModeQueue, Waiting: 1_234_567, Overdue: 12, AdmittedInWindow: 6000, WindowLimit: 6000,
			AdmittedInMinute: 59_999, PerMinute: 60_000, WindowUse: 1, EstimatedWait: 1_234_000, Rates: operator.Rates{JoinsPerMinute: &rate, PollsPerSecond: &rate},
		}}},
		{zoneID: "PAUSED", stats: adminclient.Reply[adminclient.Stats]{Value: adminclient.Stats{Mode: zone.ModeQueue}}},
		{zoneID: "DELETED", err: &adminclient.ProblemError{Problem: problem.Problem{Status: 404, Code: "zone_unknown"}}},
		{zoneID: "AWAY", err: &adminclient.ProblemError{Problem: problem.Problem{Status: 503, Code: "store_unavailable"}}},
	}).lines(), "\n") + "\n"
	if want := `
ZONE     STATE       WAITING    WINDOW       IN 60 S        USE    ESTIMATE     JOINS/M  POLLS/S  OVERDUE  INSIDE
TICKETS  queue       1,234,567  6,000/6,000  59,999/60,000  100 %  20 min 34 s  1,235    1,235    12       -
`[1:]; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, word := range []string{"paused", "deleted", "store away", "20 min 34 s", "1,234,567"} {
		if !strings.Contains(got, word) {
			t.Errorf("no %q in\n%s", word, got)
		}
	}
}

// TestWatchDrawsWhatFits: on a small terminal, a line says that there are more zones; in an outage, the old figures stay.
func TestWatchDrawsWhatFits(t *testing.T) {
	t.Parallel()
	client, err := adminclient.New(adminclient.Options{URL: "http://127.0.0.1:8081"})
	if err != nil {
		t.Fatal(err)
	}
	at, out := time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC), newText()
	w := &watcher{
		session: &session{Client: client, connection: &connection{Terminal: &Terminal{Stdout: out}}}, every: time.Second,
		last: []zoneView{{zoneID: "A"}, {zoneID: "B"}, {zoneID: "C"}}, away: at.Add(-65 * time.Second),
	}
	w.draw(at, 80, 6)
	lines := strings.Split(strings.TrimPrefix(out.string(), clearScreen), "\n")
	if len(lines) != 6 || lines[1] != "NO ANSWER for 1 min 05 s, trying again; these figures are old" ||
		lines[4] != "and more; name those that you want to see" {
		t.Errorf("%q", lines)
	}
	for _, text := range lines {
		if n := utf8.RuneCountInString(text); n > 80 {
			t.Errorf("%d columns: %s", n, text)
		}
	}
}
