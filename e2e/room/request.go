package room

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// Transport keeps no connections, so that none outlives its test.
var Transport = &http.Transport{DisableKeepAlives: true}

// documents has, by address, what each listener of the tests' servers must answer.
var documents sync.Map

// Reply is what a request got.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Value returns the field of a JSON body at a path of names, or nil.
func (r Reply) Value(t testing.TB, path ...string) any {
	t.Helper()
	var at any
	if err := json.Unmarshal([]byte(r.Body), &at); err != nil {
		t.Fatalf("body %q: %v", r.Body, err)
	}
	for _, name := range path {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at
}

// Ask makes a request, with headers by name and value. The client is a crowd's; nil for one that keeps no
// connections. The answer of a server of this test run is held against the API's description, and is returned with
// what is wrong.
func Ask(ctx context.Context, client *http.Client, method, url, body string, header ...string) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	by := client
	if by == nil {
		by = &http.Client{Transport: Transport, Timeout: Patience}
	}
	res, err := by.Do(req)
	if err != nil {
		return Reply{}, err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it was read to its end, or broke
	if err != nil {
		return Reply{}, err
	}
	if d, ok := documents.Load(req.URL.Host); ok && looks(client, res.StatusCode) {
		document, _ := d.(*openapitest.Document)
		if document.Describes(req.URL.Path) {
			err = document.Check(ctx, openapitest.Exchange{
				Request: req, Sent: []byte(body), Status: res.StatusCode, Header: res.Header, Body: text,
			})
		}
	}
	return Reply{res.StatusCode, res.Header, string(text)}, err
}

// lookEvery: one of so many good answers to a crowd is looked at. All of them would take the time that the crowd is
// measured by.
const lookEvery = 64

func looks(crowd *http.Client, status int) bool {
	return crowd == nil || status != http.StatusOK || rand.IntN(lookEvery) == 0
}

// Request is Ask for what must be answered.
func Request(t testing.TB, method, url, body string, header ...string) Reply {
	t.Helper()
	r, err := Ask(t.Context(), nil, method, url, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Admin asks the operators' listener, with the token.
func (s *Server) Admin(t testing.TB, method, path, body string) Reply {
	t.Helper()
	return Request(t, method, s.Operators+path, body, "Authorization", "Bearer "+OperatorToken)
}

// Until repeats a request until the answer has the text, and returns the answer: for what is
// looked at once a second.
func Until(t testing.TB, method, url, text string) (r Reply) {
	t.Helper()
	Soon(t, Patience, func() bool {
		r = Request(t, method, url, "")
		return strings.Contains(r.Body, text)
	})
	return r
}

// Answer is what the public listener says to one who joins or polls, the document of an answer or that of a
// refusal.
type Answer struct {
	Token    string `json:"token"`
	CanEnter bool   `json:"canEnter"`
	Waiting  struct {
		Position        int64 `json:"position"`
		PollingPeriod   int64 `json:"pollingPeriod"` // milliseconds
		ArrivedAtMicros int64 `json:"arrivedAtMicros"`
		// EstimatedWait, and the range that it is in, are milliseconds.
		EstimatedWait      int64 `json:"estimatedWait"`
		EstimatedWaitRange struct {
			Low  int64 `json:"low"`
			High int64 `json:"high"`
		} `json:"estimatedWaitRange"`
	} `json:"waiting"`
	Admission struct {
		AdmittedAt int64  `json:"admittedAt"` // Unix milliseconds
		ExpiresAt  int64  `json:"expiresAt"`
		Pass       string `json:"pass"`
	} `json:"admission"`
	Type string `json:"type"`
	Code string `json:"code"`
	// Challenge is what a 403 challenge_required asks for.
	Challenge *challenge.RequiredError `json:"challenge"`
}

// Join asks for a place as a visitor does, with what it says beside the zone, such as clientId.
func Join(ctx context.Context, client *http.Client, public, zoneID string, says map[string]string, header ...string) (r Reply, told Answer, err error) {
	says["zoneId"] = zoneID
	text, err := json.Marshal(says)
	if err == nil {
		r, err = Ask(ctx, client, http.MethodPost, public+"/traffic/wait", string(text), header...)
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.Body), &told)
	}
	return r, told, err
}

// Config writes a file with this text, such as zones, and returns its name.
func Config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queue.yaml")
	Write(t, path, text)
	return path
}
