package fault

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestRestoreAndMove does what docs/operate/restore.md says, with a line standing: whoever waits keeps the place, newcomers line up behind,
// and who was let in before has the same pass where the page says that admissions come along.
func TestRestoreAndMove(t *testing.T) {
	t.Parallel()
	t.Run("from the embedded store to Redis", func(t *testing.T) {
		t.Parallel()
		s := stand(t, startServer(t, "", nil))
		old := s.web.servers[0]
		config := filepath.Join(t.TempDir(), "zones.json")
		room.Write(t, config, old.Admin(t, http.MethodGet, "/admin/zones", "").Body) // queue-server zones list --json
		old.Stop(t)
		to := startEngine(t)
		to.do(t, "SET", "visitor-key", strings.TrimSpace(room.Read(t, filepath.Join(old.Dir, "data", "visitor-key"))))
		s.now(t, startServer(t, to.URL(), map[string]string{"QUEUE_CONFIG": config}))
		s.keepPlaces(t)
	})
	t.Run("from one Redis to another", func(t *testing.T) {
		t.Parallel()
		from := startEngine(t)
		s := stand(t, startServer(t, from.URL(), nil), startServer(t, from.URL(), nil))
		to := startReplica(t, from)
		for _, server := range s.web.servers {
			server.Stop(t)
		}
		to.do(t, "REPLICAOF", "NO", "ONE")
		s.now(t, startServer(t, to.URL(), nil), startServer(t, to.URL(), nil))
		s.keepPlaces(t)
		s.keepPasses(t)
	})
	t.Run("a snapshot of Redis", func(t *testing.T) {
		t.Parallel()
		e := startEngine(t)
		s := stand(t, startServer(t, e.URL(), nil))
		e.do(t, "SAVE")
		s.waiting = append(s.waiting, s.join(t, "after the snapshot", 5)...)
		e.Kill()
		e.start(t) // with the snapshot in its folder
		s.keepPlaces(t)
		s.keepPasses(t)
	})
	t.Run("a copy of the data folder", func(t *testing.T) {
		t.Parallel()
		s := stand(t, startServer(t, "", nil))
		server := s.web.servers[0]
		data, backup := filepath.Join(server.Dir, "data"), filepath.Join(t.TempDir(), "backup")
		room.Do(t, server.Dir, "cp", "-a", data, backup)
		s.waiting = append(s.waiting, s.join(t, "after the copy", 5)...)
		server.Kill()
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		room.Do(t, server.Dir, "cp", "-a", backup, data)
		server.Launch(t)
		s.keepPlaces(t)
	})
}

// standing is a sale in which some are in and others wait.
type standing struct {
	*sale
	in, waiting []room.Answer
}

// stand has a window's worth let in, and ten wait in a pause.
func stand(t *testing.T, servers ...*room.Server) *standing {
	t.Helper()
	z := zone.Defaults("SALE")
	z.PerMinute, z.IdleTimeoutSeconds, z.MaxPerSecond = 50, 600, zone.PerSecondNone
	s := &standing{sale: newSale(t, z, servers)}
	s.in = s.join(t, "in", 5)
	for i := range s.in {
		room.Await(t, "five are in", func() bool {
			if !s.in[i].CanEnter {
				s.in[i] = s.poll(t, s.in[i].Token)
			}
			return s.in[i].CanEnter
		})
	}
	hold(t, servers[0], "SALE")
	s.waiting = s.join(t, "waits", 10)
	return s
}

// now has the visitors ask other servers.
func (s *standing) now(t *testing.T, servers ...*room.Server) {
	t.Helper()
	s.web.close()
	s.web = newBalancer(servers...)
	t.Cleanup(s.web.close)
}

// keepPlaces: after a round of polls, all who wait stand in their order, and those who came meanwhile or come now stand behind them.
func (s *standing) keepPlaces(t *testing.T) {
	t.Helper()
	var first room.Answer
	room.Await(t, "somebody new gets a place", func() bool {
		var err error
		first, err = s.web.join(t.Context(), "SALE", "a newcomer")
		return err == nil
	})
	for range 2 { // the first poll puts back, the second compares
		for i := range s.waiting {
			s.waiting[i] = s.poll(t, s.waiting[i].Token)
		}
	}
	for i, got := range s.waiting {
		if got.Waiting.Position != int64(i+1) {
			t.Errorf("number %d of those who waited got %+v", i+1, got)
		}
	}
	// A store that is behind does not know that others will come back: the number that a newcomer hears then is too low, and stays.
	if got := s.poll(t, first.Token); got.CanEnter || got.Waiting.Position > int64(len(s.waiting)+1) {
		t.Errorf("the newcomer got %+v", got)
	}
	if last, err := s.web.join(t.Context(), "SALE", "another newcomer"); err != nil || last.Waiting.Position != int64(len(s.waiting)+2) {
		t.Errorf("another newcomer got %+v, %v", last, err)
	}
	if again, err := s.web.join(t.Context(), "SALE", "waits 6"); err != nil || again.Waiting.Position != 1 {
		t.Errorf("the first who waits joins once more and gets %+v, %v", again, err)
	}
}

// keepPasses: whoever was let in before, and asks once more, gets the same pass.
func (s *standing) keepPasses(t *testing.T) {
	t.Helper()
	for i, was := range s.in {
		if got := s.poll(t, was.Token); !got.CanEnter || got.Admission.Pass != was.Admission.Pass {
			t.Errorf("number %d of those who were in got %+v", i+1, got)
		}
	}
}
