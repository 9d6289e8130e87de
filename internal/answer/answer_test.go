package answer_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
)

// document is the contract's answer, as encoding/json reads and writes it.
type document struct {
	ZoneID    string     `json:"zoneId"`
	Token     string     `json:"token"`
	PlaceID   string     `json:"placeId"`
	CanEnter  bool       `json:"canEnter"`
	Waiting   *waiting   `json:"waiting,omitempty"`
	Admission *admission `json:"admission,omitempty"`
}

type waiting struct {
	Position        int64 `json:"position"`
	Total           int64 `json:"total"`
	EstimatedWait   int64 `json:"estimatedWait"`
	PollingPeriod   int64 `json:"pollingPeriod"`
	ArrivedAtMicros int64 `json:"arrivedAtMicros"`
	Notice          int64 `json:"notice,omitempty"`
}

type admission struct {
	AdmittedAt int64  `json:"admittedAt"`
	ExpiresAt  int64  `json:"expiresAt"`
	Pass       string `json:"pass"`
}

func waitingAnswer() answer.Answer {
	return answer.Answer{
		ZoneID: "TEST_ZONE", Token: "AQdmMGE4YjNjMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ubw",
		Line: line.Told{EstimateMillis: 61000, Answer: line.Answer{
			Status: line.Waiting, Place: line.Place{ID: line.ID{7: 1}, ArrivedAtMicros: 1795223373123456},
			Position: 1234, PeriodMillis: 9400, State: line.State{Waiting: 5000},
		}},
	}
}

func TestAnswerIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	a := waitingAnswer()
	want := `{"zoneId":"TEST_ZONE","token":"AQdmMGE4YjNjMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ubw","placeId":"0000000000002W","canEnter":false,` +
		`"waiting":{"position":1234,"total":5000,"estimatedWait":61000,"pollingPeriod":9400,` +
		`"arrivedAtMicros":1795223373123456}}` + "\n"
	if got := string(a.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a.Line.LowMillis, a.Line.HighMillis, a.Line.Reason = 52000, 75000, line.Faster
	if got := string(a.AppendJSON(nil)); !strings.Contains(got, `"estimatedWait":61000,"estimatedWaitRange":{"low":52000,"high":75000},"reason":"faster","pollingPeriod":9400,`) {
		t.Errorf("with a range: %s", got)
	}
	a.Line.LowMillis, a.Line.HighMillis, a.Line.Reason = 0, 0, line.NoReason
	a.Notice = 3019274562
	if got := string(a.AppendJSON(nil)); !strings.Contains(got, `"arrivedAtMicros":1795223373123456,"notice":3019274562}}`) {
		t.Errorf("got %s, want the notice last", got)
	}
	// Far from the door a position is rounded up, past those who wait.
	a.Line.Position = 5100
	if got := string(a.AppendJSON(nil)); !strings.Contains(got, `"position":5100,"total":5100,`) {
		t.Errorf("got %s, want a total of 5100", got)
	}
	a = answer.Answer{
		ZoneID: "Z", Token: "T", Pass: "P",
		Line: line.Told{Answer: line.Answer{
			Status: line.AdmittedBefore, AdmittedAtMillis: 1795223434123, ExpiresAtMillis: 1795223734123,
		}},
	}
	want = `{"zoneId":"Z","token":"T","placeId":"00000000000000","canEnter":true,` +
		`"admission":{"admittedAt":1795223434123,"expiresAt":1795223734123,"pass":"P"}}` + "\n"
	if got := string(a.AppendJSON([]byte{})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzAppendJSON writes answers and reads them back with encoding/json.
func FuzzAppendJSON(f *testing.F) {
	f.Add("TEST_ZONE", "token", "pass", uint8(line.Waiting), int64(1), int64(2), int64(3), int64(4), int64(5))
	f.Add("a\"b\\c", "\x00\x1f\x7f<&>\u2028", "é€😀", uint8(line.Admitted), int64(-1), int64(0), int64(1)<<62, int64(7), int64(-1)<<63)
	f.Add("\xff\xed\xa0\x80", "", "", uint8(line.AdmittedBefore), int64(0), int64(0), int64(0), int64(0), int64(0))
	// A position that is rounded up, beyond the total: see line.Answer.
	f.Add("TEST_ZONE", "token", "", uint8(line.Waiting), int64(1), int64(98), int64(3), int64(4), int64(5))
	f.Fuzz(func(t *testing.T, zoneID, token, pass string, status uint8, v, w, x, y, z int64) {
		a := answer.Answer{
			ZoneID: zoneID, Token: token, Pass: pass, Notice: w,
			Line: line.Told{EstimateMillis: x, Answer: line.Answer{
				Status: line.Status(status), Place: line.Place{ArrivedAtMicros: v},
				Position: w, PeriodMillis: y, State: line.State{Waiting: z},
				AdmittedAtMillis: x, ExpiresAtMillis: y,
			}},
		}
		want := document{ZoneID: zoneID, Token: token, PlaceID: line.ID{}.PlaceID()}
		if a.Line.Status == line.Waiting {
			want.Waiting = &waiting{Position: w, Total: max(w, z), EstimatedWait: x, PollingPeriod: y, ArrivedAtMicros: v, Notice: w}
		} else {
			want.CanEnter = true
			want.Admission = &admission{AdmittedAt: x, ExpiresAt: y, Pass: pass}
		}
		prefix := []byte("before")
		written := a.AppendJSON(bytes.Clone(prefix))
		body, ok := bytes.CutPrefix(written, prefix)
		if !ok {
			t.Fatalf("%q does not begin with %q", written, prefix)
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		var got document
		if err := dec.Decode(&got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		// Through encoding/json once, for what it makes of bytes that are not
		// UTF-8; then both are as it writes them.
		if g, w := remarshal(t, got), remarshal(t, want); g != w {
			t.Fatalf("wrote %s\nread  %s\nwant  %s", body, g, w)
		}
	})
}

func remarshal(t *testing.T, d document) string {
	t.Helper()
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var again document
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(again); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRetryAfterSeconds(t *testing.T) {
	t.Parallel()
	for millis, want := range map[int64]int64{0: 1, 1: 1, 1000: 1, 1001: 2, 9400: 10, 20_000: 20} {
		a := answer.Answer{Line: line.Told{Answer: line.Answer{PeriodMillis: millis}}}
		if got := a.RetryAfterSeconds(); got != want {
			t.Errorf("%d ms: got %d s, want %d s", millis, got, want)
		}
	}
}

func TestWaited(t *testing.T) {
	t.Parallel()
	tests := []struct {
		arrivedMicros, admittedMillis int64
		want                          time.Duration
	}{
		{1_000_000_000, 1_000_000, 0},
		{1_000_000_000, 1_061_500, 61500 * time.Millisecond},
		{1_000_000_500, 1_000_001, 500 * time.Microsecond},
		{1_000_000_999, 1_000_000, 0}, // the millisecond is that of the arrival, cut off
		{2_000_000_000, 1_000_000, 0},
	}
	for _, tt := range tests {
		a := line.Told{Answer: line.Answer{AdmittedAtMillis: tt.admittedMillis, Place: line.Place{ArrivedAtMicros: tt.arrivedMicros}}}
		if got := answer.Waited(a); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
