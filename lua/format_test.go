package lua

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// former is what a version has kept from before formats had numbers.
const former = "testdata/8df832c.commands"

// load has Redis keep what the commands of a file make.
func (s *Store) load(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		if command == "#" {
			continue
		}
		args := []any{command}
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%s: %v", rest, err)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatalf("%s: %v", quoted, err)
			}
			if len(args) == 1 {
				text = s.prefix + text
			}
			args, rest = append(args, text), strings.TrimPrefix(rest[len(quoted):], " ")
		}
		if err := s.client.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		n++
	}
	if n == 0 {
		t.Fatalf("%s has no commands", name)
	}
}

// TestFormerData: what the version before has kept is all there, and those who wait
// go on from their places.
func TestFormerData(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_795_324_846_071_812).Add(2 * time.Second)
	s := openStore(t, func() time.Time { return at })
	s.load(t, former)
	ctx := t.Context()
	zones, err := s.Zones(ctx)
	if err != nil || len(zones) != 2 || zones[0].Mode != zone.ModeClosed || zones[1].PerMinute != 10 {
		t.Errorf("zones: %+v, %v", zones, err)
	}
	if _, err := s.Zone(ctx, "GONE"); !errors.Is(err, line.ErrZoneDeleted) {
		t.Errorf("the deleted zone: %v", err)
	}
	for zoneID, n := range map[string]int{"": 5, "LINE": 1, "CLOSED": 2, "GONE": 2} {
		if changes, err := s.Changes(ctx, zoneID); err != nil || len(changes) != n {
			t.Errorf("%d changes of %q, want %d: %v", len(changes), zoneID, n, err)
		}
	}
	book, err := s.Policies(ctx)
	changes, err2 := s.PolicyChanges(ctx)
	if _, ok := book.Find("api"); !ok || book.Version != 3 || len(changes) != 3 || err != nil || err2 != nil {
		t.Errorf("policies: %+v, %+v, %v, %v", book, changes, err, err2)
	}
	waiting, err := s.client.ZRangeWithScores(ctx, s.keys("LINE")[1], 0, -1).Result()
	if err != nil || len(waiting) != 3 {
		t.Fatal(waiting, err)
	}
	places := make([]line.Place, len(waiting))
	for i, w := range waiting {
		copy(places[i].ID[:], fmt.Sprint(w.Member))
		places[i].ArrivedAtMicros = int64(w.Score)
		if a, err := s.Poll(ctx, "LINE", places[i]); err != nil || a.Status != line.Waiting || a.Position != int64(i+1) || a.Restored {
			t.Errorf("visitor %d: %+v, %v", i+1, a, err)
		}
	}
	at = at.Add(10 * time.Second)
	if a, err := s.Poll(ctx, "LINE", places[0]); err != nil || a.Status != line.Admitted {
		t.Errorf("the first, when it is its turn: %+v, %v", a, err)
	}
	was := zones[1]
	now := was
	now.PerMinute = 20
	if _, err := s.PutZone(ctx, now, &was, "Eve"); err != nil {
		t.Errorf("change: %v", err)
	}
	if format := s.client.HGet(ctx, s.keys("LINE")[0], formatField).Val(); format != strconv.Itoa(zoneFormat) {
		t.Errorf("the zone has format %q now, want %d", format, zoneFormat)
	}
}

