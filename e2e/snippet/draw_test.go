package snippet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/schedule"
	tokens "github.com/openqueue/waitingroom/internal/token"
)

// drawPath is where the draw is published.
const drawPath = "/traffic/zones/TICKETS/events/noon/draw"

// startDraw starts a server. People gather for five seconds, as soon as it is there.
func startDraw(t *testing.T) *room.Server {
	t.Helper()
	room.Program(t) // building it takes its time
	gathers := time.Now().Add(3 * time.Second).Truncate(time.Second)
	return room.Start(t, map[string]string{"QUEUE_DOOR_LIMITS": "off", "QUEUE_CONFIG": room.Config(t, fmt.Sprintf(`zones:
  - zoneId: TICKETS
    perMinute: 6000
    events:
      - {name: noon, preQueueAt: %s, opensAt: %s, order: draw, drawClosesSeconds: 25}
`, gathers.UTC().Format(time.RFC3339), gathers.Add(30*time.Second).UTC().Format(time.RFC3339)))})
}

// await asks until the answer has the text.
func await(t *testing.T, s *room.Server, path, text string) string {
	t.Helper()
	got := room.Until(t, http.MethodGet, s.Public+path, text)
	if !strings.Contains(got.Body, text) {
		t.Fatalf("%s has no %q: %+v", path, text, got)
	}
	return got.Body
}

// join takes a place, and returns its token.
func join(t *testing.T, s *room.Server, n int) string {
	t.Helper()
	got := room.Request(t, http.MethodPost, s.Public+"/traffic/wait",
		fmt.Sprintf(`{"zoneId":"TICKETS","clientIp":"203.0.113.9","clientAgent":"WEB","clientId":"c%d"}`, n))
	token, _ := got.Value(t, "token").(string)
	if token == "" {
		t.Fatalf("%+v", got)
	}
	return token
}

// TestDrawProgram has a server draw, and the program of docs/explain/draw.md and queue-server
// itself check it: the true list, and forged ones. It takes the half minute that a draw is
// closed before it opens.
func TestDrawProgram(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("(?s)\n```python\n(.*?)\n```\n").FindStringSubmatch(room.Read(t, "../../docs/explain/draw.md"))
	if shown == nil || strings.Count(shown[1], "\n") >= 50 {
		t.Fatal("docs/explain/draw.md has no program of at most 50 lines")
	}
	program := filepath.Join(t.TempDir(), "check_draw.py")
	room.Write(t, program, shown[1])
	r := startDraw(t)
	await(t, r, "/traffic/zones/TICKETS", `"phase":"gathering"`)
	const came = 30
	var token string
	for n := range came {
		token = join(t, r, n)
	}
	early := filepath.Join(t.TempDir(), "early.json")
	room.Write(t, early, await(t, r, drawPath, `"listHash":"`))
	run := func(url, earlier, token string) (said [2]string, good [2]bool) {
		t.Helper()
		for i, args := range [][]string{
			{"python3", program, url + drawPath, token},
			{room.Program(t), "events", "verify", url + drawPath, "--earlier", earlier},
		} {
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Stdin = strings.NewReader(token)
			out, err := cmd.CombinedOutput()
			said[i], good[i] = string(out), err == nil
		}
		return said, good
	}
	if said, good := run(r.Public, early, token); good != [2]bool{} || !strings.Contains(said[0], "nothing to check") || !strings.Contains(said[1], "cannot be checked yet") {
		t.Errorf("before the opening: %v %s", good, said)
	}

	answers := map[string]string{drawPath: await(t, r, drawPath, `"seed":"`)}
	var d schedule.Draw
	if json.Unmarshal([]byte(answers[drawPath]), &d) != nil || d.Tickets != came {
		t.Fatalf("the draw is %s", answers[drawPath])
	}
	genuine, err := schedule.ReadTickets([]byte(room.Request(t, http.MethodGet, r.Public+drawPath+"/list", "").Body))
	if err != nil || len(genuine) != came {
		t.Fatalf("%d tickets, %v", len(genuine), err)
	}
	id, _ := tokens.VisitorID(token)
	number := slices.Index(genuine, event.TicketOf("TICKETS", "noon", id)) + 1
	said, good := run(r.Public, early, token)
	if good != [2]bool{true, true} || !strings.Contains(said[0], "as drawn: 30 tickets") || !strings.Contains(said[0], fmt.Sprintf("has number %d\n", number)) ||
		!strings.Contains(said[1], "as drawn") {
		t.Errorf("the true list: %v\n%s", good, said)
	}
	for _, tt := range []struct {
		name, says string
		forge      func(d *schedule.Draw, list *[]event.Ticket)
	}{
		{"a visitor moved", "belongs before number", func(_ *schedule.Draw, list *[]event.Ticket) { (*list)[2], (*list)[20] = (*list)[20], (*list)[2] }},
		{"a changed seed", "the seed is not", func(d *schedule.Draw, _ *[]event.Ticket) { d.Seed = strings.Repeat("ab", 32) }},
		{"a ticket dropped", "29 tickets, not 30", func(_ *schedule.Draw, list *[]event.Ticket) { *list = (*list)[:came-1] }},
		{"a ticket added", "31 tickets, not 30", func(_ *schedule.Draw, list *[]event.Ticket) { *list = append(*list, event.Ticket{1}) }},
		{"a ticket twice", "is there twice", func(_ *schedule.Draw, list *[]event.Ticket) { (*list)[3] = (*list)[2] }},
		{"the seed of another draw", "belongs before number", func(d *schedule.Draw, _ *[]event.Ticket) {
			d.Seed, d.Commitment = strings.Repeat("00", 32), event.Seed{}.Commitment()
		}},
		{"another list", "the list was changed", func(d *schedule.Draw, _ *[]event.Ticket) { d.ListHash = "" }},
	} {
		forged, tickets := d, slices.Clone(genuine)
		tt.forge(&forged, &tickets)
		var list []byte
		for _, ticket := range tickets {
			list = append(list, ticket[:]...)
		}
		if sum := sha256.Sum256(list); forged.ListHash != "" {
			forged.ListHash = hex.EncodeToString(sum[:]) // the forger knows of it
		} else {
			forged.ListHash = d.Commitment
		}
		forger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == drawPath {
				_ = json.NewEncoder(w).Encode(forged) // to a program that says so if it does not come
			} else {
				_, _ = w.Write(list)
			}
		}))
		if said, good := run(forger.URL, early, token); good != [2]bool{} || !strings.Contains(said[0], "NOT AS DRAWN: ") || !strings.Contains(said[0], tt.says) || !strings.Contains(said[1], "NOT AS DRAWN") {
			t.Errorf("%s: %v\n%s", tt.name, good, said)
		}
		forger.Close()
	}
}
