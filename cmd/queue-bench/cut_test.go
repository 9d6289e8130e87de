package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Of the requests that are cut, the server never sees some, and of others the visitor gets
// no answer, or a part.
func TestCutter(t *testing.T) {
	t.Parallel()
	const requests, body = 2000, `{"zoneId":"Z"}`
	answer := strings.Repeat("x", 1000)
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && string(text) == body {
			seen.Add(1)
		}
		w.Header().Set("Retry-After", "7")
		_, _ = io.WriteString(w, answer) // the proxy reads all of it
	}))
	defer server.Close()
	addr, err := startCutter(t.Context(), server.Listener.Addr().String(), 0.3)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var whole, part, none int64
	for range requests {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/traffic/wait", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			none++
			continue
		}
		text, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) && len(text) < len(answer):
			part++
		case err == nil && string(text) == answer && res.Header.Get("Retry-After") == "7":
			whole++
		default:
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	}
	before := requests - seen.Load()
	// Of 600, with room for chance: the odds against are beyond a million to one.
	for name, n := range map[string][3]int64{
		"before": {before, 170, 310}, "after": {none - before, 170, 310}, "middle": {part, 70, 180}, "not": {whole, 1290, 1510},
	} {
		if n[0] < n[1] || n[0] > n[2] {
			t.Errorf("%s: %d cut, want %d to %d", name, n[0], n[1], n[2])
		}
	}
}

// What only asks for the zone, and what need not be cut, passes.
func TestCutterPassesReads(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
	}))
	defer server.Close()
	addr, err := startCutter(t.Context(), server.Listener.Addr().String(), 1)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get("http://" + addr + "/traffic/zones/Z")
	if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusTeapot {
		t.Errorf("got %v, %v", res, err)
	}
	if res, err := http.Post("http://"+addr+"/traffic/wait", "", nil); err == nil {
		// Cut in the middle: its body ends too soon.
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil {
			t.Errorf("a POST got %s, %q where all are cut", res.Status, body)
		}
	}
}