// TestFormerPolls: the version before format 3 kept last polls in other buckets. Whoever polls again stays, and whoever
// does not is swept by the last poll that is known. Nothing of the old buckets is left.
func TestFormerPolls(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_795_324_846_071_812)
	s := openStore(t, func() time.Time { return at })
	s.load(t, former)
	ctx := t.Context()
	waiting, err := s.client.ZRangeWithScores(ctx, s.keys("LINE")[lineKey], 0, -1).Result()
	if err != nil || len(waiting) != 3 {
		t.Fatal(waiting, err)
	}
	is, err := s.Zone(ctx, "LINE")
	paused := is
	paused.PerMinute = 0
	if _, err2 := s.PutZone(ctx, paused, &is, "Eve"); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if n, frozen := s.client.HGet(ctx, s.keys("LINE")[0], formatField).Val(), s.client.HGet(ctx, s.keys("LINE")[0], "freeze").Val(); n != "" || frozen != "" {
		t.Errorf("a change alone makes it format %q, frozen until %q", n, frozen)
	}
	upgraded := at.Add(20 * time.Second)
	for second, left := range []int64{3, 3, 3, 3, 2} {
		at = at.Add(20 * time.Second)
		for i, w := range waiting[:2] {
			p := line.Place{ArrivedAtMicros: int64(w.Score)}
			copy(p.ID[:], fmt.Sprint(w.Member))
			if a, err := s.Poll(ctx, "LINE", p); err != nil || a.Status != line.Waiting || a.Restored {
				t.Errorf("after %d s, visitor %d: %+v, %v", 20*second+20, i, a, err)
			}
		}
		// The edge waits until all have polled once more.
		if frozen := s.client.HGet(ctx, s.keys("LINE")[0], "freeze").Val(); frozen != strconv.FormatInt(upgraded.UnixMilli()+24_000, 10) {
			t.Errorf("frozen until %s, want 24 s after %d", frozen, upgraded.UnixMilli())
		}
		for cursor, first := uint64(0), true; first || cursor > 0; first = false {
			swept, err := s.Sweep(ctx, "LINE", "one", cursor)
			if err != nil {
				t.Fatal(err)
			}
			cursor = swept.Next
		}
		if n := s.client.ZCard(ctx, s.keys("LINE")[lineKey]).Val(); n != left {
			t.Errorf("after %d s %d wait, want %d", 20*second+20, n, left)
		}
	}
	fields := 0
	for _, key := range s.allKeys(t, "{LINE}:seen") {
		fields += int(s.client.HLen(ctx, key).Val())
	}
	if fields != 2 {
		t.Errorf("%d polls are kept, want those of the two who wait", fields)
	}
}

// TestNewerZone: nothing is written into a zone of a format that is not known, and
// the server is not ready; others are served.
func TestNewerZone(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	other := zone.Defaults("Y")
	put(t, s, other)
	sc.fails(s.Ping(ctx), nil)
	key := s.keys("Z")[0]
	s.client.HSet(ctx, key, formatField, zoneFormat+1)
	sc.writesNothing(func() {
		_, err := s.Join(ctx, "Z", visitor('x'))
		sc.fails(err, line.ErrFormat)
		_, err = s.Poll(ctx, "Z", sc.places['b'])
		sc.fails(err, line.ErrFormat)
		sc.fails(s.Leave(ctx, "Z", sc.places['b']), line.ErrFormat)
		_, err = s.Stats(ctx, "Z")
		sc.fails(err, line.ErrFormat)
		_, err = s.Sweep(ctx, "Z", "one", 0)
		sc.fails(err, line.ErrFormat)
		_, err = s.Zone(ctx, "Z")
		sc.fails(err, line.ErrFormat)
		_, err = s.PutZone(ctx, sc.zone, nil, "")
		sc.fails(err, line.ErrFormat)
		_, err = s.putZone(ctx, "put", sc.zone, "", "{}", line.Memory{}, "")
		sc.fails(err, line.ErrFormat)
		sc.fails(s.RestoreZone(ctx, sc.zone, line.Memory{}), line.ErrFormat)
		sc.fails(s.DeleteZone(ctx, "Z", ""), line.ErrFormat)
	})
	zones, err := s.Zones(ctx)
	sc.fails(err, line.ErrFormat)
	if len(zones) != 1 || !zones[0].Equal(other) {
		t.Errorf("zones: %+v", zones)
	}
	err = s.Ping(ctx)
	sc.fails(err, line.ErrFormat)
	if want := fmt.Sprintf("zone Z has format %d, and this version knows formats up to %d", zoneFormat+1, zoneFormat); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("%v: a server would let visitors in by itself", err)
	}
	s.client.HSet(ctx, key, formatField, zoneFormat)
	if _, err := s.Zones(ctx); err != nil || s.Ping(ctx) != nil {
		t.Errorf("when it is no more: %v, %v", err, s.Ping(ctx))
	}
	sc.polls(sc.places['b'], line.Waiting)
}

