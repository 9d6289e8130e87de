package lua

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/store"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, openHarness)
}

// TestModel drives this store and the embedded one side by side, so that the
// two and the model give the same answers.
func TestModel(t *testing.T) {
	t.Parallel()
	conformance.Property(t, openHarness, openEmbedded)
}

func openHarness(t conformance.TB, now func() time.Time) conformance.Harness {
	t.Helper()
	s := openStore(t, now)
	return conformance.Harness{
		Store: s,
		Lose: func(t conformance.TB) store.Store {
			t.Helper()
			s.forgetAll(t)
			return s
		},
		Footprint: s.footprint,
	}
}

func openEmbedded(t conformance.TB, now func() time.Time) conformance.Harness {
	t.Helper()
	open := func() store.Store {
		s, err := embedded.Open(embedded.Options{Now: now})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return s
	}
	return conformance.Harness{Store: open(), Lose: func(conformance.TB) store.Store { return open() }}
}

// footprint names the zone's keys, and how many members each has. Settings and
// counters, the record of changes and how long those who are in had waited stay
// as long as the zone, and the sweeper's lease goes by itself.
func (s *Store) footprint(t conformance.TB, zoneID string) map[string]int {
	t.Helper()
	ctx, sizes := t.Context(), make(map[string]int)
	for _, key := range s.allKeys(t, "{"+zoneID+"}:") {
		name := key[strings.LastIndex(key, "}:")+2:] // the prefix may be a hash tag, too
		var n int64
		var err error
		switch kind := s.client.Type(ctx, key).Val(); {
		case name == "zone" || name == "sweep" || name == "audit" || name == "waits":
			continue
		case kind == "zset":
			n, err = s.client.ZCard(ctx, key).Result()
		case kind == "hash":
			n, err = s.client.HLen(ctx, key).Result()
		case kind == "set":
			n, err = s.client.SCard(ctx, key).Result()
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		sizes[name] = int(n)
	}
	return sizes
}

func TestBooks(t *testing.T) {
	t.Parallel()
	conformance.RunPolicies(t, func(t *testing.T, now func() time.Time) conformance.PolicyStore {
		t.Helper()
		return openStore(t, now)
	})
}
