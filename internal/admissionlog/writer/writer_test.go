package writer_test

import (
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
)

const shop = "SHOP"

// server is a server that logs, whose zone admits ten in 6 s.
type server struct {
	*room.Server
	folder  string
	log     *writer.Log
	refused map[string]int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{Server: room.New(t, shop, 100), folder: t.TempDir(), refused: map[string]int64{}}
	var err error
	s.log, err = writer.Open(writer.Options{
		Dir: s.folder, Version: "1.2.3", Sign: s.Passes.Sign, Store: s.Store, Keep: 24 * time.Hour, Now: s.Now, Logger: s.Log,
		Watched: func() iter.Seq2[zone.Settings, line.Stats] {
			return func(yield func(zone.Settings, line.Stats) bool) { yield(*s.Zones.Known(shop).Settings(), s.Stats(t)) }
		},
		Refused: func(string) map[string]int64 { return maps.Clone(s.refused) },
		AS: func(a netip.Addr) string {
			if a.Is6() {
				return "AS64500"
			}
			return ""
		},
	})
	room.Must(t, err)
	s.Admissions = s.log
	s.Serve(t)
	return s
}

// read returns the lines by kind, of one run whose form is right.
func (s *server) read(t *testing.T) (admissionlog.Run, map[string][]admissionlog.Line) {
	t.Helper()
	runs, faults, err := admissionlog.Read(s.folder)
	room.Must(t, err)
	if len(runs) != 1 || len(faults) > 0 {
		t.Fatalf("%d runs; faults: %q", len(runs), faults)
	}
	by := map[string][]admissionlog.Line{}
	for _, one := range runs[0].Lines {
		by[one.Kind] = append(by[one.Kind], one)
	}
	return runs[0], by
}

// TestLog: what happened is in the log in the order of the store's numbers, each head is signed over all before it, and nothing in it says
// who anybody is.
func TestLog(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var tokens []string
	for i := range 14 {
		from := fmt.Sprintf("203.0.113.%d", 10+i)
		if i == 13 {
			from = "2001:db8:77::9"
		}
		s.From = from
		tokens = append(tokens, room.Read(t, s.Join(fmt.Sprintf("ada-%d@shop.example", i))).Token)
		s.Forward(time.Millisecond)
	}
	s.Join("ada-0@shop.example")
	s.Leave(tokens[10])
	s.refused["line_full"] = 3
	s.log.RunOnce(t.Context())
	s.Forward(6 * time.Second)
	s.From = "203.0.113.200"
	for _, tok := range tokens[11:] {
		s.Poll(tok)
	}
	s.log.RunOnce(t.Context())
	heads := s.log.Heads()
	if state := s.Send("GET", "/traffic/zones/"+shop, "").Body.String(); !strings.Contains(state, heads[0]) {
		t.Errorf("the zone's state does not show the head: %s", state)
	}
	s.log.Close(t.Context())

	run, by := s.read(t)
	admitted := by[admissionlog.Admitted]
	for i, one := range admitted {
		if one.Number != int64(i+1) || one.Who == "" || one.Data == "" || one.Zone != shop || one.Network == "" {
			t.Errorf("admission %d is %+v", i+1, one)
		}
	}
	joined := by[admissionlog.Joined]
	if len(admitted) != 13 || len(joined) != 4 || len(by[admissionlog.Repeated]) != 1 || len(by[admissionlog.Left]) != 1 {
		t.Errorf("%d admitted, %d joined, %d repeated, %d left", len(admitted), len(joined), len(by[admissionlog.Repeated]), len(by[admissionlog.Left]))
	}
	if joined[3].Network != "AS64500" || !strings.HasPrefix(joined[0].Network, "net-") || joined[1].Who != admitted[10].Who || admitted[10].Due == 0 ||
		by[admissionlog.Repeated][0].Who != admitted[0].Who || by[admissionlog.Left][0].Who != joined[0].Who {
		t.Errorf("the lines do not fit: %+v and %+v", joined, admitted[10:])
	}
	if r := by[admissionlog.Refused]; len(r) != 1 || r[0].Count != 3 || r[0].Reason != "line_full" {
		t.Errorf("refused: %+v", r)
	}
	if is := by[admissionlog.InForce]; len(is) != 1 || is[0].Settings.PerMinute != 100 {
		t.Errorf("settings: %+v", is)
	}
	totals := by[admissionlog.Counted]
	if last := totals[len(totals)-1].Totals; last.Admitted != 13 || last.Left != 1 {
		t.Errorf("totals: %+v", last)
	}
	for _, head := range by[admissionlog.Head] {
		var claims jwt.MapClaims
		token, _, err := jwt.NewParser().ParseUnverified(head.JWS, &claims)
		room.Must(t, err)
		if claims["hash"] != head.Hash || claims["run"] != run.Name || token.Header["typ"] != admissionlog.HeadType {
			t.Errorf("a head says %v, and the hash is %s", claims, head.Hash)
		}
		if _, err := s.Passes.Verify(head.JWS, s.Now()); err == nil {
			t.Error("a head is taken for a pass")
		}
	}
	n := len(run.Lines)
	if run.Lines[n-2].Kind != admissionlog.End || !slices.Contains(heads, by[admissionlog.Head][1].JWS) || len(by[admissionlog.Head]) != 3 {
		t.Errorf("the log ends with %+v; heads shown: %q", run.Lines[n-2:], heads)
	}

	packed, err := os.Open(filepath.Join(s.folder, run.Files[0].Name))
	room.Must(t, err)
	zip, err := gzip.NewReader(packed)
	room.Must(t, err)
	text, err := io.ReadAll(zip)
	room.Must(t, errors.Join(err, packed.Close()))
	secret := []string{"203.0.113", "2001:db8", "ada-", "shop.example"}
	for _, tok := range tokens {
		id := s.Held(t, tok).ID
		secret = append(secret, tok, hex.EncodeToString(id[:]))
	}
	for _, one := range secret {
		if strings.Contains(string(text), one) {
			t.Errorf("the log has %q", one)
		}
	}
}

