package room

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

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

// Request makes a request, with headers by name and value. The answer of a server of this
// test run is held against the API's description.
func Request(t testing.TB, method, url, body string, header ...string) Reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: Transport}
	if d, ok := documents.Load(req.URL.Host); ok {
		document, _ := d.(*openapitest.Document)
		client.Transport = document.Transport(t, Transport)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return Reply{res.StatusCode, res.Header, string(text)}
}

// Admin asks the operators' listener, with the token.
func (s *Server) Admin(t testing.TB, method, path, body string) Reply {
	t.Helper()
	return Request(t, method, s.Operators+path, body, "Authorization", "Bearer "+OperatorToken)
}

// Soon repeats a request until the answer has the text, and returns the answer: for what is
// looked at once a second.
func Soon(t testing.TB, method, url, text string) Reply {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(Patience); ; <-again.C {
		if got := Request(t, method, url, ""); strings.Contains(got.Body, text) || time.Now().After(deadline) {
			return got
		}
	}
}

// Told is a 200 of the public listener to one who joins or polls.
type Told struct {
	Token    string `json:"token"`
	CanEnter bool   `json:"canEnter"`
	Waiting  struct {
		PollingPeriod int64 `json:"pollingPeriod"`
	} `json:"waiting"`
	Admission struct {
		AdmittedAt int64  `json:"admittedAt"`
		Pass       string `json:"pass"`
	} `json:"admission"`
}
