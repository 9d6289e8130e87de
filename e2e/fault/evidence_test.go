package fault

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/zone"
)

// provedSale is an opening on servers that log admissions, each into a folder.
type provedSale struct {
	*opening
	visitors int
	folders  []string
}

// judgedBy finishes a sale, and has queue-server judge it by what the servers logged, what is public, and the record. It returns the report, too.
func (o *provedSale) judgedBy(t *testing.T) (r evidence.Result, figures report.Report) {
	t.Helper()
	hold(t, o.servers[0], o.zoneID) // as finish does, so that the record has it
	figures = o.report(t)
	kept := t.TempDir()
	files := map[string]string{
		"keys.json":   room.Request(t, http.MethodGet, o.servers[0].Public+"/.well-known/jwks.json", "").Body,
		"draw.json":   room.Request(t, http.MethodGet, o.url(0), "").Body,
		"record.json": o.servers[0].Admin(t, http.MethodGet, "/admin/audit/export?record="+o.zoneID, "").Body,
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
	for _, folder := range o.folders {
		args = append(args, "--log", folder)
	}
	_, said := room.Run(t, map[string]string{"QUEUE_SECRET": room.Secret}, args...)
	text, _, _ := strings.Cut(said, "\n}\n")
	if err := json.Unmarshal([]byte(text+"}"), &r); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if status, said := room.Run(t, nil, "evidence", "verify", bundle, "--keys", filepath.Join(kept, "keys.json"), "--log", o.folders[0], "--log", o.folders[1]); !strings.Contains(said, o.zoneID+": "+r.Verdict) {
		t.Errorf("the bundle: status %d, %s", status, said)
	}
	t.Logf("%s: %+v; %+v", r.Verdict, r.Figures, r.Findings)
	return r, figures
}

// TestEvidence: of a sale with a draw, a cap that is reached, and a pause, on two servers, the logs show that everything held, in the figures of the
// crowd, and so does the report. When the log of one server is missing, that shows, too.
func TestEvidence(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	o := startSale(t, "none: a sale is proved", e.URL(), e, 3)
	o.loses = losesNothing
	o.plays(t, func() {})
	room.Await(t, "the cap is reached", func() bool { return int64(o.crowd.admitted(o.zoneID)) >= o.zones[0].MaxInside })
	r, figures := o.judgedBy(t)
	saw, came := o.verdicts[0], int64(len(o.crowd.visitors)) // a join whose answer was lost has no line
	if f := r.Figures; r.Verdict != evidence.Held || f.Admitted != int64(saw.Admitted) || f.Joined > came || f.Joined < came-f.Refused["store_unavailable"] ||
		f.InWindow.Limit != o.zones[0].PerMinute/10 || f.InWindow.Admissions > f.InWindow.Limit || f.Inside.Limit != o.zones[0].MaxInside || f.Inside.Admissions != f.Inside.Limit {
		t.Errorf("the logs: %s, %+v; the crowd saw %d admitted; %+v", r.Verdict, f, saw.Admitted, r.Findings)
	}
	o.reported(t, figures, 0)
	o.loseLog(t)
}

// TestEvidenceFaults: when a server and the master of Redis are killed amid such a sale, the logs still show that limits and order held. What was
// lost with them is said, and nothing is called tampering. The report lacks no more than a window's worth.
func TestEvidenceFaults(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	o := startSale(t, "a sale is proved: server and master killed", w.url(), w.master, 100)
	o.loses = losesLast
	o.plays(t, func() {
		o.servers[1].Kill()
		w.master.Kill()
		w.awaitTakeover(t)
		o.servers[1].Launch(t)
	})
	r, figures := o.judgedBy(t)
	if !slices.Contains([]string{evidence.Held, evidence.Unproved}, r.Verdict) {
		t.Errorf("the logs: %s, %+v", r.Verdict, r.Findings)
	}
	aWindow := o.zones[0].PerMinute / 10
	if missing := int64(o.verdicts[0].Admitted) - r.Figures.Admitted; missing > aWindow {
		t.Errorf("the logs lack %d of %d admissions", missing, o.verdicts[0].Admitted)
	}
	o.reported(t, figures, aWindow)
}

// aFullSale is the most who come to one.
const aFullSale = 20_000

// startSale has two servers that log admissions, each into a folder of its own, sell to a crowd of VISITORS, with a cap of so many windows'
// worth. Each admission counts for a minute.
func startSale(t *testing.T, fault, redisURL string, e *engine, worth int64) *provedSale {
	t.Helper()
	visitors := min(sizeOf(t, aSmallSale), aFullSale)
	o := &provedSale{visitors: visitors}
	var servers []*room.Server
	for range 2 {
		folder := t.TempDir()
		o.folders, servers = append(o.folders, folder), append(servers, startServer(t, redisURL, map[string]string{"QUEUE_ADMISSIONS_LOG": folder}))
	}
	z := forSale(visitors)
	z.MaxInside, z.InsideBy, z.SessionSeconds, z.PassTTLSeconds = worth*z.PerMinute/10, zone.InsideByAdmission, 60, 600
	o.opening = startOpening(t, setUpOn(t, fault, []zone.Settings{z}, servers...), e, max(8*time.Second, time.Duration(visitors)*time.Millisecond/2))
	return o
}

// plays has the crowd gather, and some come later. The sale opens, is paused by one server for two windows, and goes on by the other. Then the fault
// comes, until when the store is well again.
func (o *provedSale) plays(t *testing.T, breaks func()) {
	t.Helper()
	window := o.zones[0].Window()
	o.gather(t, o.visitors)
	o.crowd.arriveFrom(o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, window)
	o.servers[1].Operate(t, http.MethodPatch, "/admin/zones/"+o.zoneID, `{"perMinute":0}`)
	o.passes(t, 2*window)
	o.servers[0].Operate(t, http.MethodPatch, "/admin/zones/"+o.zoneID, fmt.Sprintf(`{"perMinute":%d}`, o.zones[0].PerMinute))
	o.passes(t, 3*window)
	o.breaks()
	breaks()
	o.mends(time.Now())
	o.settle(t)
	o.prove(t, 1)
}

// report is that of a sale that is held, as soon as it has the minute of that.
func (o *provedSale) report(t *testing.T) (r report.Report) {
	t.Helper()
	held := o.inStore(time.Now()).Truncate(time.Minute).UnixMilli()
	room.Await(t, "the report knows that the sale is held", func() bool {
		r = report.Report{}
		reply := o.servers[0].Admin(t, http.MethodGet, "/admin/zones/"+o.zoneID+"/report?whatIf=none&event="+saleName, "")
		if err := json.Unmarshal([]byte(reply.Body), &r); err != nil {
			t.Fatalf("%v: %s", err, reply.Body)
		}
		return len(r.Minutes) > 0 && r.Minutes[len(r.Minutes)-1].At >= held
	})
	return r
}

// reported compares the report with what the crowd saw. It may lack so many whom the store lost.
func (o *provedSale) reported(t *testing.T, r report.Report, lost int64) {
	t.Helper()
	var waited []float64
	for _, v := range o.crowd.visitors {
		if v.admitted != 0 && !v.straight {
			waited = append(waited, float64(v.admitted-max(v.arrived/1000, o.inStore(o.opens).UnixMilli())))
		}
	}
	slices.Sort(waited)
	saw, came := int64(o.verdicts[0].Admitted), int64(len(o.crowd.visitors))
	median := measure.Percentile(waited, 50)
	t.Logf("the report: %+v, at most %d waiting and %d inside, %d ms (median); the crowd: %d came, %d were admitted after %.0f ms (median)",
		r.Totals, r.MostWaiting.N, r.MostInside.N, r.WaitP50Millis, came, saw, median)
	if n := saw - r.Totals.Admitted; n < 0 || n > lost {
		t.Errorf("the report has %d admitted of %d", r.Totals.Admitted, saw)
	}
	if n := came - r.Totals.Joined; n < 0 || n > lost {
		t.Errorf("the report has %d joined of %d", r.Totals.Joined, came)
	}
	if n := r.MostInside.N - min(saw, o.zones[0].MaxInside); n < 0 || n > lost { // after a loss, a window's worth more counts as inside
		t.Errorf("the report has %d inside", r.MostInside.N)
	}
	if off := float64(r.WaitP50Millis)/median - 1; math.Abs(off) > 1./8 {
		t.Errorf("the report has a median wait of %d ms, the crowd one of %.0f", r.WaitP50Millis, median)
	}
}

// loseLog judges by the log of one server alone.
func (o *provedSale) loseLog(t *testing.T) {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys.json")
	room.Write(t, keys, `{"keys":[]}`)
	status, said := room.Run(t, nil, "evidence", o.zoneID, "--log", o.folders[0], "--keys", keys)
	if status != 7 || !strings.Contains(said, "in no log") && !strings.Contains(said, "without a line") {
		t.Errorf("without one log: status %d, %s", status, said)
	}
}