// TestReturnedByJoining: an app that has kept its clientId alone comes back by joining. The log says that it came back, so nobody who was
// admitted before has overtaken it.
func TestReturnedByJoining(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Set(t, func(z *zone.Settings) { z.PerMinute = 10 })
	s.Join("first")
	s.Join("enters")
	s.Join("waits")
	last := room.Read(t, s.Join("last"))
	for range 9 {
		s.Forward(20 * time.Second)
		last = room.Read(t, s.Poll(last.Token))
	}
	if !last.CanEnter {
		t.Fatalf("%+v", last)
	}
	_, err := s.Zones.Sweep(t.Context(), shop, "one", 0)
	room.Must(t, err)
	if in, not := room.Read(t, s.Join("enters")), room.Read(t, s.Join("waits")); !in.CanEnter || not.CanEnter {
		t.Fatalf("%+v and %+v", in, not)
	}
	s.log.RunOnce(t.Context())
	s.log.Close(t.Context())
	_, by := s.read(t)
	var back, came []string
	for _, one := range by[admissionlog.Returned] {
		back = append(back, one.Who)
	}
	for _, one := range by[admissionlog.Joined] {
		came = append(came, one.Who)
	}
	if len(came) != 3 || !slices.Equal(back, came[:2]) {
		t.Errorf("%q came, and %q came back", came, back)
	}
}

type tickets struct{}

func (tickets) Claims(string) (jwt.MapClaims, error) {
	return jwt.MapClaims{"aud": shop, "event": "spring", "sub": "alice"}, nil
}

