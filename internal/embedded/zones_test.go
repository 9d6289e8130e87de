package embedded

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// brief returns the record of all zones on one line, the newest first.
func brief(t *testing.T, s *Store) string {
	t.Helper()
	all, err := s.Changes(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %t>%t by %s", c.ZoneID, c.Was != nil, c.Now != nil, c.Name))
	}
	return strings.Join(out, ", ")
}

// TestRecordSurvives: the record of a zone survives restarts, that of a deleted zone for as
// long as an entry is kept.
func TestRecordSurvives(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		for i, id := range []string{"a", "b"} {
			clock.Add(time.Second)
			if _, err := s.PutZone(t.Context(), zone.Defaults(id), nil, audit.By{Name: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		clock.Add(time.Second)
		must(t, s.DeleteZone(t.Context(), "a", audit.By{Name: "2"}))
		r.end(s)
		const want = "a true>false by 2, b false>true by 1, a false>true by 0"
		for range 2 { // what was read is written again
			s = r.open()
			if got := brief(t, s); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			r.end(s)
		}
		clock.Add(audit.DefaultKeep + time.Second)
		stop(t, r.open()) // which drops what is too old
		if got := brief(t, r.open()); got != "b false>true by 1" {
			t.Errorf("more than a quarter of a year later: %s", got)
		}
	})
}

// TestAnewAfterARestart: a zone that is deleted and made again admits no more than without
// that, even if the server was restarted in between.
func TestAnewAfterARestart(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		z := zone.Defaults("z")
		z.PerMinute = 10
		s := r.open()
		put(t, s, z)
		join(t, s, 1)
		must(t, s.DeleteZone(t.Context(), "z", audit.By{}))
		r.end(s)

		clock.Add(time.Second)
		s = r.open()
		put(t, s, z)
		a, err := s.Join(t.Context(), "z", testID(2))
		if err != nil || a.Status != line.Waiting {
			t.Fatalf("%+v, %v", a, err)
		}
		clock.Add(5*time.Second + time.Millisecond)
		if a, err = s.Poll(t.Context(), "z", a.Place); err != nil || a.Status != line.Admitted {
			t.Errorf("a window after the first: %+v, %v", a, err)
		}
	})
}

// TestNobodyEntersADeletedZone: not even a visitor whose call had found the zone before.
func TestNobodyEntersADeletedZone(t *testing.T) {
	t.Parallel()
	s := reopen(t, t.TempDir(), nil)
	put(t, s, zone.Defaults("z"))
	q, err := s.queue("z")
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.DeleteZone(t.Context(), "z", audit.By{}))
	s.mu.Lock()
	s.queues["z"] = q // as a call has it that looked the zone up before
	s.mu.Unlock()
	if _, err := s.Join(t.Context(), "z", testID(1)); !errors.Is(err, line.ErrZoneDeleted) {
		t.Errorf("error %v, want ErrZoneDeleted", err)
	}
}
