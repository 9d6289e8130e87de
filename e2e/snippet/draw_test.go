package snippet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/schedule"
)

// drawRoom is a queue-server whose event has a draw.
type drawRoom struct {
	program, url string
	process      *process.Process
}

// drawPath is where the draw is published.
const drawPath = "/traffic/zones/TICKETS/events/noon/draw"

// startDraw starts a server. People gather for five seconds, as soon as it is there.
func startDraw(t *testing.T) *drawRoom {
	t.Helper()
	dir := t.TempDir()
	r := &drawRoom{program: room.Program(t)}
	gathers := time.Now().Add(3 * time.Second).Truncate(time.Second)
	config := filepath.Join(dir, "queue.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `zones:
  - zoneId: TICKETS
    perMinute: 6000
    events:
      - {name: noon, preQueueAt: %s, opensAt: %s, order: draw, drawClosesSeconds: 25}
`, gathers.UTC().Format(time.RFC3339), gathers.Add(30*time.Second).UTC().Format(time.RFC3339)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--data-dir", filepath.Join(dir, "data"), "--config", config, "--drain-delay", "0s", "--door-limits", "off"}
	for _, flag := range []string{"--addr", "--admin-addr"} {
		port, err := process.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, process.Local(port))
	}
	r.url = "http://" + args[len(args)-3]
	r.process = &process.Process{Name: r.program, Args: args, Dir: dir, Env: append(os.Environ(), "QUEUE_ADMIN_TOKEN=zq8vKf2mWc5tLx9RbN4sQe7H")}
	ctx, end := context.WithCancel(context.Background())
	if err := r.process.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		if status, ended := r.process.Wait(process.StartTimeout); !ended || status != 0 || t.Failed() {
			t.Errorf("the server ended (%v) with status %d:\n%s", ended, status, r.process.Output())
		}
	})
	return r
}

// get returns an answer's body, "" if it is none of status 200.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// await asks until the answer has the text.
func (r *drawRoom) await(t *testing.T, path, text string) string {
	t.Helper()
	var got string
	if !process.Soon(t.Context(), time.Minute, 50*time.Millisecond, func() bool {
		got = get(t, r.url+path)
		return strings.Contains(got, text)
	}) {
		t.Fatalf("%s has no %q: %s", path, text, got)
	}
	return got
}

// join takes a place, and returns its token.
func (r *drawRoom) join(t *testing.T, n int) string {
	t.Helper()
	res, err := http.Post(r.url+"/traffic/wait", "application/json", strings.NewReader(
		fmt.Sprintf(`{"zoneId":"TICKETS","clientIp":"203.0.113.9","clientAgent":"WEB","clientId":"c%d"}`, n)))
	if err != nil {
		t.Fatal(err)
	}
	var place struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&place); err != nil || res.Body.Close() != nil || place.Token == "" {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	return place.Token
}

// TestDrawProgram has a server draw, and the program of docs/events.md and queue-server
// itself check it: the true list, and forged ones. It takes the half minute that a draw is
// closed before it opens.
func TestDrawProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)\n```python\n(.*?)\n```\n").FindSubmatch(text)
	if shown == nil || bytes.Count(shown[1], []byte("\n")) >= 50 {
		t.Fatal("docs/events.md has no program of at most 50 lines")
	}
	program := filepath.Join(t.TempDir(), "check_draw.py")
	if err := os.WriteFile(program, shown[1], 0o600); err != nil {
		t.Fatal(err)
	}
	r := startDraw(t)
	r.await(t, "/traffic/zones/TICKETS", `"phase":"gathering"`)
	const came = 30
	var token string
	for n := range came {
		token = r.join(t, n)
	}
	early := filepath.Join(t.TempDir(), "early.json")
	if err := os.WriteFile(early, []byte(r.await(t, drawPath, `"listHash":"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(url, earlier, token string) (said [2]string, good [2]bool) {
		t.Helper()
		for i, args := range [][]string{
			{"python3", program, url + drawPath, token},
			{r.program, "events", "verify", url + drawPath, "--earlier", earlier, "--token-file", "-"},
		} {
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Stdin = strings.NewReader(token)
			out, err := cmd.CombinedOutput()
			said[i], good[i] = string(out), err == nil
		}
		return said, good
	}
	if said, good := run(r.url, early, token); good != [2]bool{} || !strings.Contains(said[0], "nothing to check") || !strings.Contains(said[1], "cannot be checked yet") {
		t.Errorf("before the opening: %v %s", good, said)
	}

	answers := map[string]string{drawPath: r.await(t, drawPath, `"seed":"`)}
	var p schedule.Published
	if p.List = make([]schedule.Part, 1); json.Unmarshal([]byte(answers[drawPath]), &p.Draw) != nil || p.Tickets != came || p.Parts != 1 {
		t.Fatalf("the draw is %s", answers[drawPath])
	}
	res, err := http.Get(r.url + drawPath + "/tickets/1") // takes what is packed
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(res.Body).Decode(&p.List[0]); err != nil || res.Body.Close() != nil || !res.Uncompressed {
		t.Fatalf("the list came packed: %v, %v", res.Uncompressed, err)
	}
	own, _ := schedule.OwnTicket("TICKETS", "noon", token)
	said, good := run(r.url, early, token)
	if good != [2]bool{true, true} || !strings.Contains(said[0], "as drawn: 30 tickets") || !strings.Contains(said[0], fmt.Sprintf("has number %d\n", p.Number(own))) ||
		!strings.Contains(said[1], fmt.Sprintf("%s has number %d of 30", own, p.Number(own))) {
		t.Errorf("the true list: %v\n%s", good, said)
	}
	for _, tt := range []struct {
		name, says string
		forge      func(d *schedule.Draw, list *[]string)
	}{
		{"a visitor moved", "belongs before number", func(_ *schedule.Draw, list *[]string) { (*list)[2], (*list)[20] = (*list)[20], (*list)[2] }},
		{"a changed seed", "the seed is not", func(d *schedule.Draw, _ *[]string) { d.Seed = strings.Repeat("ab", 32) }},
		{"a ticket dropped", "29 tickets, not 30", func(_ *schedule.Draw, list *[]string) { *list = (*list)[:came-1] }},
		{"a ticket added", "31 tickets, not 30", func(_ *schedule.Draw, list *[]string) { *list = append(*list, strings.Repeat("ab", 16)) }},
		{"a ticket twice", "is there twice", func(_ *schedule.Draw, list *[]string) { (*list)[3] = (*list)[2] }},
		{"the seed of another draw", "belongs before number", func(d *schedule.Draw, _ *[]string) {
			d.Seed, d.Commitment = strings.Repeat("00", 32), event.Seed{}.Commitment()
		}},
		{"another list", "the list was changed", func(d *schedule.Draw, _ *[]string) { d.ListHash = "" }},
	} {
		forged := p
		tickets := slices.Clone(p.List[0].Tickets)
		tt.forge(&forged.Draw, &tickets)
		if raw, err := hex.DecodeString(strings.Join(tickets, "")); err != nil {
			t.Fatal(err)
		} else if sum := sha256.Sum256(raw); forged.ListHash != "" {
			forged.ListHash = hex.EncodeToString(sum[:]) // the forger knows of it
		} else {
			forged.ListHash = p.Commitment
		}
		part := p.List[0]
		part.Tickets = tickets
		forger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			answer := any(part)
			if q.URL.Path == drawPath {
				answer = forged.Draw
			}
			_ = json.NewEncoder(w).Encode(answer) // to a program that says so if it does not come
		}))
		if said, good := run(forger.URL, early, token); good != [2]bool{} || !strings.Contains(said[0], "NOT AS DRAWN: ") || !strings.Contains(said[0], tt.says) || !strings.Contains(said[1], "NOT AS DRAWN") {
			t.Errorf("%s: %v\n%s", tt.name, good, said)
		}
		forger.Close()
	}
}
