package zones

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// open returns a server over a store that can hang, as cmd wires it, with a
// zone for each policy. To be called in a bubble.
func open(t *testing.T) (*wire, *Zones) {
	t.Helper()
	store := &wire{Store: parts.OpenStore(t, time.Now, nil).Store}
	for _, policy := range []zone.FailurePolicy{zone.FailureHold, zone.FailureAdmit} {
		s := zone.Defaults(string(policy))
		s.PerMinute, s.OnStoreFailure = 10, policy
		if _, err := store.PutZone(t.Context(), s, nil, audit.By{}); err != nil {
			t.Fatal(err)
		}
	}
	return store, serve(t, store)
}

// serve returns one more server over a store. It hears of the zone that admits.
func serve(t *testing.T, store *wire) *Zones {
	t.Helper()
	lines := New(Options{Store: store, Servers: 1, Within: Within})
	lines.Start(t.Context())
	t.Cleanup(lines.Stop)
	hear(t, lines)
	return lines
}

// hear has a server hear of the line, as it does once a second.
func hear(t *testing.T, lines *Zones) {
	t.Helper()
	if _, err := lines.Stats(t.Context(), string(zone.FailureAdmit)); err != nil {
		t.Fatal(err)
	}
}

// wait takes two places and returns that of the one who waits.
func wait(t *testing.T, lines *Zones, zoneID string) line.Place {
	t.Helper()
	for i := range 2 {
		a, err := lines.Join(t.Context(), zoneID, line.ID{byte(i)})
		parts.Must(t, err)
		if a.Status == line.Waiting {
			return a.Place
		}
	}
	t.Fatal("nobody waits")
	return line.Place{}
}

func TestAHungStoreIsAnsweredForInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, lines := open(t)
		place := wait(t, lines, "hold")
		store.hangs.Store(true)
		calls := map[string]func() error{
			"poll": func() error {
				_, err := lines.Poll(t.Context(), "hold", place)
				return err
			},
			"join": func() error {
				_, err := lines.Join(t.Context(), "hold", line.ID{9})
				return err
			},
			"leave": func() error { return lines.Leave(t.Context(), "hold", place) },
			"a zone that is not known": func() error {
				_, err := lines.Zone(t.Context(), "OTHER")
				return err
			},
		}
		<-time.After(2 * time.Second) // what was listed before is no longer fresh
		for range 20 {
			for name, call := range calls {
				began := time.Now()
				err := call()
				if took := time.Since(began); !errors.Is(err, line.ErrStoreUnavailable) || took > 500*time.Millisecond {
					t.Errorf("%s: %v after %v", name, err, took)
				}
			}
		}
		store.hangs.Store(false)
		if a, err := lines.Poll(t.Context(), "hold", place); err != nil || a.Status != line.Admitted {
			t.Errorf("back: %+v, %v", a, err)
		}
	})
}

func TestAHungStoreIsDoneWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, lines := open(t)
		place := wait(t, lines, "admit")
		hear(t, lines)
		store.hangs.Store(true)
		poll := func() (a line.Told, took time.Duration, err error) {
			began := time.Now()
			a, err = lines.Poll(t.Context(), "admit", place)
			return a, time.Since(began), err
		}
		// One visitor is enough to notice; the probes go on.
		if _, took, err := poll(); !errors.Is(err, line.ErrStoreUnavailable) || took != Within {
			t.Fatalf("%v after %v", err, took)
		}
		<-time.After(15 * time.Second)
		first, took, err := poll()
		if err != nil || !first.Local || took != 0 {
			t.Fatalf("%+v, %v after %v; want an admission at once", first, err, took)
		}

		store.hangs.Store(false)
		<-time.After(time.Minute)
		if again, _, err := poll(); err != nil || again.Status != line.AdmittedBefore || !again.Local {
			t.Errorf("repeated after the outage: %+v, %v", again, err)
		}
		if a, err := lines.Join(t.Context(), "admit", line.ID{9}); err != nil || a.Local || a.Status != line.Admitted {
			t.Errorf("a newcomer after the outage: %+v, %v", a, err)
		}
	})
}
