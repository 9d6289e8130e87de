package operator_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestVisitor: by the reference, an operator is told where a visitor stands, and what the logs call it.
func TestVisitor(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := zone.Defaults("Z")
	s.PerMinute = 10
	r.set(t, s)
	ids := []line.ID{{1}, {2}, {3}}
	var told []line.Answer
	for _, id := range ids[:2] {
		a, err := r.store.Store.Join(t.Context(), "Z", id)
		parts.Must(t, err)
		told = append(told, a)
	}
	day := writer.Day(r.Now().UnixMicro())
	key := []byte(strings.Repeat("k", 32))
	parts.Must(t, r.store.KeepMinutes(t.Context(), "Z~pseudonyms", time.Hour, []store.Minute{{Minute: day * store.MinutesOfDay, By: "key", Row: key}}))
	date := r.Now().UTC().Format(time.DateOnly)
	for i, want := range []operator.Visitor{
		{State: "admitted", AdmittedAt: told[0].AdmittedAtMillis, ExpiresAt: told[0].ExpiresAtMillis},
		{State: "waiting", Position: 1, ArrivedAtMicros: told[1].Place.ArrivedAtMicros, PolledAt: r.Now().UnixMilli()},
		{State: "gone"},
	} {
		want.ZoneID, want.PlaceID, want.Day, want.Pseudonym = "Z", ids[i].PlaceID(), date, writer.PseudonymOf(key, ids[i])
		if got := read[operator.Visitor](t, r.send(http.MethodGet, "/admin/zones/Z/visitors/"+strings.ToLower(ids[i].PlaceID()), "")); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for path, status := range map[string]int{
		"Z/visitors/123": 400, "Z/visitors/" + ids[0].PlaceID() + "?day=x": 400, "NONE/visitors/" + ids[0].PlaceID(): 404, "Z/visitors/" + ids[0].PlaceID() + "?day=2020-01-01": 200,
	} {
		if w := r.send(http.MethodGet, "/admin/zones/"+path, ""); w.Code != status || strings.Contains(path, "2020") && strings.Contains(w.Body.String(), "pseudonym") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestGiveUp: whoever waits, is set aside or is inside loses the place, and the record says who did it; the others stay as they are. Who is gone,
// or admitted in a zone without a cap, has no place to lose.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := zone.Defaults("Z")
	s.PerMinute, s.MaxInside, s.KeepPlaceSeconds = 10, 5, 600
	r.set(t, s)
	open := zone.Defaults("OPEN")
	open.PerMinute = 600
	r.set(t, open)
	places := map[byte]line.Place{}
	for i := range byte(4) {
		a, err := r.store.Store.Join(t.Context(), "Z", line.ID{i})
		parts.Must(t, err)
		places[i] = a.Place
	}
	_, err := r.store.Store.Join(t.Context(), "OPEN", line.ID{9})
	parts.Must(t, err)
	giveUp := func(zoneID string, id line.ID) operator.Visitor {
		return read[operator.Visitor](t, r.send(http.MethodDelete, "/admin/zones/"+zoneID+"/visitors/"+id.PlaceID(), ""))
	}
	var want []string
	loses := func(i byte, state string) {
		id := line.ID{i}
		if was, again := giveUp("Z", id), giveUp("Z", id); was.State != state || !was.GivenUp || again.State != "gone" || again.GivenUp {
			t.Errorf("%s: %+v, and again %+v", state, was, again)
		}
		want = append([]string{"Z " + id.PlaceID() + ", " + state}, want...)
	}
	// The visit by the ticket of 0 has moved to another device.
	s.Invitation = "spring"
	r.set(t, s)
	moved := line.Admission{ID: line.ID{0}, AtMillis: r.Now().UnixMilli() + 1}
	_, err = r.store.Visit(t.Context(), ticket.Key("Z", "spring", moved.ID), store.Visit{AtMillis: moved.AtMillis, UntilMillis: moved.AtMillis + 60_000})
	parts.Must(t, err)
	_, err = r.store.Report(t.Context(), "Z", line.SessionReport{Stays: []line.Stay{{Admission: moved, LeftMillis: 60_000, Moved: true}}})
	parts.Must(t, err)
	loses(0, "inside")
	s.Invitation = ""
	r.set(t, s)
	if was := giveUp("OPEN", line.ID{9}); was.State != "admitted" || was.GivenUp {
		t.Errorf("admitted without a cap: %+v", was)
	}
	s.PerMinute = 0
	r.set(t, s)
	for range 6 { // 1 is set aside
		r.Forward(20 * time.Second)
		for _, i := range []byte{2, 3} {
			_, err := r.store.Store.Poll(t.Context(), "Z", places[i])
			parts.Must(t, err)
		}
	}
	_, err = r.store.Sweep(t.Context(), "Z", "one", 0)
	parts.Must(t, err)
	loses(1, "aside")
	loses(2, "waiting")
	if is := read[operator.Visitor](t, r.send(http.MethodGet, "/admin/zones/Z/visitors/"+line.ID{3}.PlaceID(), "")); is.State != "waiting" || is.Position != 1 {
		t.Errorf("another: %+v", is)
	}
	a, err := r.store.Store.Poll(t.Context(), "Z", places[2])
	if err != nil || a.Status != line.Gone {
		t.Errorf("the one whose place was given up is told %+v, %v", a, err)
	}
	var got []string
	all, err := r.people.Events(t.Context(), 9)
	parts.Must(t, err)
	for _, e := range all {
		if e.Name != "Olga" || e.Did != "gave up place" {
			t.Errorf("an entry %+v", e)
		}
		got = append(got, e.To)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the record has %q, want %q", got, want)
	}
}

// TestForget: the key of a day is another from then on, also in a zone that is gone, and the record says who did it.
func TestForget(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	day := writer.Day(r.Now().UnixMicro())
	before := []byte(strings.Repeat("k", 32))
	parts.Must(t, r.store.KeepMinutes(t.Context(), "Z~pseudonyms", time.Hour, []store.Minute{{Minute: day * store.MinutesOfDay, By: "key", Row: before}}))
	date := r.Now().UTC().Format(time.DateOnly)
	for path, status := range map[string]int{"Z/pseudonyms/" + date: 204, "Z/pseudonyms/today": 400, "a%20b/pseudonyms/" + date: 400} {
		if w := r.send(http.MethodDelete, "/admin/zones/"+path, ""); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	key, err := writer.Key(t.Context(), r.store, "Z", day)
	if err != nil || len(key) != len(before) || string(key) == string(before) {
		t.Errorf("the key is %q, %v", key, err)
	}
	all, err := r.people.Events(t.Context(), 9)
	if err != nil || len(all) != 1 || all[0].Did != "forgot pseudonyms" || all[0].To != "Z "+date || all[0].Name != "Olga" {
		t.Errorf("the record has %+v", all)
	}
}
