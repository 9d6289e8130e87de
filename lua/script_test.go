package lua

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/conformance"
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
			// Arguments beyond the second of visit.lua are a list.
			if list := sc == visitScript && strings.HasPrefix(what, "ARGV"); !used[what] && !list {
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

// scene is a zone that lets one in every six seconds: a is in, b and c wait.
func scene(t *testing.T) (s *Store, clock *conformance.Clock, z zone.Settings, places map[byte]line.Place) {
	t.Helper()
	clock = conformance.NewClock()
	s = openStore(t, clock.Now)
	z = zone.Defaults("Z")
	z.PerMinute, z.MaxWaiting = 10, 2
	put(t, s, z)
	places = make(map[byte]line.Place)
	for _, letter := range []byte("abc") {
		a, err := s.Join(t.Context(), "Z", visitor(letter))
		if err != nil {
			t.Fatal(err)
		}
		places[letter] = a.Place
	}
	// The edge has come to where it stays for now.
	if _, err := s.Stats(t.Context(), "Z"); err != nil {
		t.Fatal(err)
	}
	return s, clock, z, places
}

func put(t *testing.T, s *Store, z zone.Settings) {
	t.Helper()
	if _, err := s.PutZone(t.Context(), z, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRefusalsWriteNothing: decide first, write last.
func TestRefusalsWriteNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, s *Store, z zone.Settings, places map[byte]line.Place){
		"a join when the line is full": func(t *testing.T, s *Store, _ zone.Settings, _ map[byte]line.Place) {
			if a, err := s.Join(t.Context(), "Z", visitor('x')); err != nil || a.Status != line.Full {
				t.Errorf("%+v, %v, want full", a, err)
			}
		},
		"a poll of one who never was": func(t *testing.T, s *Store, _ zone.Settings, places map[byte]line.Place) {
			polls(t, s, line.Place{ID: visitor('x'), ArrivedAtMicros: places['b'].ArrivedAtMicros}, line.Gone)
		},
		"a poll of one who is in": func(t *testing.T, s *Store, _ zone.Settings, places map[byte]line.Place) {
			polls(t, s, places['a'], line.AdmittedBefore)
		},
		"leaving, of one who never was": func(t *testing.T, s *Store, _ zone.Settings, places map[byte]line.Place) {
			if err := s.Leave(t.Context(), "Z", line.Place{ID: visitor('x'), ArrivedAtMicros: places['b'].ArrivedAtMicros}); err != nil {
				t.Error(err)
			}
		},
		"a visit to an unknown zone": func(t *testing.T, s *Store, _ zone.Settings, _ map[byte]line.Place) {
			_, err := s.Join(t.Context(), "Y", visitor('x'))
			fails(t, err, line.ErrZoneUnknown)
		},
		"a sweep of an unknown zone": func(t *testing.T, s *Store, _ zone.Settings, _ map[byte]line.Place) {
			_, err := s.Sweep(t.Context(), "Y", "one", 0)
			fails(t, err, line.ErrZoneUnknown)
		},
		"deleting an unknown zone": func(t *testing.T, s *Store, _ zone.Settings, _ map[byte]line.Place) {
			fails(t, s.DeleteZone(t.Context(), "Y"), line.ErrZoneUnknown)
		},
		"a change of other settings than there are": func(t *testing.T, s *Store, z zone.Settings, _ map[byte]line.Place) {
			other := z
			other.PerMinute++
			_, err := s.PutZone(t.Context(), other, &other)
			fails(t, err, line.ErrZoneChanged)
		},
		"putting back a zone that is there": func(t *testing.T, s *Store, z zone.Settings, _ map[byte]line.Place) {
			z.PerMinute++
			if err := s.RestoreZone(t.Context(), z, line.Memory{EdgeMicros: 1, LastArrivalMicros: 2}); err != nil {
				t.Error(err)
			}
		},
	}
	for name, refused := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, z, places := scene(t)
			before := s.snapshot(t)
			refused(t, s, z, places)
			if keys := changed(before, s.snapshot(t)); len(keys) > 0 {
				t.Errorf("changed: %v", keys)
			}
		})
	}
}