// TestNewerPolicies: the same for the book of policies.
func TestNewerPolicies(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	book := limit.PolicySet{Version: 3}
	sc.fails(s.PutPolicies(ctx, book, 0, "Ada"), nil)
	s.client.HSet(ctx, s.policiesKeys()[0], formatField, policiesFormat+1)
	sc.writesNothing(func() {
		_, err := s.Policies(ctx)
		sc.fails(err, line.ErrFormat)
		sc.fails(s.Ping(ctx), line.ErrFormat)
		book.Version = 4
		sc.fails(s.PutPolicies(ctx, book, 3, "Ada"), line.ErrFormat)
		sc.fails(s.RestorePolicies(ctx, book), line.ErrFormat)
	})
}

// TestNewerRecords: an entry of a newer format is not guessed at.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	entry := fmt.Sprintf(`{"format":%d,"at":"yesterday","changes":1}`, recordFormat+1)
	s.client.LPush(ctx, s.auditKey("Z"), entry)
	s.client.LPush(ctx, s.policiesKeys()[1], entry)
	for _, zoneID := range []string{"", "Z"} {
		_, err := s.Changes(ctx, zoneID)
		sc.fails(err, line.ErrFormat)
	}
	_, err := s.PolicyChanges(ctx)
	sc.fails(err, line.ErrFormat)
}

// TestUnknownSettingsAreKept: those that a newer version of the same format has
// made, through changes by this one; and they are in nobody's way.
func TestUnknownSettingsAreKept(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	key := s.keys("Z")[0]
	text := s.client.HGet(ctx, key, "json").Val()
	s.client.HSet(ctx, key, "json", strings.Replace(text, "{", `{"later":{"a":[1]},`, 1), "later", 7)
	changed := sc.zone
	changed.PerMinute++
	_, err := s.PutZone(ctx, changed, &sc.zone, "Ada")
	sc.fails(err, nil)
	changed.PerMinute++
	_, err = s.PutZone(ctx, changed, nil, "Ada")
	sc.fails(err, nil)
	if z, err := s.Zone(ctx, "Z"); err != nil || !z.Equal(changed) {
		t.Errorf("%+v, %v, want %+v", z, err, changed)
	}
	sc.writesNothing(func() {
		_, err := s.PutZone(ctx, changed, &changed, "Ada")
		sc.fails(err, nil)
	})
	for field, want := range map[string]string{"json": `"later":{"a":[1]}`, "later": "7"} {
		if is := s.client.HGet(ctx, key, field).Val(); !strings.Contains(is, want) {
			t.Errorf("%s is %s, want %s", field, is, want)
		}
	}
}

// TestAbsentSettingsHaveTheirDefaults: those that an older version of the same format did
// not write are in nobody's way.
func TestAbsentSettingsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	key := s.keys("Z")[0]
	was := zone.Defaults("Z")
	was.PerMinute = 7
	put(t, s, was)
	s.client.HSet(ctx, key, "json", `{"zoneId":"Z","perMinute":7}`)
	sc.writesNothing(func() {
		_, err := s.PutZone(ctx, was, &was, "Ada")
		sc.fails(err, nil)
	})
	now := was
	now.Burst = 3
	_, err := s.PutZone(ctx, now, &was, "Ada")
	sc.fails(err, nil)
	changes, err := s.Changes(ctx, "Z")
	if err != nil || !changes[0].Was.Equal(was) || !changes[0].Now.Equal(now) {
		t.Errorf("%+v, %v", changes, err)
	}
}

// TestFormatsAreThoseOfTheScripts: one number a kind, which Go and Lua agree on.
func TestFormatsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`(?m)^local ([A-Z]+(?:, [A-Z]+)*) = (\d+(?:, \d+)*)$`)
	of := func(file string) map[string]string {
		text, err := sources.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]string)
		for _, m := range number.FindAllStringSubmatch(string(text), -1) {
			values := strings.Split(m[2], ", ")
			for i, name := range strings.Split(m[1], ", ") {
				found[name] = values[i]
			}
		}
		return found
	}
	for _, tt := range []struct {
		file, name string
		want       int
	}{
		{"line/include/zone.lua", "FORMAT", zoneFormat},
		{"line/include/zone.lua", "NEWER", statusNewer},
		{"line/include/record.lua", "ENTRY", recordFormat},
		{"limits/put_policies.lua", "FORMAT", policiesFormat},
		{"limits/put_policies.lua", "ENTRY", recordFormat},
	} {
		if is := of(tt.file)[tt.name]; is != strconv.Itoa(tt.want) {
			t.Errorf("%s of %s is %q, want %d", tt.name, tt.file, is, tt.want)
		}
	}
}
