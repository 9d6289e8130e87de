package lua

import (
	"encoding/binary"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// asFormat1 has a zone's keys be as version 0.1.0 writes them: no key is kept for its own sake, flags say which there are, and of
// those inside it has 17 numbers.
func (s *Store) asFormat1(t *testing.T, zoneID string) {
	t.Helper()
	ctx, keys := t.Context(), s.keys(zoneID)
	for _, i := range []int{1, 2, 3, 4, 5, 9, 10} {
		must(t, s.client.ZRem(ctx, keys[i], "").Err())
	}
	is := func(i int) int64 { return s.client.Exists(ctx, keys[i]).Val() }
	must(t, s.client.HSet(ctx, keys[0], "format", 1, "has_line", is(1), "has_live", is(2), "has_log", is(4)).Err())
	if text, err := s.client.HGet(ctx, keys[0], "crowd").Bytes(); err == nil {
		text = text[:17*8]
		binary.BigEndian.PutUint64(text[16*8:], uint64(is(10)))
		must(t, s.client.HSet(ctx, keys[0], "crowd", text).Err())
	}
	text := s.client.HGet(ctx, keys[0], "json").Val()
	text = regexp.MustCompile(`"keepPlaceSeconds":[0-9]+,`).ReplaceAllString(text, "")
	must(t, s.client.HSet(ctx, keys[0], "json", text).Err())
	must(t, s.client.HDel(ctx, keys[0], "keep_place").Err())
}

// TestPatternsOf010: patterns with parameters take requests with others, too, as version 0.1.0 read them: before the zone is converted,
// and after.
func TestPatternsOf010(t *testing.T) {
	t.Parallel()
	s := openStore(t, conformance.NewClock().Now)
	z := zone.Defaults("Z")
	z.BypassPaths = []string{"/a*", `/?a[]="\]*`, "/?wc-api=*", "/b?c=*&*"}
	z.DonePaths, z.PageTitle = []string{"/thanks?order=*"}, `"bypassPaths":["/?x=1"]`
	put(t, s, z)
	want := z
	want.KeepPlaceSeconds = 0 // no place was set aside
	want.BypassPaths, want.DonePaths = []string{"/a*", `/?a[]="\]*&*`, "/?wc-api=*&*", "/b?c=*&*"}, []string{"/thanks?order=*&*"}
	s.asFormat1(t, "Z")
	for _, when := range []string{"before", "after"} {
		if all, err := s.Zones(t.Context()); err != nil || len(all) != 1 || !all[0].Equal(want) {
			t.Errorf("%s: %+v, %v", when, all, err)
		}
		stats(t, s) // which converts
	}
	text, err := marshal(want)
	must(t, err)
	if _, is, err := s.read(t.Context(), "Z"); err != nil || is != text {
		t.Errorf("the text is\n%s, want\n%s, %v", is, text, err)
	}
	put(t, s, z)
	if is, err := s.Zone(t.Context(), "Z"); err != nil || !is.Equal(z) {
		t.Errorf("an operator's change: %+v, %v", is, err)
	}
}

// TestDataOf010: the first call converts the data of version 0.1.0 in place: line, those inside, those who are done and old tokens.
func TestDataOf010(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s := openStore(t, clock.Now)
	z := zone.Defaults("Z")
	z.PerMinute, z.MaxInside, z.SessionSeconds = 600, 3, 600
	put(t, s, z)
	var places []line.Place
	for i := range byte(6) {
		a, err := s.Join(t.Context(), "Z", visitor('a'+i))
		must(t, err)
		places = append(places, a.Place)
	}
	admitted := func(p line.Place) line.Admission { return line.Admission{ID: p.ID, AtMillis: clock.Now().UnixMilli()} }
	tell := func(stays ...line.Stay) line.SessionReply {
		t.Helper()
		heard, err := s.Report(t.Context(), "Z", line.SessionReport{Stays: stays})
		must(t, err)
		return heard
	}
	gone := admitted(places[0])
	tell(line.Stay{Admission: admitted(places[1]), LeftMillis: 600_000}, line.Stay{Admission: gone})
	before := stats(t, s)
	s.asFormat1(t, "Z")
	for range 2 {
		if after := stats(t, s); after.State != before.State || after.Totals != before.Totals {
			t.Errorf("converted:\n%+v %+v, want\n%+v %+v", after.State, after.Totals, before.State, before.Totals)
		}
	}
	if format := s.client.HGet(t.Context(), s.keys("Z")[0], formatField).Val(); format != "2" {
		t.Errorf("the format is %s", format)
	}
	if heard := tell(line.Stay{Admission: gone, LeftMillis: 1000}); heard.Statuses[0] != line.StayOver {
		t.Errorf("one who was done: %+v", heard)
	}
	clock.Add(time.Second)
	if a, err := s.Poll(t.Context(), "Z", places[3]); err != nil || a.Status != line.Admitted {
		t.Errorf("the first in the line: %+v, %v", a, err)
	}
	if a, err := s.Poll(t.Context(), "Z", places[5]); err != nil || a.Status != line.Waiting || a.Position != 2 {
		t.Errorf("the last in the line: %+v, %v", a, err)
	}

	// A key that is not there though the flags say so was lost before.
	s.asFormat1(t, "Z")
	must(t, s.client.Del(t.Context(), s.keys("Z")[4]).Err())
	_, err := s.Poll(t.Context(), "Z", places[5])
	if !errors.Is(err, line.ErrZoneUnknown) {
		t.Errorf("a zone of which a key was lost: %v", err)
	}

	// What is left of a deleted zone.
	put(t, s, z)
	for i := range byte(3) {
		_, err := s.Join(t.Context(), "Z", visitor('p'+i))
		must(t, err)
	}
	must(t, s.DeleteZone(t.Context(), "Z", audit.By{}))
	s.asFormat1(t, "Z")
	put(t, s, z)
	if st := stats(t, s); st.State.InsideLost != 3 {
		t.Errorf("of a deleted zone, %d may be inside, want 3", st.State.InsideLost)
	}
}