// TestDeletedZoneIsNotWrittenTo: all that is left of it is that it was deleted.
func TestDeletedZoneIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	s, _, z, places := scene(t)
	if err := s.DeleteZone(t.Context(), "Z"); err != nil {
		t.Fatal(err)
	}
	before := s.snapshot(t)
	if len(before) != 1 {
		t.Errorf("%d keys are left, want 1: %v", len(before), slices.Collect(maps.Keys(before)))
	}
	_, err := s.Poll(t.Context(), "Z", places['b'])
	fails(t, err, line.ErrZoneDeleted)
	_, err = s.Sweep(t.Context(), "Z", "one", 0)
	fails(t, err, line.ErrZoneDeleted)
	fails(t, s.RestoreZone(t.Context(), z, line.Memory{}), line.ErrZoneDeleted)
	fails(t, s.DeleteZone(t.Context(), "Z"), line.ErrZoneDeleted)
	if keys := changed(before, s.snapshot(t)); len(keys) > 0 {
		t.Errorf("changed: %v", keys)
	}
}

func polls(t *testing.T, s *Store, p line.Place, want line.Status) {
	t.Helper()
	if a, err := s.Poll(t.Context(), "Z", p); err != nil || a.Status != want {
		t.Errorf("%+v, %v, want status %d", a, err, want)
	}
}

func fails(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
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
				if err := s.Leave(t.Context(), "Z", tokens[newcomer-1]); err != nil {
					t.Fatal(err)
				}
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
		if want, got := stats(t, once).Totals, stats(t, again).Totals; got != want {
			t.Fatalf("second %d: totals %+v, want %+v", second, got, want)
		}
	}
	if st := stats(t, once); st.Totals.Swept == 0 || st.Totals.Left == 0 || st.Totals.Admitted < 10 {
		t.Errorf("too little has happened: %+v", st.Totals)
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
	if a.Place != tokens[newcomer] && a.Status != line.AdmittedBefore {
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
	st, err := s.Stats(t.Context(), "Z")
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestSweepIsOfOneServer: of many, until its lease ends.
func TestSweepIsOfOneServer(t *testing.T) {
	t.Parallel()
	s, _, _, _ := scene(t)
	sweep := func(owner string) line.Sweep {
		out, err := s.Sweep(t.Context(), "Z", owner, 0)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := sweep("one"); out.Busy {
		t.Errorf("the first: %+v", out)
	}
	before := s.snapshot(t)
	if out := sweep("two"); out != (line.Sweep{Busy: true}) {
		t.Errorf("another: %+v, want busy", out)
	}
	if keys := changed(before, s.snapshot(t)); len(keys) > 0 {
		t.Errorf("changed: %v", keys)
	}
	if out := sweep("one"); out.Busy {
		t.Errorf("the first again: %+v", out)
	}
	lease := s.keys("Z")[crowdKeys]
	if ttl := s.client.PTTL(t.Context(), lease).Val(); ttl <= 0 || ttl > sweepLease {
		t.Errorf("the lease ends in %v, want within %v", ttl, sweepLease)
	}
	s.client.Del(t.Context(), lease)
	if out := sweep("two"); out.Busy {
		t.Errorf("another, after the lease: %+v", out)
	}
}

// TestAnotherMasterMeansALoss: who answers now may not have all that the one
// before had acknowledged.
func TestAnotherMasterMeansALoss(t *testing.T) {
	t.Parallel()
	s, clock, _, places := scene(t)
	clock.Add(6*time.Second + time.Millisecond)
	lost := line.Place{ID: visitor('x'), ArrivedAtMicros: clock.Now().UnixMicro() - 1}
	zoneKey := s.keys("Z")[0]
	if err := s.client.HSet(t.Context(), zoneKey, "run_id", "of another").Err(); err != nil {
		t.Fatal(err)
	}
	a, err := s.Poll(t.Context(), "Z", lost)
	if err != nil || a.Status != line.Waiting || !a.Restored || a.Position != 3 {
		t.Errorf("one whose joining was lost: %+v, %v", a, err)
	}
	polls(t, s, places['b'], line.Waiting) // the window counts as full
	if st := stats(t, s); st.State.InWindow != 1 {
		t.Errorf("%d in the window, want 1", st.State.InWindow)
	}
	clock.Add(6*time.Second + time.Millisecond)
	polls(t, s, places['b'], line.Admitted)
}
