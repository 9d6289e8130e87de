package cli

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/token"
)

// drawn are the answers about a draw of five, in three parts, by path.
func drawn(t *testing.T) (answers map[string]string, tokens []string) {
	t.Helper()
	keys, err := token.NewKeys([]byte(strings.Repeat("k", token.MinSecretBytes)))
	if err != nil {
		t.Fatal(err)
	}
	seed := event.Seed{7}
	d := schedule.Draw{ZoneID: "Z", Seed: hex.EncodeToString(seed[:]), Tickets: 5, Parts: 3}
	d.Event, d.Commitment, d.FromMicros, d.UptoMicros = "noon", seed.Commitment(), 1_000_000, 600_000_000
	score := make(map[string]int64)
	for i := range byte(5) {
		id := line.ID{i}
		ticket := event.TicketOf("Z", "noon", id)
		score[hex.EncodeToString(ticket[:])] = d.Score(seed, ticket)
		tokens = append(tokens, keys.Sign("Z", line.Place{ID: id, ArrivedAtMicros: 1}))
	}
	list := make([]string, 0, len(score))
	for ticket := range score {
		list = append(list, ticket)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(score[a], score[b]) })
	answers = make(map[string]string)
	say := func(path string, what any) {
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		answers[path] = string(text)
	}
	say("/noon/draw", d)
	for n := 1; n <= 3; n++ {
		say(fmt.Sprintf("/noon/draw/tickets/%d", n), schedule.Part{
			ZoneID: "Z", Event: "noon", Part: n, Parts: 3, First: 2*n - 1, Tickets: list[2*n-2 : min(2*n, 5)],
		})
	}
	d.Seed = ""
	say("/soon/draw", d)
	return answers, tokens
}

// TestVerify: from a server and from files, for everybody and for one visitor.
func TestVerify(t *testing.T) {
	t.Parallel()
	answers, tokens := drawn(t)
	room := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			text = `{"code":"draw_unknown","detail":"The zone has had no draw under that name lately."}`
		}
		_, _ = w.Write([]byte(text))
	}))
	defer room.Close()
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := answers["/noon/draw"] + answers["/noon/draw/tickets/1"] + answers["/noon/draw/tickets/2"] + answers["/noon/draw/tickets/3"]
	saved, early, url := write("draw.json", whole), write("early.json", answers["/soon/draw"]), room.URL+"/noon/draw"
	var d schedule.Draw
	if err := json.Unmarshal([]byte(answers["/noon/draw"]), &d); err != nil {
		t.Fatal(err)
	}
	held, empty := d, d
	held.Seed, held.OpensAtMillis = "", event.Never
	empty.Tickets, empty.Parts, empty.ListHash = 0, 0, strings.Repeat("e3", 32)
	published := func(name string, d schedule.Draw) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return write(name, string(text))
	}
	forged := write("forged.json", strings.Replace(whole, d.Seed, strings.Repeat("ab", 32), 1))
	mine, ok := schedule.OwnTicket("Z", "noon", tokens[3])
	if !ok {
		t.Fatal("no ticket")
	}
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{url}, ExitOK, "noon in Z: as drawn"},
		{[]string{url + "/", "--earlier", early}, ExitOK, "the seed's SHA-256, as before the opening"},
		{[]string{url, "--ticket", strings.ToUpper(mine)}, ExitOK, mine + " has number"},
		{[]string{saved, "--token-file", write("token", tokens[3]+"\n")}, ExitOK, mine + " has number"},
		{[]string{saved, "--token-file", write("token", "what is none")}, ExitUsage, "is no token"},
		{[]string{saved, "--ticket", strings.Repeat("0", 32)}, ExitNotFound, "is not on the list"},
		{[]string{forged}, ExitDiffers, "NOT AS DRAWN\nthe seed is not the one of the commitment"},
		{[]string{write("less.json", strings.TrimSuffix(whole, answers["/noon/draw/tickets/3"]))}, ExitDiffers, "the list has 2 parts, and should have 3"},
		{[]string{saved, "--earlier", write("other.json", strings.Replace(answers["/soon/draw"], d.Commitment, strings.Repeat("ab", 32), 1))}, ExitDiffers, "this is another draw"},
		{[]string{room.URL + "/soon/draw"}, ExitNotFound, "draw/tickets/1 answers 404 Not Found. The zone has had no draw"},
		{[]string{early}, ExitFailed, "cannot be checked yet: the seed is published when it opens, at 1970-"},
		{[]string{published("held.json", held)}, ExitFailed, "which has no time: the opening is held"},
		{[]string{published("empty.json", empty)}, ExitFailed, "nobody was in the line when the draw closed"},
		{[]string{write("none.json", answers["/noon/draw"])}, ExitDiffers, "the list has 0 parts"},
		{[]string{room.URL + "/dusk/draw"}, ExitNotFound, "answers 404 Not Found. The zone has had no draw"},
		{[]string{write("word.json", "noon")}, ExitUsage, "is no draw"},
		{[]string{"no-such-file.json"}, ExitUsage, "no such file"},
		{[]string{"http://127.0.0.1:1/draw"}, ExitUnreachable, "connection refused"},
		{[]string{saved, "--ticket=00", "--token-file=x"}, ExitUsage, "ticket token-file"},
	} {
		status, out, errs := command(t, append([]string{"events", "verify"}, tt.args...)...)
		if status != tt.status || !strings.Contains(out+errs, tt.says) {
			t.Errorf("%v: status %d, want %d and %q\n%s%s", tt.args, status, tt.status, tt.says, out, errs)
		}
	}
}
