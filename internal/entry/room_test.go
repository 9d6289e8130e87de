package entry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

const zoneID = "TEST_ZONE"

// server is a server whose zone admits one in 6 s.
type server struct {
	*room.Server
	joined byte
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{Server: room.New(tb, zoneID, 10)}
	_, err := s.Store.PutZone(tb.Context(), capped, nil, audit.By{})
	room.Must(tb, err)
	s.Zones.RunOnce(tb.Context())
	s.Store.Asked()
	return s
}

// used reports whether the visitor has used a ticket of the spring sale.
func (s *server) used(t *testing.T, id line.ID) bool {
	t.Helper()
	visit, err := s.Tickets.Visit(t.Context(), zoneID, "spring", id, store.Visit{})
	room.Must(t, err)
	return visit != store.Visit{}
}

// place takes a place past the room, and returns it and its token. They are the same in every run, as the processes of a fuzz
// test need.
func (s *server) place(tb testing.TB) (line.Place, string) {
	tb.Helper()
	s.joined++
	a, err := s.Store.Store.Join(context.Background(), zoneID, line.ID{s.joined})
	room.Must(tb, err)
	return a.Place, s.Tokens.Sign(zoneID, a.Place)
}

func (s *server) send(body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.HTTP.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/traffic/entry", body))
	return w
}
