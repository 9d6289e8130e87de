package operator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/store"
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
	key := append([]byte{0}, strings.Repeat("k", 32)...)
	parts.Must(t, r.store.KeepMinutes(t.Context(), "Z", time.Hour, []store.Minute{{Minute: day * store.MinutesOfDay, By: "pseudonyms", Row: key}}))
	date := r.Now().UTC().Format(time.DateOnly)
	for i, want := range []operator.Visitor{
		{State: "admitted", AdmittedAt: told[0].AdmittedAtMillis, ExpiresAt: told[0].ExpiresAtMillis},
		{State: "waiting", Position: 1, ArrivedAtMicros: told[1].Place.ArrivedAtMicros, PolledAt: r.Now().UnixMilli()},
		{State: "gone"},
	} {
		want.ZoneID, want.PlaceID, want.Day, want.Pseudonym = "Z", ids[i].PlaceID(), date, writer.PseudonymOf(key[1:], ids[i])
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
