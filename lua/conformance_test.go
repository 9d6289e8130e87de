package lua

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
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

// TestOutside: the shop never sees more inside than the cap, whatever Redis loses.
func TestOutside(t *testing.T) {
	t.Parallel()
	conformance.Outside(t, func(t conformance.TB, now func() time.Time) conformance.Harness { return openStore(t, now).harness() })
}

func TestSpends(t *testing.T) {
	t.Parallel()
	conformance.Spends(t, openHarness, openEmbedded)
	conformance.Visits(t, openHarness, openEmbedded)
	conformance.SpendsOnce(t, openStore(t, nil))
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	conformance.Documents(t, openStore(t, clock.Now), clock)
}

func TestTampered(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s := openStore(t, clock.Now)
	conformance.Tampered(t, s, clock, func(t *testing.T, name string, p audit.Page) {
		t.Helper()
		keys, ctx := s.recordKeys(name), t.Context()
		must(t, s.client.Del(ctx, keys...).Err())
		for _, text := range p.Entries {
			must(t, s.client.RPush(ctx, keys[0], text).Err())
		}
		must(t, s.client.HSet(ctx, keys[1], "n", "o").Err())
		if p.Head != "" {
			must(t, s.client.HSet(ctx, keys[1], "head", p.Head).Err())
		}
		for hash, text := range p.Texts {
			must(t, s.client.HSet(ctx, keys[1], hash, text).Err())
		}
	})
}

func openHarness(t conformance.TB, now func() time.Time) conformance.Harness {
	t.Helper()
	s := openStore(t, now)
	t.Cleanup(func() { s.checkSeen(t) })
	return s.harness()
}

func (s *Store) harness() conformance.Harness {
	return conformance.Harness{
		Store: s,
		Lose: func(t conformance.TB) store.Store {
			t.Helper()
			s.forgetAll(t)
			return s
		},
		Mark: s.mark,
		LoseKey: func(t conformance.TB, zoneID, key string) {
			t.Helper()
			if err := s.client.Unlink(t.Context(), s.prefix+"{"+zoneID+"}:"+key).Err(); err != nil {
				t.Fatalf("unlink: %v", err)
			}
		},
		Footprint: s.footprint,
	}
}

// checkSeen fails unless exactly the visitors in a line have a field among its seen buckets, each in the bucket of its score.
func (s *Store) checkSeen(t conformance.TB) {
	t.Helper()
	ctx := context.Background() // the test's own has ended
	for _, key := range s.allKeys(t, "") {
		tag, isLine := strings.CutSuffix(key, "}:line")
		if !isLine {
			continue
		}
		fields := 0
		for _, w := range s.client.ZRangeWithScores(ctx, key, 0, -2).Val() { // the last is there for the key's sake
			bucket := fmt.Sprintf("%s}:seen:%d", tag, seenBucket(int64(w.Score)))
			if seen := s.client.HGet(ctx, bucket, fmt.Sprint(w.Member)).Val(); len(seen) < 8 {
				t.Errorf("%q waits at %.0f, and has no last poll in %s", w.Member, w.Score, bucket)
			}
			fields--
		}
		for _, bucket := range s.allKeys(t, strings.TrimPrefix(tag, s.prefix)+"}:seen:") {
			fields += int(s.client.HLen(ctx, bucket).Val())
		}
		if fields != 0 {
			t.Errorf("%s} has %d last polls more than visitors", tag, fields)
		}
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

// TestFailOver drives this store and the model, where a fail-over loses the last second.
func TestFailOver(t *testing.T) {
	t.Parallel()
	conformance.Property(t, openHarness)
}

// mark remembers all keys. To rewind writes them again, as another node has them.
func (s *Store) mark(t conformance.TB) (rewind func(t conformance.TB)) {
	t.Helper()
	type kept struct {
		key, text string
		ttl       time.Duration
	}
	var all []kept
	for _, key := range s.allKeys(t, "") {
		text, err := s.client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		all = append(all, kept{key, text, max(0, s.client.PTTL(t.Context(), key).Val())})
	}
	return func(t conformance.TB) {
		t.Helper()
		s.forgetAll(t)
		for _, k := range all {
			if err := s.client.Restore(t.Context(), k.key, k.ttl, k.text).Err(); err != nil {
				t.Fatalf("%s: %v", k.key, err)
			}
			if strings.HasSuffix(k.key, "}:zone") {
				if err := s.client.HSet(t.Context(), k.key, "run_id", "another").Err(); err != nil {
					t.Fatalf("%s: %v", k.key, err)
				}
			}
		}
	}
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
		case name == "zone" || name == "sweep" || name == "audit" || name == "record" || name == "waits":
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
		if kept := []string{"line", "live", "due", "log", "inside", "over", "departed"}; slices.Contains(kept, name) {
			n-- // for the key's sake
		}
		if n > 0 {
			sizes[name] = int(n)
		}
	}
	return sizes
}

// TestClockBehind: the clock of the node that takes over is behind. Who joined in the time that is lost
// has not polled again when newcomers come, and keeps the place before them.
func TestClockBehind(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s := openStore(t, clock.Now)
	z := zone.Defaults("Z")
	z.PerMinute = 0
	if _, err := s.PutZone(t.Context(), z, nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
	join := func(name byte) line.Answer {
		t.Helper()
		a, err := s.Join(t.Context(), z.ZoneID, line.ID{name})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	join('a')
	failOver := s.mark(t)
	clock.Add(500 * time.Millisecond)
	lost := join('b')
	failOver(t)
	clock.Add(-10 * time.Second)
	for _, newcomer := range []byte("cde") {
		clock.Add(time.Second)
		join(newcomer)
	}
	a, err := s.Poll(t.Context(), z.ZoneID, lost.Place)
	if err != nil || a.Status != line.Waiting || !a.Restored || a.Position != 2 {
		t.Errorf("who joined just before the fail-over: %v, restored %t, position %d, %v; want waiting, restored, 2", a.Status, a.Restored, a.Position, err)
	}
}

// TestClockSetForward: the clock of Redis is set, and those of two servers are not.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	clock, steady := conformance.NewClock(), conformance.NewClock()
	one := openStore(t, clock.Now)
	other := openPatient(t, sharedServer(t), clock.Now)
	defer other.close(t)
	other.prefix = one.prefix
	one.steady, other.steady = steady.Now, steady.Now
	conformance.Stepped(t, []store.Store{one, other}, func(by, set time.Duration) {
		steady.Add(by)
		clock.Add(by + set)
	})
}
