package infrastructure

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// answer is what a visitor gets.
type answer struct {
	Token    string `json:"token"`
	CanEnter bool   `json:"canEnter"`
	Waiting  *struct {
		PollingPeriod int64 `json:"pollingPeriod"`
	} `json:"waiting"`
}

// served: a visitor takes a place and is let in. The zone's master is
// killed, and another visitor is let in all the same, by its replica; the zones of
// the other masters never notice.
func served(t *testing.T, r *Redis) {
	t.Helper()
	s := r.StartServer(t)
	hit, spared := zoneOf(t, r, 0), zoneOf(t, r, 1)
	for _, zone := range []string{hit, spared} {
		settings := map[string]any{"zoneId": zone, "perMinute": 600, "windowSeconds": 1}
		if status, said := s.Do(t.Context(), http.MethodPut, s.Operators+"/admin/zones/"+zone, settings, nil); status != http.StatusCreated {
			t.Fatalf("zone %s: %d %s", zone, status, said)
		}
		s.letIn(t, zone, "before")
	}
	// One in the line, whose place must outlive the master.
	hold := map[string]any{"perMinute": 0}
	if status, said := s.Do(t.Context(), http.MethodPatch, s.Operators+"/admin/zones/"+hit, hold, nil); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	waits := s.join(t, hit, "waits")
	if waits.CanEnter {
		t.Fatal("let in at a limit of 0")
	}
	goOn := map[string]any{"perMinute": 600}

	master, replica := r.Nodes[0], r.Nodes[3]
	killed := time.Now()
	master.Kill()
	Await(t, startTimeout, "the limit can be set again", func() bool {
		status, _ := s.Do(t.Context(), http.MethodPatch, s.Operators+"/admin/zones/"+hit, goOn, nil)
		return status == http.StatusOK
	})
	out := time.Since(killed)
	if took := s.letIn(t, spared, "while one master is away"); took > 2*time.Second {
		t.Errorf("a zone on another master was held up for %v", took)
	}
	s.poll(t, hit, waits)
	s.letIn(t, hit, "after")
	if now := r.Nodes[1].Master(t, 0); now != replica {
		t.Errorf("shard 0 is served by %+v, want its replica", now)
	}
	t.Logf("calls of the zone failed for %v; the node timeout is %d ms", out.Round(10*time.Millisecond), nodeTimeoutMilliseconds)

	if status, _ := s.Do(t.Context(), http.MethodGet, s.Operators+"/metrics", nil, nil); status != http.StatusOK {
		t.Errorf("what Prometheus scrapes: %d", status)
	}
	// The killed node comes back as the replica of who took over.
	master.Start(t)
	r.AwaitWhole(t)
	if now := r.Nodes[1].Master(t, 0); now != replica {
		t.Errorf("the node that was away took its slots back: %+v", now)
	}
}

// zoneOf returns the name of a zone whose keys lie on a shard.
func zoneOf(t *testing.T, r *Redis, shard int) string {
	t.Helper()
	for i := range 100 {
		name := "ZONE" + strconv.Itoa(i)
		said, err := r.Nodes[0].Admin(t.Context(), "cluster", "keyslot", "{"+name+"}")
		slot, badSlot := strconv.Atoi(said)
		if err != nil || badSlot != nil {
			t.Fatalf("slot of %s: %q, %v", name, said, err)
		}
		if slot*shards/16_384 == shard {
			return name
		}
	}
	t.Fatalf("no zone lies on shard %d", shard)
	return ""
}

// join takes a place, as often as it takes.
func (s *Server) join(t *testing.T, zone, who string) (a answer) {
	t.Helper()
	body := map[string]any{"zoneId": zone, "clientIp": "203.0.113.9", "clientAgent": "WEB", "clientId": zone + who}
	Await(t, startTimeout, who+" joins", func() bool {
		status, said := s.Do(t.Context(), http.MethodPost, s.Public+"/traffic/wait", body, &a)
		if status != http.StatusOK && status != http.StatusServiceUnavailable && status != 0 {
			t.Fatalf("%s joins: %d %s", who, status, said)
		}
		return status == http.StatusOK
	})
	return a
}

// poll polls until the visitor is let in.
func (s *Server) poll(t *testing.T, zone string, a answer) {
	t.Helper()
	Await(t, startTimeout, "the visitor is let in", func() bool {
		status, said := s.Do(t.Context(), http.MethodPost, s.Public+"/traffic/entry", map[string]any{"zoneId": zone, "token": a.Token}, &a)
		if status != http.StatusOK && status != http.StatusServiceUnavailable && status != 0 {
			t.Fatalf("poll: %d %s", status, said)
		}
		return status == http.StatusOK && a.CanEnter
	})
}

// letIn joins and polls, and returns how long it took.
func (s *Server) letIn(t *testing.T, zone, who string) time.Duration {
	t.Helper()
	began := time.Now()
	if a := s.join(t, zone, who); !a.CanEnter {
		s.poll(t, zone, a)
	}
	return time.Since(began)
}
