package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
)

// drawn are the answers about a draw of five, by path.
func drawn(t *testing.T) (answers map[string]string) {
	t.Helper()
	seed := event.Seed{7}
	d := schedule.Draw{ZoneID: "Z", Seed: hex.EncodeToString(seed[:]), Tickets: 5}
	d.Event, d.Commitment, d.FromMicros, d.UptoMicros = "noon", seed.Commitment(), 1_000_000, 600_000_000
	var all []event.Ticket
	for i := range byte(5) {
		all = append(all, event.TicketOf("Z", "noon", line.ID{i}))
	}
	slices.SortFunc(all, func(a, b event.Ticket) int { return cmp.Compare(d.Score(seed, a), d.Score(seed, b)) })
	list := ""
	for _, ticket := range all {
		list += string(ticket[:])
	}
	sum := sha256.Sum256([]byte(list))
	d.ListHash = hex.EncodeToString(sum[:])
	answers = make(map[string]string)
	say := func(path string, what any) {
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		answers[path] = string(text)
	}
	say("/noon/draw", d)
	answers["/noon/draw/list"] = list
	d.Seed = ""
	say("/soon/draw", d)
	return answers
}

// TestVerify: from a server and from files.
func TestVerify(t *testing.T) {
	t.Parallel()
	answers := drawn(t)
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
	saved, early, url := write("draw.json", answers["/noon/draw"]), write("early.json", answers["/soon/draw"]), room.URL+"/noon/draw"
	list := write("draw.list", answers["/noon/draw/list"])
	var d schedule.Draw
	if err := json.Unmarshal([]byte(answers["/noon/draw"]), &d); err != nil {
		t.Fatal(err)
	}
	held, empty := d, d
	held.Seed, held.OpensAtMillis = "", event.Never
	empty.Tickets = 0
	published := func(name string, d schedule.Draw) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return write(name, string(text))
	}
	forged, none := d, d
	forged.Seed, none.ListHash = strings.Repeat("ab", 32), ""
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{url}, ExitOK, "noon in Z: as drawn"},
		{[]string{url + "/", "--earlier", early}, ExitOK, "the seed's SHA-256, as before the opening"},
		{[]string{published("forged.json", forged), list}, ExitDiffers, "NOT AS DRAWN\nthe seed is not the one of the commitment"},
		{[]string{saved, write("less.list", answers["/noon/draw/list"][:64])}, ExitDiffers, "the list has 64 bytes, and should have 5 tickets of 16"},
		{[]string{saved, list, "--earlier", write("other.json", strings.Replace(answers["/soon/draw"], d.Commitment, strings.Repeat("ab", 32), 1))}, ExitDiffers, "this is another draw"},
		{[]string{saved, list}, ExitOK, "list        5 tickets, each once and where the seed puts it"},
		{[]string{room.URL + "/soon/draw"}, ExitNotFound, "draw/list answers 404 Not Found. The zone has had no draw"},
		{[]string{early, list}, ExitFailed, "cannot be checked yet: the seed is published when it opens, at 1970-"},
		{[]string{published("held.json", held), list}, ExitFailed, "which has no time: the opening is held"},
		{[]string{published("empty.json", empty), write("empty.list", "")}, ExitFailed, "nobody was in the line when the draw closed"},
		{[]string{published("none.json", none), list}, ExitFailed, "no list of it is published"},
		{[]string{room.URL + "/dusk/draw"}, ExitNotFound, "answers 404 Not Found. The zone has had no draw"},
		{[]string{write("word.json", "noon"), list}, ExitUsage, "is no draw"},
		{[]string{"no-such-file.json", list}, ExitUsage, "no such file"},
		{[]string{"http://127.0.0.1:1/draw"}, ExitUnreachable, "connection refused"},
	} {
		status, out, errs := command(t, append([]string{"events", "verify"}, tt.args...)...)
		if status != tt.status || !strings.Contains(out+errs, tt.says) {
			t.Errorf("%v: status %d, want %d and %q\n%s%s", tt.args, status, tt.status, tt.says, out, errs)
		}
	}
}
