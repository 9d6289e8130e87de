package entry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/line"
)

// BenchmarkPoll measures a poll, all but the store. cmd/queue-bench compares it with a bare handler.
func BenchmarkPoll(b *testing.B) {
	r := newRoom(b)
	place, tok := r.join(b)
	body := fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok)
	waiting := line.Told{EstimateMillis: 61000, Answer: line.Answer{
		Status: line.Waiting, Place: place, Position: 1234, PeriodMillis: 9400, State: line.State{Waiting: 5000},
	}}
	service := entry.New(always{answer: waiting}, answer.NewIssuer(r.tokens, r.passes), deaf{})
	h := routes(service, nil, slog.New(slog.DiscardHandler), deaf{})
	in := strings.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/traffic/entry", in)
	req.Header.Set("Content-Type", "application/json")
	w := &discard{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(body)
		req.Body = io.NopCloser(in)
		clear(w.header)
		w.status, w.bytes = 0, 0
		h.ServeHTTP(w, req)
		if w.status != http.StatusOK || w.bytes < 200 {
			b.Fatalf("answered %d with %d bytes", w.status, w.bytes)
		}
	}
}

// discard is a ResponseWriter that keeps the header only.
type discard struct {
	header        http.Header
	status, bytes int
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }
func (d *discard) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// always is a store with one answer to all polls.
type always struct{ answer line.Told }

func (a always) Poll(context.Context, string, line.Place) (line.Told, error) {
	return a.answer, nil
}

// deaf is a meter that does nothing.
type deaf struct{}

func (deaf) Poll(string, string)         {}
func (deaf) Admit(string, time.Duration) {}
func (deaf) Refuse(string, string)       {}