// TestMovedVisit: whoever goes on with a ticket on another device gets another pass, and is admitted by the store no second time.
func TestMovedVisit(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Tickets = ticket.New(tickets{}, s.Store, s.Log)
	s.Serve(t)
	s.Set(t, func(z *zone.Settings) { z.Invitation = "spring" })
	join := func() room.Document {
		return room.Read(t, s.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"ticket":"alice"}`, shop)))
	}
	phone := join()
	at := s.Now().UnixMilli()
	_, err := s.Tickets.Visit(t.Context(), shop, "spring", s.Held(t, phone.Token).ID, store.Visit{AtMillis: at, UntilMillis: at + 3_600_000, BegunMillis: at})
	room.Must(t, err)
	s.Forward(ticket.MovedAfter)
	if laptop := join(); !phone.CanEnter || !laptop.CanEnter || laptop.Admission.Pass == phone.Admission.Pass {
		t.Fatalf("%+v and %+v", phone, laptop)
	}
	s.log.RunOnce(t.Context())
	s.log.Close(t.Context())
	if _, by := s.read(t); len(by[admissionlog.Admitted]) != 1 || len(by[admissionlog.Repeated]) > 0 {
		t.Errorf("admitted %+v, repeated %+v", by[admissionlog.Admitted], by[admissionlog.Repeated])
	}
}

// TestDisk: while the disk is full or hangs, visitors go on; what the memory does not hold is counted, and the log says how much it lacks.
func TestDisk(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.log.Bound(20, 1<<20)
	var fails error
	hangs := make(chan struct{})
	s.log.Disk(func() error {
		<-hangs
		return fails
	})
	fails = errors.New("no space left on device")
	join := func(n int) {
		for range n {
			room.Read(t, s.Join(""))
		}
	}
	join(2)
	ran := make(chan struct{})
	go func() { s.log.RunOnce(t.Context()); close(ran) }()
	join(30) // the disk hangs
	close(hangs)
	<-ran
	s.log.RunOnce(t.Context()) // it is full
	if text := s.Logs.String(); !strings.Contains(text, "not written") {
		t.Errorf("nobody is told: %s", text)
	}
	fails = nil
	s.log.RunOnce(t.Context())
	_, by := s.read(t)
	gap := by[admissionlog.Gap]
	there := len(by[admissionlog.Admitted]) + len(by[admissionlog.Joined]) + len(by[admissionlog.InForce]) + len(by[admissionlog.Counted])
	if len(gap) != 1 || there != 20 || gap[0].Count < 14 {
		t.Errorf("%d lines, and gaps %+v", there, gap)
	}
}

// TestRotation: after a full file the next one goes on where it ended, and files that are too old are deleted.
func TestRotation(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	old := filepath.Join(s.folder, "admissions-gone-0001.jsonl.gz")
	room.Must(t, os.WriteFile(old, nil, 0o600))
	room.Must(t, os.Chtimes(old, time.Unix(0, 0), time.Unix(0, 0)))
	s.log.Bound(100, 1)
	for range 3 {
		s.Join("")
		s.log.RunOnce(t.Context())
	}
	s.log.Close(t.Context())
	run, by := s.read(t)
	if len(run.Files) != 4 || len(by[admissionlog.Admitted]) != 3 {
		t.Errorf("files %+v", run.Files)
	}
	room.Must(t, os.Remove(filepath.Join(s.folder, run.Files[1].Name)))
	if _, faults, _ := admissionlog.Read(s.folder); len(faults) == 0 {
		t.Error("a missing file is not found")
	}
}

// TestCut: of a log that ends within what was written last, as when the machine stops, the lines before are read, and no fault is found.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Join("")
	s.log.RunOnce(t.Context())
	run, before := s.read(t)
	name := filepath.Join(s.folder, run.Files[0].Name)
	about, err := os.Stat(name)
	room.Must(t, err)
	s.Join("")
	s.log.RunOnce(t.Context())
	whole, err := os.ReadFile(name)
	room.Must(t, err)
	for _, size := range []int64{about.Size() + 1, about.Size() + 5, int64(len(whole)) - 200, int64(len(whole)) - 1} {
		room.Must(t, os.WriteFile(name, whole[:size], 0o600))
		run, by := s.read(t)
		if run.Torn == "" || len(run.Lines) < len(slices.Concat(slices.Collect(maps.Values(before))...)) || len(by[admissionlog.Head]) == 0 {
			t.Errorf("cut at %d: torn %q, %d lines", size, run.Torn, len(run.Lines))
		}
	}
}

// TestForget: a second after the key of the day was destroyed the log names visitors by another, and the server has forgotten the one of before.
func TestForget(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	day := writer.Day(s.Now().UnixMicro())
	log := func() {
		room.Read(t, s.Join("ada@shop.example"))
		s.log.RunOnce(t.Context())
	}
	log()
	before, err := writer.Key(t.Context(), s.Store, shop, day)
	room.Must(t, err)
	room.Must(t, writer.Forget(t.Context(), s.Store, shop, day, time.Hour))
	s.Forward(time.Second)
	log()
	after, err := writer.Key(t.Context(), s.Store, shop, day)
	room.Must(t, err)
	s.Forward(time.Second)
	s.log.RunOnce(t.Context())
	if n := s.log.Keys(); n != 0 {
		t.Errorf("%d keys are remembered that are not used", n)
	}
	_, by := s.read(t)
	one, two := by[admissionlog.Admitted][0].Who, by[admissionlog.Repeated][0].Who
	if string(before) == string(after) || one == two {
		t.Errorf("the keys are %x and %x, the names %q and %q", before, after, one, two)
	}
}
