package lua

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestHeaders holds each script's header to what it uses: every key and
// argument is named there, and nothing else is.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, sc := range scripts {
		var header, body strings.Builder
		for l := range strings.Lines(sc.text) {
			if code, comment, found := strings.Cut(l, "--"); found && strings.TrimSpace(code) == "" {
				header.WriteString(comment)
			} else {
				body.WriteString(code + "\n")
			}
		}
		named, used := mentioned(header.String()), mentioned(body.String())
		for what := range used {
			if !named[what] {
				t.Errorf("%s.lua uses %s, which no header names", sc.name, what)
			}
		}
		for what := range named {
			// Arguments beyond the second of poll.lua are a list.
			if list := sc.name == "poll" && strings.HasPrefix(what, "ARGV"); !used[what] && !list {
				t.Errorf("%s.lua: the header names %s, which is not used", sc.name, what)
			}
		}
		if !strings.HasPrefix(sc.text, "#!lua") {
			t.Errorf("%s.lua does not begin with #!lua", sc.name)
		}
	}
}

var mention = regexp.MustCompile(`(KEYS|ARGV)\[(\d+)(?:\.\.(\d+))?\]`)

// mentioned are the keys and arguments in the text, ranges spelt out.
func mentioned(text string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[2])
		to, err := strconv.Atoi(m[3])
		if err != nil {
			to = from
		}
		for ; from <= to; from++ {
			all[m[1]+"["+strconv.Itoa(from)+"]"] = true
		}
	}
	return all
}

// snapshot is all that a store holds, by key, as Redis would write it to disk.
func (s *Store) snapshot(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range s.allKeys(t, "") {
		all[key] = s.client.Dump(t.Context(), key).Val()
	}
	return all
}

// changed are the keys that differ.
func changed(before, after map[string]string) []string {
	keys := make(map[string]bool)
	for key := range before {
		keys[key] = before[key] != after[key]
	}
	for key := range after {
		keys[key] = before[key] != after[key]
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(keys))
}

// visitor is the id of one whose name has that letter.
func visitor(letter byte) (id line.ID) {
	for i := range id {
		id[i] = letter
	}
	return id
}

// scene is a zone that lets one in every six seconds, where no more than two
// may wait: a is in, b and c wait.
type scene struct {
	*testing.T
	store  *Store
	clock  *conformance.Clock
	zone   zone.Settings
	places map[byte]line.Place
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneAt(t, sharedServer(t))
}

func newSceneAt(t *testing.T, url string) *scene {
	t.Helper()
	clock := conformance.NewClock()
	return newSceneOn(t, openStoreAt(t, url, clock.Now), clock)
}

func newSceneOn(t *testing.T, s *Store, clock *conformance.Clock) *scene {
	t.Helper()
	sc := &scene{T: t, store: s, clock: clock, zone: zone.Defaults("Z"), places: make(map[byte]line.Place)}
	sc.zone.PerMinute, sc.zone.MaxWaiting = 10, 2
	put(t, sc.store, sc.zone)
	for _, letter := range []byte("abc") {
		a, err := sc.store.Join(t.Context(), "Z", visitor(letter))
		if err != nil {
			t.Fatal(err)
		}
		sc.places[letter] = a.Place
	}
	stats(t, sc.store) // The edge has come to where it stays for now.
	return sc
}

// stranger is a place that nobody was given, among those that were.
func (sc *scene) stranger() line.Place {
	return line.Place{ID: visitor('x'), ArrivedAtMicros: sc.places['b'].ArrivedAtMicros}
}

// lost is a place that another master gave out so many microseconds from now.
func (sc *scene) lost(letter byte, micros int64) line.Place {
	now := sc.clock.Now()
	return line.Place{
		ID: visitor(letter), ArrivedAtMicros: now.UnixMicro() + micros,
		Epoch: sc.places['b'].Epoch, DueMillis: now.UnixMilli(),
	}
}

func (sc *scene) polls(p line.Place, want line.Status) {
	sc.Helper()
	if a, err := sc.store.Poll(sc.Context(), "Z", p); err != nil || a.Status != want {
		sc.Errorf("%+v, %v, want status %d", a, err, want)
	}
}

func (sc *scene) fails(err, want error) {
	sc.Helper()
	if !errors.Is(err, want) {
		sc.Errorf("error %v, want %v", err, want)
	}
}

