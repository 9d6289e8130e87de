package evidence_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
)

const began = 1_795_262_400_000

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// key signs as the servers' passes are signed.
var key = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))

func keys(t *testing.T) evidence.Keys {
	t.Helper()
	set, err := evidence.ReadKeys([]byte(jwks()))
	must(t, err)
	return set
}

func jwks() string {
	public, _ := key.Public().(ed25519.PublicKey)
	return fmt.Sprintf(`{"keys":[{"kty":"AKP","kid":"k2"},{"kty":"OKP","crv":"Ed25519","kid":"k1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
}

// logs are the lines of each run, without heads.
type logs map[string][]admissionlog.Line

// honest is an event of two servers: 600 a minute, 300 visitors admitted one each 100 ms; the limit is lowered to 300 after 20 s.
func honest() logs {
	all := logs{}
	for i, run := range []string{"a-1", "b-2"} {
		all[run] = []admissionlog.Line{
			{Kind: admissionlog.Begin, At: began, Run: run, Part: 1, Version: "1.2.3"},
			settings(began, 600), counted(began+int64(i), 0),
		}
	}
	at := int64(began)
	for n := range 300 {
		step := int64(101)
		if n >= 200 {
			step = 202
		}
		at += step
		run := []string{"a-1", "b-2"}[n%2]
		who, arrived := fmt.Sprintf("visitor-%03d", n), 1000*(began-60_000+int64(n))
		all[run] = append(all[run],
			admissionlog.Line{Kind: admissionlog.Joined, At: began - 60_000 + int64(n), Zone: "SHOP", Who: who, Arrived: arrived, Network: "AS64500"},
			admissionlog.Line{Kind: admissionlog.Admitted, At: at, Zone: "SHOP", Who: who, Arrived: arrived, Number: int64(n + 1), Data: "1.1", Due: at - 50})
		if n == 199 {
			all["a-1"], all["b-2"] = append(all["a-1"], settings(at+300, 300)), append(all["b-2"], settings(at+500, 300))
		}
	}
	for run := range all {
		all[run] = append(all[run], counted(at+1000, 300), admissionlog.Line{Kind: admissionlog.End, At: at + 2000})
	}
	return all
}

func settings(at, perMinute int64) admissionlog.Line {
	return admissionlog.Line{Kind: admissionlog.InForce, At: at, Zone: "SHOP", Settings: &admissionlog.Settings{PerMinute: perMinute, WindowSeconds: 6, Mode: "queue"}}
}

func counted(at, admitted int64) admissionlog.Line {
	return admissionlog.Line{Kind: admissionlog.Counted, At: at, Zone: "SHOP", Data: "1.1", Totals: &admissionlog.Totals{Admitted: admitted}}
}

// write writes the logs as their servers do, each with a head after every twenty lines, and returns the heads.
func write(t *testing.T, folder string, all logs) (heads []string) {
	t.Helper()
	for run, lines := range all {
		var text strings.Builder
		var state admissionlog.Chain
		add := func(l admissionlog.Line) {
			b, err := json.Marshal(l)
			must(t, err)
			text.Write(append(b, '\n'))
			state = state.Next(b)
		}
		for i, l := range lines {
			add(l)
			if i%20 != 19 && i != len(lines)-1 {
				continue
			}
			token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"run": run, "at": l.At, "hash": state.String()})
			token.Header["typ"], token.Header["kid"] = admissionlog.HeadType, "k1"
			jws, err := token.SignedString(key)
			must(t, err)
			heads = append(heads, jws)
			add(admissionlog.Line{Kind: admissionlog.Head, At: l.At, JWS: jws})
		}
		must(t, os.WriteFile(filepath.Join(folder, "admissions-"+run+"-0001.jsonl"), []byte(text.String()), 0o600))
	}
	return heads
}

const record = `{"changes":[
 {"at":1795262420200,"zoneId":"SHOP","by":"ada","proof":"token","address":"203.0.113.9","was":{"perMinute":600,"windowSeconds":6,"mode":"queue","maxPerSecond":"auto","soldOut":"","events":[]},"now":{"perMinute":300,"windowSeconds":6,"mode":"queue","maxPerSecond":"auto","soldOut":"","events":[]}},
 {"at":1795262000000,"zoneId":"OTHER","by":"ada","proof":"token","address":"203.0.113.9","was":null,"now":{"perMinute":1,"windowSeconds":6,"mode":"queue","maxPerSecond":"auto","soldOut":"","events":[]}},
 {"at":1795200000000,"zoneId":"SHOP","by":"ada","proof":"token","address":"203.0.113.9","was":null,"now":{"perMinute":600,"windowSeconds":6,"mode":"queue","maxPerSecond":"auto","soldOut":"","events":[]}}]}`

func judge(t *testing.T, folder, record string, heads ...string) evidence.Result {
	t.Helper()
	runs, faults, err := admissionlog.Read(folder)
	must(t, err)
	changes, err := evidence.ReadRecord([]byte(record), "SHOP")
	must(t, err)
	return evidence.Check(&evidence.Source{Zone: "SHOP", Runs: runs, Faults: faults, Keys: keys(t), Record: changes, Heads: heads})
}

// TestHeld: of an honest event the figures are right, and nothing is found.
func TestHeld(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	heads := write(t, folder, honest())
	r := judge(t, folder, record, heads...)
	f := r.Figures
	if r.Verdict != evidence.Held || f.Admitted != 300 || f.Joined != 300 || f.InWindow.Admissions != 60 || f.InWindow.Limit != 60 || f.Punctual != 300 || f.OvertakenMost != 0 {
		t.Errorf("%+v", r)
	}
}

// TestJoinedTwice: a join that is repeated at once, at the other server, may be in both logs. It is one place.
func TestJoinedTwice(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	all["b-2"] = slices.Insert(all["b-2"], 3, all["a-1"][3])
	heads := write(t, folder, all)
	if r := judge(t, folder, record, heads...); r.Verdict != evidence.Held || r.Figures.Joined != 300 {
		t.Errorf("%+v", r)
	}
}

// TestRepeatedByAnotherKey: whoever joins again after an admission is named by the key of the day of the admission, since the store does not know
// the arrival any more. Whoever polls again after a key was destroyed is named by its successor. Neither is another
// admission, and who came back before that is known to have come back.
func TestRepeatedByAnotherKey(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	i := admission(all["a-1"], 1)
	all["a-1"][i-1].Arrived -= 86_400_000_000
	all["a-1"][i].Arrived -= 86_400_000_000
	again := all["a-1"][i]
	again.Kind, again.Who, again.Arrived, again.Number, again.Due = admissionlog.Repeated, "by the other key", 1000*again.At, 0, 0
	polls := all["a-1"][admission(all["a-1"], 3)]
	polls.Kind, polls.Who, polls.Number = admissionlog.Repeated, "by its successor", 0
	late := &all["a-1"][admission(all["a-1"], 291)]
	late.Arrived -= 1e6
	returned := *late
	returned.Kind, returned.Who, returned.Number, returned.At = admissionlog.Returned, "by the old key", 0, late.At-1000
	all["b-2"] = slices.Insert(all["b-2"], 5, again, polls, returned)
	heads := write(t, folder, all)
	if r := judge(t, folder, record, heads...); r.Verdict != evidence.Held || r.Figures.Admitted != 300 {
		t.Errorf("%+v", r)
	}
}

// TestRotated: keys from after the secret was rotated prove nothing, and accuse nobody.
func TestRotated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, honest())
	runs, faults, err := admissionlog.Read(folder)
	must(t, err)
	changes, err := evidence.ReadRecord([]byte(record), "SHOP")
	must(t, err)
	later, err := evidence.ReadKeys([]byte(strings.ReplaceAll(jwks(), `"k1"`, `"k3"`)))
	must(t, err)
	r := evidence.Check(&evidence.Source{Zone: "SHOP", Runs: runs, Faults: faults, Keys: later, Record: changes})
	if r.Verdict != evidence.Unproved || len(r.Findings) != 2 || !strings.Contains(r.Findings[0].What, "rotated") {
		t.Errorf("%+v", r)
	}
}

// TestLowered: whoever was overtaken by half a window's worth before the limit was lowered was overtaken by no more.
func TestLowered(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	last := &all["b-2"][admission(all["b-2"], 300)]
	last.Arrived = all["a-1"][admission(all["a-1"], 271)].Arrived - 1
	for run := range all {
		all[run][len(all[run])-2].At += 120_000
	}
	last.At, last.Due = last.At+100_000, last.Due+100_000
	for _, lines := range all {
		for i := range lines {
			if s := lines[i].Settings; s != nil && s.PerMinute == 300 {
				s.PerMinute = 60
			}
		}
	}
	low := strings.Replace(record, `"now":{"perMinute":300`, `"now":{"perMinute":60`, 1)
	heads := write(t, folder, all)
	for _, f := range judge(t, folder, low, heads...).Findings {
		if strings.Contains(f.What, "overtaken") {
			t.Errorf("%+v", f)
		}
	}
}

// TestOpened: while a zone is open everybody enters who polls, and nobody is overtaken by that.
func TestOpened(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	all["a-1"][admission(all["a-1"], 291)].Arrived -= 1e6
	for _, lines := range all {
		for i := range lines {
			if s := lines[i].Settings; s != nil && s.PerMinute == 300 {
				s.Mode = "open"
			}
		}
	}
	heads := write(t, folder, all)
	opened := strings.Replace(record, `"now":{"perMinute":300,"windowSeconds":6,"mode":"queue"`, `"now":{"perMinute":300,"windowSeconds":6,"mode":"open"`, 1)
	if r := judge(t, folder, opened, heads...); r.Verdict != evidence.Held || r.Figures.Punctual != 199 {
		t.Errorf("%+v", r)
	}
}

// TestAutopilot: its steps are in no record. Between its bounds the servers' logs say which cap was in force; beyond them, that is no step.
func TestAutopilot(t *testing.T) {
	t.Parallel()
	steered := strings.NewReplacer(
		`"was":{"perMinute":600,`, `"was":{"perMinute":600,"maxInside":140,"pilot":"steer","pilotMin":50,"pilotMax":400,`,
		`"now":{"perMinute":300,`, `"now":{"perMinute":300,"maxInside":140,"pilot":"steer","pilotMin":50,"pilotMax":400,`,
		`"now":{"perMinute":600,`, `"now":{"perMinute":600,"maxInside":200,"pilot":"steer","pilotMin":50,"pilotMax":400,`,
	).Replace(record)
	for name, c := range map[string]struct {
		step, inside int64
		is           string
	}{
		"a step":                {140, 140, evidence.Held},
		"above the step's cap":  {140, 150, evidence.Broken},
		"a cap beyond pilotMax": {900, 140, evidence.Tampered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, all := t.TempDir(), honest()
			for _, lines := range all {
				for i := range lines {
					switch l := &lines[i]; {
					case l.Kind == admissionlog.InForce && l.Settings.PerMinute == 600:
						l.Settings.MaxInside = 200
					case l.Kind == admissionlog.InForce:
						l.Settings.MaxInside = c.step
					case l.Kind == admissionlog.Counted && l.At > began+1:
						l.Totals.Inside = c.inside
					}
				}
			}
			heads := write(t, folder, all)
			if r := judge(t, folder, steered, heads...); r.Verdict != c.is {
				t.Errorf("%+v", r)
			}
		})
	}
}

// edit changes the lines of a file, and leaves the heads as they are.
func edit(t *testing.T, folder, run string, change func([]string) []string) {
	t.Helper()
	name := filepath.Join(folder, "admissions-"+run+"-0001.jsonl")
	text, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, []byte(strings.Join(change(strings.SplitAfter(string(text), "\n")), "")), 0o600))
}

// admission is where the line of an admission is among a run's.
func admission(lines []admissionlog.Line, number int64) int {
	return slices.IndexFunc(lines, func(l admissionlog.Line) bool { return l.Number == number })
}

// TestTampered: each of these is found, and the finding names it. The first seven are by somebody who holds the key, and signs anew.
func TestTampered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forge func(logs)                                       // before it is signed
		later func(t *testing.T, folder string, kept []string) // after
		says  string
		is    string
	}{
		"an admission added": {forge: func(l logs) {
			more := l["a-1"][admission(l["a-1"], 101)]
			more.Who = "a friend"
			l["a-1"] = slices.Insert(l["a-1"], admission(l["a-1"], 101), more)
		}, is: evidence.Tampered, says: "admission 101 is there twice"},
		"an admission added with a number of its own": {forge: func(l logs) {
			for run := range l {
				for i := range l[run] {
					if l[run][i].Number > 100 {
						l[run][i].Number++
					}
				}
			}
			more := l["b-2"][admission(l["b-2"], 100)]
			more.Who, more.Number, more.At = "a friend", 101, more.At+1
			l["b-2"] = slices.Insert(l["b-2"], admission(l["b-2"], 100)+1, more)
		}, is: evidence.Broken, says: "were admitted in a window"},
		"one removed from the middle": {forge: func(l logs) {
			i := admission(l["a-1"], 101)
			l["a-1"] = slices.Delete(l["a-1"], i, i+1)
		}, is: evidence.Tampered, says: "admission 101 of between"},
		"the last ones removed": {forge: func(l logs) {
			for run := range l {
				l[run] = slices.DeleteFunc(l[run], func(l admissionlog.Line) bool { return l.Number > 290 })
			}
		}, is: evidence.Tampered, says: "admissions 291 to 300"},
		"two swapped": {forge: func(l logs) {
			i, k := admission(l["a-1"], 101), admission(l["a-1"], 191)
			l["a-1"][i].Number, l["a-1"][k].Number = 191, 101
		}, is: evidence.Tampered, says: "a clock was set back: admission"},
		"a clock set back": {forge: func(l logs) {
			for i := range l["b-2"] {
				if l["b-2"][i].Number > 150 {
					l["b-2"][i].At -= 7000
				}
			}
		}, is: evidence.Tampered, says: "a clock was set back: admission 152"},
		"somebody kept waiting while others were let in": {forge: func(l logs) {
			l["a-1"][admission(l["a-1"], 291)].Arrived -= 1e6
		}, is: evidence.Broken, says: "was overtaken by"},
		"a log signed anew whose heads somebody kept": {forge: func(l logs) {
			l["a-1"][admission(l["a-1"], 101)].Who = "a friend"
		}, is: evidence.Tampered, says: "the log of run a-1 was written anew, or cut"},
		"the log of a server missing": {later: func(t *testing.T, folder string, _ []string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(folder, "admissions-b-2-0001.jsonl")))
		}, is: evidence.Tampered, says: "the log of run b-2 is missing"},
		"a line cut": {later: func(t *testing.T, folder string, _ []string) {
			t.Helper()
			edit(t, folder, "a-1", func(l []string) []string { l[100] = l[100][:40] + "\n"; return l })
		}, is: evidence.Tampered, says: "admissions-a-1-0001.jsonl, line 101, is cut or damaged"},
		"a line changed": {later: func(t *testing.T, folder string, _ []string) {
			t.Helper()
			edit(t, folder, "a-1", func(l []string) []string {
				l[100] = strings.Replace(l[100], "AS64500", "AS64501", 1)
				l[101] = strings.Replace(l[101], "visitor", "another", 1)
				return l
			})
		}, is: evidence.Tampered, says: "the lines before the head at"},
		"the end cut off": {later: func(t *testing.T, folder string, _ []string) {
			t.Helper()
			edit(t, folder, "a-1", func(l []string) []string { return l[:200] })
		}, is: evidence.Tampered, says: "run a-1 ends at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			all := honest()
			heads := write(t, folder, all)
			if c.forge != nil {
				c.forge(all)
				write(t, folder, all)
			}
			if c.later != nil {
				c.later(t, folder, heads)
			}
			if c.forge != nil && !strings.Contains(name, "heads somebody kept") {
				heads = nil // nobody kept any
			}
			r := judge(t, folder, record, heads...)
			if r.Verdict != c.is || !slices.ContainsFunc(r.Findings, func(f evidence.Finding) bool { return strings.Contains(f.What, c.says) }) {
				t.Errorf("%s: %+v, want %q", r.Verdict, r.Findings, c.says)
			}
		})
	}
	for name, was := range map[string][2]string{
		"a limit changed in the record":         {`"now":{"perMinute":300`, `"now":{"perMinute":600`},
		"an entry taken out of the record":      {`"was":{"perMinute":600`, `"was":{"perMinute":700`},
		"another limit from the very beginning": {`"perMinute":600`, `"perMinute":900`},
	} {
		folder := t.TempDir()
		write(t, folder, honest())
		r := judge(t, folder, strings.ReplaceAll(record, was[0], was[1]))
		if r.Verdict != evidence.Tampered || !strings.Contains(r.Findings[0].What, "the record of changes") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestSeals: an exported record is judged by its seals and hashes. An entry that was changed is named.
func TestSeals(t *testing.T) {
	t.Parallel()
	type entry struct {
		Text string `json:"text"`
	}
	secret := []byte("a secret of the room, of 32 bytes")
	seals := audit.NewSealer(audit.Options{Secrets: [][]byte{secret}})
	doc := struct {
		Exported []entry           `json:"exported"`
		Texts    map[string]string `json:"texts"`
	}{Texts: map[string]string{}}
	head, was := "", json.RawMessage("null")
	for i, perMinute := range []int{600, 601, 600, 300} {
		now := fmt.Appendf(nil, `{"perMinute":%d,"windowSeconds":6,"mode":"queue","title":%q}`, perMinute, strings.Repeat("noon ", 300))
		tail := audit.Tail{Head: head, AtMillis: began - 3000 + int64(i)*1000}
		if i == 3 {
			tail.AtMillis = began + 20_200
		}
		for _, e := range doc.Exported {
			tail.Oldest = append(tail.Oldest, e.Text)
		}
		if tail.Length = i; i > 0 {
			tail.Newest = doc.Exported[0].Text
		}
		a, err := seals.Compose("SHOP", tail, map[string]any{"zoneId": "SHOP", "by": "ada", "was": was, "now": json.RawMessage(now)})
		must(t, err)
		head, was = a.Next, now
		maps.Copy(doc.Texts, a.Texts)
		doc.Exported = slices.Insert(doc.Exported, 0, entry{a.Text})
	}
	text, err := json.Marshal(doc)
	must(t, err)
	quoted, err := json.Marshal(doc.Exported[2])
	must(t, err)
	folder := t.TempDir()
	write(t, folder, honest())
	for name, c := range map[string]struct {
		was, now string
		is, says string
	}{
		"as it was":                {is: evidence.Held},
		"another room's secret":    {`"`, `"`, evidence.Unproved, "no entry is sealed with the secret that was given"},
		"a limit changed":          {`\"perMinute\":601`, `\"perMinute\":610`, evidence.Tampered, "entry 2, of "},
		"the latest limit changed": {`\"perMinute\":300`, `\"perMinute\":310`, evidence.Tampered, "entry 4, of "},
		"an entry taken out":       {string(quoted) + ",", "", evidence.Tampered, "entries 2 to 2 are missing"},
		"a text changed":           {`noon `, `dawn `, evidence.Tampered, "the setting title of entry 4 was changed"},
		"what the server found":    {`{"exported"`, `{"faults":[{"what":"entries 1 to 2 were taken out"}],"exported"`, evidence.Unproved, "entries 1 to 2 were taken out"},
	} {
		changed := strings.ReplaceAll(string(text), c.was, c.now)
		if c.was == "" {
			changed = string(text)
		}
		given := secret
		if name == "another room's secret" {
			given = []byte("a secret of another, of 32 bytes")
		}
		changes, err := evidence.ReadRecord([]byte(changed), "SHOP", given)
		must(t, err)
		runs, faults, err := admissionlog.Read(folder)
		must(t, err)
		r := evidence.Check(&evidence.Source{Zone: "SHOP", Runs: runs, Faults: faults, Keys: keys(t), Record: changes})
		if r.Verdict != c.is || c.says != "" && !slices.ContainsFunc(r.Findings, func(f evidence.Finding) bool { return strings.Contains(f.What, c.says) }) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// Without the secret the hashes show a change, unless it is in the latest entry. The first place is in entry 3.
	if r := judge(t, folder, strings.Replace(string(text), `\"perMinute\":601`, `\"perMinute\":610`, 1)); r.Verdict != evidence.Tampered || !strings.Contains(r.Findings[0].What, "entry 3, of ") {
		t.Errorf("without the secret: %+v", r)
	}
}

// TestUnproved: what a crash and lost answers leave open is said, and is not called tampering.
func TestUnproved(t *testing.T) {
	t.Parallel()
	all := honest()
	// The answer to 101 was lost: the visitor asked again. Of 103 nothing is known but that the store did not answer.
	i := admission(all["a-1"], 101)
	all["a-1"][i].Kind, all["a-1"][i].Number = admissionlog.Repeated, 0
	k := admission(all["a-1"], 103)
	all["a-1"][k] = admissionlog.Line{Kind: admissionlog.Refused, At: all["a-1"][k].At, Zone: "SHOP", Reason: "store_unavailable", Count: 1}
	all["b-2"] = all["b-2"][:len(all["b-2"])-1] // killed
	folder := t.TempDir()
	write(t, folder, all)
	r := judge(t, folder, record)
	if r.Verdict != evidence.Unproved || len(r.Findings) != 2 || r.Figures.Admitted != 299 || !strings.Contains(r.Findings[1].What, "admission 103") {
		t.Errorf("%+v", r)
	}
}

// TestKilledWhileWriting: a log that ends in the middle of a line, without its last head, is what a kill leaves. It is called that, and not forged.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, honest())
	edit(t, folder, "b-2", func(l []string) []string {
		n := len(l) - 1                                   // after it there is an empty one
		return append(slices.Clone(l[:n-2]), l[n-2][:20]) // the last line is cut, and its head is not there
	})
	r := judge(t, folder, record)
	says := func(text string) bool {
		return slices.ContainsFunc(r.Findings, func(f evidence.Finding) bool { return f.Verdict == evidence.Unproved && strings.Contains(f.What, text) })
	}
	if r.Verdict != evidence.Unproved || !says("in the middle of a line") || !says("killed while it wrote") || !says("run b-2 ends at") || r.Figures.Admitted != 300 {
		t.Errorf("%s: %+v", r.Verdict, r.Findings)
	}
}

// TestClocksDiffer: the clock of a server is of no matter. Its heads, its first and last lines and departures are by it; all else is by the store's.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	for i := range all["b-2"] {
		if l := &all["b-2"][i]; l.Zone == "" {
			l.At += 2000
		}
	}
	left := admissionlog.Line{Kind: admissionlog.Left, At: began - 2000, Zone: "SHOP", Who: "visitor-900", Arrived: 1000 * began}
	all["b-2"] = slices.Insert(all["b-2"], 3, left)
	heads := write(t, folder, all)
	if r := judge(t, folder, record, heads...); r.Verdict != evidence.Held || r.Figures.Left != 1 {
		t.Errorf("%+v", r)
	}
}

// TestFullDisk: lines that a server could not write are missing, and the log says so.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder, all := t.TempDir(), honest()
	i := admission(all["a-1"], 101)
	all["a-1"][i] = admissionlog.Line{Kind: admissionlog.Gap, At: all["a-1"][i].At + 4000, Count: 1}
	heads := write(t, folder, all)
	r := judge(t, folder, record, heads...)
	if r.Verdict != evidence.Unproved || len(r.Findings) != 2 || !strings.Contains(r.Findings[0].What, "could not write 1 lines") || !strings.Contains(r.Findings[1].What, "admission 101") {
		t.Errorf("%s: %+v", r.Verdict, r.Findings)
	}
}

// TestFailOver: where the store's data changes the numbers go on; who was told of an admission only when it asked again counts, and whom
// nobody knows of is said to be missing.
func TestFailOver(t *testing.T) {
	t.Parallel()
	all := honest()
	for run := range all {
		for i := range all[run] {
			if l := &all[run][i]; l.Number > 150 || l.Kind == admissionlog.Counted && l.Totals.Admitted > 0 {
				l.Data = "2.9"
			}
		}
	}
	one, two := admission(all["a-1"], 151), admission(all["b-2"], 152)
	all["a-1"][one].Kind, all["a-1"][one].Number = admissionlog.Repeated, 0
	after := counted(all["b-2"][two].At, 152)
	all["b-2"][two], after.Data = admissionlog.Line{Kind: admissionlog.Refused, At: after.At, Zone: "SHOP", Reason: "store_unavailable", Count: 1}, "2.9"
	all["b-2"] = slices.Insert(all["b-2"], two+1, after)
	folder := t.TempDir()
	write(t, folder, all)
	r := judge(t, folder, record)
	if r.Verdict != evidence.Unproved || r.Figures.Admitted != 299 || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].What, "1 without a line") {
		t.Errorf("%+v", r)
	}
}

// TestReceipt: a visitor is told by how many who came later it was overtaken, and why.
func TestReceipt(t *testing.T) {
	t.Parallel()
	all := honest()
	change := func(run string, number int64, do func(*admissionlog.Line)) {
		do(&all[run][admission(all[run], number)])
	}
	its := int64(1000 * (began - 60_000 + 100)) // of admission 101
	change("a-1", 1, func(l *admissionlog.Line) { l.Arrived, l.Due = its+1, l.At-10_000 })
	change("b-2", 2, func(l *admissionlog.Line) { l.Arrived, l.Score, l.Ticket = its+2, its-1, "00ff" })
	change("a-1", 3, func(l *admissionlog.Line) { l.Arrived = its + 3 })
	folder := t.TempDir()
	write(t, folder, all)
	runs, _, err := admissionlog.Read(folder)
	must(t, err)
	s := &evidence.Source{Zone: "SHOP", Runs: runs}
	got := evidence.Receipts(s, "visitor-100")
	want := evidence.Receipt{ArrivedAtMicros: its, AdmittedAt: all["a-1"][admission(all["a-1"], 101)].At, Earlier: 3, Drawn: 1, Returned: 1}
	if len(got) != 1 || got[0] != want || len(evidence.Receipts(s, "nobody")) != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// sign signs claims as servers do.
func sign(t *testing.T, typ string, claims any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	must(t, err)
	var all jwt.MapClaims
	must(t, json.Unmarshal(text, &all))
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, all)
	token.Header["typ"], token.Header["kid"] = typ, "k1"
	jws, err := token.SignedString(key)
	must(t, err)
	return jws
}

// TestBundle: a bundle has all but the logs, says so to whoever has the keys, and shows which logs are not those that were judged.
func TestBundle(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	all := honest()
	heads := write(t, folder, all)
	runs, faults, err := admissionlog.Read(folder)
	must(t, err)
	changes, err := evidence.ReadRecord([]byte(record), "SHOP")
	must(t, err)
	s := &evidence.Source{Zone: "SHOP", Runs: runs, Faults: faults, Keys: keys(t), Record: changes, Heads: heads}
	signed := sign(t, evidence.BundleType, s.Bundle(evidence.Check(s), "1.2.3", time.UnixMilli(began)))
	b, err := keys(t).ReadBundle(signed)
	must(t, err)
	if b.Verdict != evidence.Held || b.Figures.Admitted != 300 || len(b.Logs) != 2 || b.Servers[0] != "1.2.3" || b.Record[0].By != "ada" {
		t.Errorf("the bundle: %+v", b)
	}
	if text, err := json.Marshal(b); err != nil || strings.Contains(string(text), "203.0.113") {
		t.Errorf("%v: the bundle has an address: %s", err, text)
	}
	differs, err := b.Judge(keys(t), runs, faults)
	if err != nil || len(differs) > 0 {
		t.Errorf("the same logs: %q, %v", differs, err)
	}
	all["a-1"][20].Who = "a friend"
	write(t, folder, all)
	runs, faults, err = admissionlog.Read(folder)
	must(t, err)
	differs, err = b.Judge(keys(t), runs, faults)
	if err != nil || len(differs) != 2 || !strings.Contains(differs[0], "admissions-a-1-0001.jsonl is not the file") {
		t.Errorf("another log: %q, %v", differs, err)
	}
	for name, text := range map[string]string{"a head": heads[0], "cut": signed[:len(signed)-2], "empty": ""} {
		if _, err := keys(t).ReadBundle(text); err == nil {
			t.Errorf("%s is taken for a bundle", name)
		}
	}
}

// TestEvent: the span of an event is the one that the record had last.
func TestEvent(t *testing.T) {
	t.Parallel()
	with := func(list string) string { return strings.Replace(record, `"events":[]`, `"events":`+list, 2) }
	changes, err := evidence.ReadRecord([]byte(with(`[{"name":"noon","preQueueAt":"2026-12-01T11:00:00Z","opensAt":"2026-12-01T12:00:00Z"}]`)), "SHOP")
	must(t, err)
	from, to, err := evidence.Event(changes, "noon")
	if want := time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC).UnixMilli(); err != nil || from != want || to != 0 {
		t.Errorf("from %d to %d, %v", from, to, err)
	}
	if _, _, err := evidence.Event(changes, "night"); err == nil {
		t.Error("an event that is not in the record has a span")
	}
}
