package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
	"github.com/openqueue/waitingroom/internal/zone"
)

// logging are two servers that log admissions, each into a folder of its own.
func logging(t *testing.T, redisURL string) (folders []string, servers []*room.Server) {
	t.Helper()
	for range 2 {
		folder := t.TempDir()
		folders, servers = append(folders, folder), append(servers, startServer(t, redisURL, map[string]string{"QUEUE_ADMISSIONS_LOG": folder}))
	}
	return folders, servers
}

// judgedBy finishes a sale, and has queue-server judge it by what the servers logged, what is public, and the record.
func (o *opening) judgedBy(t *testing.T, folders []string) (r evidence.Result) {
	t.Helper()
	hold(t, o.servers[0], o.zoneID) // as finish does, so that the record has it
	kept := t.TempDir()
	files := map[string]string{
		"keys.json":   room.Request(t, http.MethodGet, o.servers[0].Public+"/.well-known/jwks.json", "").Body,
		"draw.json":   room.Request(t, http.MethodGet, o.url(0), "").Body,
		"record.json": o.servers[0].Admin(t, http.MethodGet, "/admin/audit?limit=200&zoneId="+o.zoneID, "").Body,
	}
	for _, s := range o.servers {
		var state struct {
			Heads []string `json:"heads"`
		}
		if err := json.Unmarshal([]byte(room.Request(t, http.MethodGet, s.Public+"/traffic/zones/"+o.zoneID, "").Body), &state); err != nil {
			t.Fatal(err)
		}
		if len(state.Heads) == 0 {
			t.Error("a server shows no heads")
		}
		files["heads.txt"] += strings.Join(state.Heads, "\n") + "\n"
	}
	o.finish(t)
	for _, s := range o.servers {
		s.Stop(t)
	}
	bundle := filepath.Join(kept, "bundle.jwt")
	args := []string{"evidence", o.zoneID, "--json", "--bundle", bundle, "--event", saleName}
	for name, text := range files {
		name = filepath.Join(kept, name)
		room.Write(t, name, text)
		flag, _, _ := strings.Cut(filepath.Base(name), ".")
		args = append(args, "--"+flag, name)
	}
	for _, folder := range folders {
		args = append(args, "--log", folder)
	}
	_, said := room.Run(t, map[string]string{"QUEUE_SECRET": room.Secret}, args...)
	text, _, _ := strings.Cut(said, "\n}\n")
	if err := json.Unmarshal([]byte(text+"}"), &r); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if status, said := room.Run(t, nil, "evidence", "verify", bundle, "--keys", filepath.Join(kept, "keys.json"), "--log", folders[0], "--log", folders[1]); !strings.Contains(said, o.zoneID+": "+r.Verdict) {
		t.Errorf("the bundle: status %d, %s", status, said)
	}
	t.Logf("%s: %+v; %+v", r.Verdict, r.Figures, r.Findings)
	return r
}

// TestEvidence: of a sale with a draw, a cap and a pause, on two servers, the logs show that everything held, in the figures of the crowd. When
// the log of one server is missing, that shows, too.
func TestEvidence(t *testing.T) {
	t.Parallel()
	visitors := sizeOf(t, aSmallSale)
	e := startEngine(t)
	z := forSale(visitors)
	z.MaxInside = int64(5 * visitors)
	folders, servers := logging(t, e.URL())
	o := startOpening(t, setUpOn(t, "none: a sale is proved", []zone.Settings{z}, servers...), e, max(8*time.Second, time.Duration(visitors)*time.Millisecond/2))
	o.loses = losesNothing
	o.gather(t, visitors)
	o.crowd.arriveFrom(o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, o.zones[0].Window())
	o.servers[1].Operate(t, http.MethodPatch, "/admin/zones/"+o.zoneID, `{"perMinute":0}`)
	o.passes(t, 2*o.zones[0].Window())
	o.servers[0].Operate(t, http.MethodPatch, "/admin/zones/"+o.zoneID, fmt.Sprintf(`{"perMinute":%d}`, z.PerMinute))
	o.breaks()
	o.mends(time.Now())
	o.settle(t)
	o.prove(t, 1)
	r := o.judgedBy(t, folders)
	f, saw, came := r.Figures, o.verdicts[0], int64(len(o.crowd.visitors)) // a join whose answer was lost has no line
	if r.Verdict != evidence.Held || f.Admitted != int64(saw.Admitted) || f.Joined > came || f.Joined < came-f.Refused["store_unavailable"] || f.InWindow.Limit != z.PerMinute/10 || f.InWindow.Admissions > z.PerMinute/10 || f.Inside.Limit != z.MaxInside {
		t.Errorf("the logs: %s, %+v; the crowd saw %d admitted; %+v", r.Verdict, f, saw.Admitted, r.Findings)
	}
	o.loseLog(t, folders[:1])
}

// loseLog judges by the log of one server alone.
func (o *opening) loseLog(t *testing.T, folders []string) {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys.json")
	room.Write(t, keys, `{"keys":[]}`)
	status, said := room.Run(t, nil, "evidence", o.zoneID, "--log", folders[0], "--keys", keys)
	if status != 7 || !strings.Contains(said, "in no log") && !strings.Contains(said, "without a line") {
		t.Errorf("without one log: status %d, %s", status, said)
	}
}

// TestEvidenceMasterKilled: when the master dies as the sale opens, the logs still show that limits and order held. What was lost with
// it is said, and nothing is called tampering.
func TestEvidenceMasterKilled(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	folders, servers := logging(t, w.url())
	o := startOpening(t, setUpOn(t, "a sale is proved: master killed at opensAt", []zone.Settings{forSale(0)}, servers...), w.master, 8*time.Second)
	o.loses = losesLast
	o.gather(t, aThousand)
	o.passes(t, 0)
	o.breaks()
	w.master.Kill()
	o.mends(w.awaitTakeover(t))
	o.settle(t)
	o.prove(t, 0)
	r := o.judgedBy(t, folders)
	if !slices.Contains([]string{evidence.Held, evidence.Unproved}, r.Verdict) || r.Figures.Admitted < int64(o.verdicts[0].Admitted) {
		t.Errorf("the logs: %s, %+v; the crowd saw %d admitted", r.Verdict, r.Findings, o.verdicts[0].Admitted)
	}
}