// writesNothing: what is done changes no key.
func (sc *scene) writesNothing(do func()) {
	sc.Helper()
	before := sc.store.snapshot(sc.T)
	do()
	if keys := changed(before, sc.store.snapshot(sc.T)); len(keys) > 0 {
		sc.Errorf("changed: %v", keys)
	}
}

func put(t testing.TB, s *Store, z zone.Settings) {
	t.Helper()
	if _, err := s.PutZone(t.Context(), z, nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
}

// TestRefusalsWriteNothing: decide first, write last.
func TestRefusalsWriteNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]func(sc *scene){
		"a join when the line is full": func(sc *scene) {
			a, err := sc.store.Join(sc.Context(), "Z", visitor('x'))
			if err != nil || a.Status != line.Full {
				sc.Errorf("%+v, %v, want full", a, err)
			}
		},
		"a poll of one who never was": func(sc *scene) { sc.polls(sc.stranger(), line.Gone) },
		"a poll of one who is in":     func(sc *scene) { sc.polls(sc.places['a'], line.AdmittedBefore) },
		"leaving, of one who never was": func(sc *scene) {
			sc.fails(sc.store.Leave(sc.Context(), "Z", sc.stranger()), nil)
		},
		"a join in an unknown zone": func(sc *scene) {
			_, err := sc.store.Join(sc.Context(), "Y", visitor('x'))
			sc.fails(err, line.ErrZoneUnknown)
		},
		"a sweep of an unknown zone": func(sc *scene) {
			_, err := sc.store.Sweep(sc.Context(), "Y", "one", 0)
			sc.fails(err, line.ErrZoneUnknown)
		},
		"deleting an unknown zone": func(sc *scene) {
			sc.fails(sc.store.DeleteZone(sc.Context(), "Y", audit.By{}), line.ErrZoneUnknown)
		},
		"a change of other settings than there are": func(sc *scene) {
			other := sc.zone
			other.PerMinute++
			_, err := sc.store.PutZone(sc.Context(), other, &other, audit.By{})
			sc.fails(err, line.ErrZoneChanged)
		},
		"a change of another document than there is": func(sc *scene) {
			sc.fails(sc.store.PutDocument(sc.Context(), audit.Limits, line.Document{Version: 3}, 2), line.ErrDocumentChanged)
		},
		"spending what is spent": func(sc *scene) {
			for by, life := range map[string]time.Duration{"another": time.Hour, "who asks": 0} {
				if first, err := sc.store.Spend(sc.Context(), "key", by, life); first || err != nil {
					sc.Errorf("%s: %t, %v", by, first, err)
				}
			}
		},
		"asking whether a key is spent": func(sc *scene) {
			if first, err := sc.store.Spend(sc.Context(), "another key", "who asks", 0); !first || err != nil {
				sc.Errorf("%t, %v", first, err)
			}
		},
		"putting back a zone that is there": func(sc *scene) {
			other := sc.zone
			other.PerMinute++
			memory := line.Memory{EdgeMicros: 1, LastArrivalMicros: 2}
			sc.fails(sc.store.RestoreZone(sc.Context(), other, memory), nil)
		},
	}
	for name, refused := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := newScene(t)
			if first, err := sc.store.Spend(t.Context(), "key", "one", time.Hour); !first || err != nil {
				t.Fatal(first, err)
			}
			sc.writesNothing(func() { refused(sc) })
		})
	}
}

// TestDeletedZoneIsNotWrittenTo: all that is left of it is that it was deleted, which admissions are done, and the record of its
// changes, for a while.
func TestDeletedZoneIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	sc.fails(sc.store.DeleteZone(t.Context(), "Z", audit.By{}), nil)
	left := map[string]time.Duration{sc.store.recordKeys("Z")[0]: audit.DefaultKeep, sc.store.recordKeys("Z")[1]: audit.DefaultKeep, sc.store.keys("Z")[0]: rememberDeleted, sc.store.keys("Z")[10]: rememberDeleted}
	for key, most := range left {
		if ttl := sc.store.client.PTTL(t.Context(), key).Val(); ttl <= most-time.Hour || ttl > most {
			t.Errorf("%s ends in %v, want %v", key, ttl, most)
		}
	}
	if all := sc.store.allKeys(t, ""); len(all) != 1+len(left) || !slices.Contains(all, sc.store.recordsKey()) {
		t.Errorf("%v are left", all)
	}
	sc.writesNothing(func() {
		_, err := sc.store.Poll(t.Context(), "Z", sc.places['b'])
		sc.fails(err, line.ErrZoneDeleted)
		_, err = sc.store.Sweep(t.Context(), "Z", "one", 0)
		sc.fails(err, line.ErrZoneDeleted)
		sc.fails(sc.store.RestoreZone(t.Context(), sc.zone, line.Memory{}), line.ErrZoneDeleted)
		sc.fails(sc.store.DeleteZone(t.Context(), "Z", audit.By{}), line.ErrZoneDeleted)
	})
}

// TestALateDeletionSparesTheNextZone: whoever deletes a zone is still removing its seen buckets when somebody makes it anew.
func TestALateDeletionSparesTheNextZone(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	sc.fails(sc.store.DeleteZone(t.Context(), "Z", audit.By{}), nil)
	if another, err := sc.store.unlinkSeen(t.Context(), "Z"); err != nil || another {
		t.Errorf("of a deleted zone: %t, %v", another, err)
	}
	put(t, sc.store, sc.zone)
	for _, letter := range []byte("de") { // one may be admitted at once
		_, err := sc.store.Join(t.Context(), "Z", visitor(letter))
		sc.fails(err, nil)
	}
	if another, err := sc.store.unlinkSeen(t.Context(), "Z"); err != nil || !another {
		t.Errorf("of the next: %t, %v", another, err)
	}
	if seen := sc.store.allKeys(t, "{Z}:seen"); len(seen) == 0 {
		t.Error("the polls of its visitors are gone")
	}
}

// twice sends every script twice and hands on the second reply, as a client does
// that has lost the first.
type twice struct{}

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			if err := next(ctx, cmd); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// TestEveryScriptCanRunTwice: a crowd whose every call runs twice has the same
// places and the same admissions as one whose calls run once.
func TestEveryScriptCanRunTwice(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	once, again := openStore(t, clock.Now), openStore(t, clock.Now)
	again.client.AddHook(twice{})
	both := []*Store{once, again}
	z := zone.Defaults("Z")
	z.PerMinute, z.IdleTimeoutSeconds, z.PassTTLSeconds = 60, 5, 10
	for _, s := range both {
		put(t, s, z)
	}
	tokens := make(map[byte]line.Place)
	for second := range 40 {
		clock.Add(time.Second)
		newcomer := byte('A' + second)
		for i, s := range both {
			alive(t, s, tokens, newcomer, i == 0)
			if second%10 == 9 {
				must(t, s.Leave(t.Context(), "Z", tokens[newcomer-1]))
				sweepAll(t, s)
			}
		}
		if second%7 == 6 {
			z.PassTTLSeconds++
			z.PerMinute = 70 - z.PerMinute // 60 and 10 by turns
			for _, s := range both {
				put(t, s, z)
			}
		}
		for _, part := range []string{"line", "log"} {
			want, got := members(t, once, part), members(t, again, part)
			if !slices.Equal(want, got) {
				t.Fatalf("second %d: the %s is %v, want %v", second, part, got, want)
			}
		}
		want, got := stats(t, once).Totals, stats(t, again).Totals
		got.Polls = want.Polls // which were twice as many
		if got != want {
			t.Fatalf("second %d: totals %+v, want %+v", second, got, want)
		}
	}
	first, err := once.Changes(t.Context(), "")
	second, err2 := again.Changes(t.Context(), "")
	if err != nil || err2 != nil || len(first) != 6 || !reflect.DeepEqual(first, second) {
		t.Errorf("the record is %+v, %v, want %+v, %v", second, err2, first, err)
	}
	if st := stats(t, once); st.Totals.Swept == 0 || st.Totals.Left == 0 || st.Totals.Admitted < 10 {
		t.Errorf("too little has happened: %+v", st.Totals)
	}
}

// TestRecordOutlivesTheZone: for a while; and as long as the zone, if that is made
// again. A zone that one of the lists has lost is found by the other.
func TestRecordOutlivesTheZone(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s := sc.store
	record := s.recordKeys("Z")[0]
	recorded := func(want int) {
		t.Helper()
		for _, zoneID := range []string{"Z", ""} {
			if got, err := s.Changes(t.Context(), zoneID); err != nil || len(got) != want {
				t.Errorf("changes of %q: %+v, %v, want %d", zoneID, got, err, want)
			}
		}
	}
	s.client.Del(t.Context(), s.recordsKey())
	recorded(1)
	sc.fails(s.DeleteZone(t.Context(), "Z", audit.By{Name: "ada"}), nil)
	recorded(2)
	s.client.Del(t.Context(), s.zonesKey())
	put(t, s, sc.zone)
	recorded(3)
	if ttl := s.client.PTTL(t.Context(), record).Val(); ttl >= 0 {
		t.Errorf("the record of a zone that is there ends in %v", ttl)
	}
	sc.fails(s.client.LPush(t.Context(), record, "{").Err(), nil)
	for _, zoneID := range []string{"Z", ""} {
		if _, err := s.Changes(t.Context(), zoneID); err == nil || !strings.Contains(err.Error(), "damaged") ||
			errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("of a damaged record: %v", err)
		}
	}
}

// alive has a newcomer join, and the others poll: each while its name, less the
// newcomer's, divides by less than three, so that some fall silent.
func alive(t *testing.T, s *Store, tokens map[byte]line.Place, newcomer byte, first bool) {
	t.Helper()
	a, err := s.Join(t.Context(), "Z", visitor(newcomer))
	if err != nil {
		t.Fatal(err)
	}
	if first {
		tokens[newcomer] = a.Place
	}
	// The log keeps no arrivals: a repeated answer to one who is in has another.
	if a.Place.ArrivedAtMicros != tokens[newcomer].ArrivedAtMicros && a.Status != line.AdmittedBefore {
		t.Fatalf("%c has place %+v, want %+v", newcomer, a.Place, tokens[newcomer])
	}
	for _, letter := range slices.Sorted(maps.Keys(tokens)) {
		if letter%3 > 0 || newcomer-letter < 3 {
			if _, err := s.Poll(t.Context(), "Z", tokens[letter]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sweepAll(t *testing.T, s *Store) {
	t.Helper()
	for cursor := uint64(0); ; {
		out, err := s.Sweep(t.Context(), "Z", "one", cursor)
		if err != nil {
			t.Fatal(err)
		}
		if cursor = out.Next; cursor == 0 {
			return
		}
	}
}

// members are those of one of the zone's sorted sets, with their scores.
func members(t *testing.T, s *Store, part string) []redis.Z {
	t.Helper()
	all, err := s.client.ZRangeWithScores(t.Context(), s.prefix+"{Z}:"+part, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func stats(t *testing.T, s *Store) line.Stats {
	t.Helper()
	st, err := s.Observe(t.Context(), "Z", 0)
	if err != nil {
		t.Fatal(err)
	}
	return st.Stats
}

// TestSweepIsOfOneServer: of many, until its lease ends.
func TestSweepIsOfOneServer(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	sweep := func(owner string, busy bool) {
		t.Helper()
		if out, err := sc.store.Sweep(t.Context(), "Z", owner, 0); err != nil || out.Busy != busy {
			t.Errorf("%s: %+v, %v, want busy %t", owner, out, err, busy)
		}
	}
	sweep("one", false)
	sc.writesNothing(func() { sweep("two", true) })
	sweep("one", false)

	lease := sc.store.leaseKey("Z")
	if ttl := sc.store.client.PTTL(t.Context(), lease).Val(); ttl <= 0 || ttl > sweepLease {
		t.Errorf("the lease ends in %v, want within %v", ttl, sweepLease)
	}
	sc.store.client.Del(t.Context(), lease)
	sweep("two", false)

	// An overloaded server takes the lease from whoever has it, for longer.
	sc.clock.Add(sc.zone.IdleTimeout() + time.Minute)
	waiting := stats(t, sc.store).State.Waiting
	if err := sc.store.HoldSweeps(t.Context(), "Z", "one", time.Minute); err != nil || stats(t, sc.store).State.Waiting != waiting {
		t.Errorf("held: %v, %d wait, before %d", err, stats(t, sc.store).State.Waiting, waiting)
	}
	sweep("two", true)
	if ttl := sc.store.client.PTTL(t.Context(), lease).Val(); ttl <= sweepLease {
		t.Errorf("the lease ends in %v", ttl)
	}
}
