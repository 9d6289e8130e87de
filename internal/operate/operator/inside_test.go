package operator_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInside: an operator sees sessions, revokes one admission or all, and forgets those who may have been lost. What cannot
// be is refused, and a dry run changes nothing.
func TestInside(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := zone.Defaults("Z")
	s.PerMinute, s.MaxInside = 600, 5
	r.set(t, s)
	r.put(t, "NO_CAP")
	var names []string
	for i := range byte(3) {
		a, err := r.store.Join(t.Context(), "Z", line.ID{i})
		parts.Must(t, err)
		names = append(names, uuid.UUID(line.Admission{ID: line.ID{i}, AtMillis: a.AdmittedAtMillis}.JTI("Z")).String())
	}
	other := uuid.UUID(line.Admission{AtMillis: r.Now().UnixMilli()}.JTI("NO_CAP")).String()
	inside := func() int64 {
		stats, err := r.zones.Stats(t.Context(), "Z")
		parts.Must(t, err)
		return stats.State.Inside
	}
	for _, tt := range []struct {
		path, body string
		status     int
		count      int64
		inside     int64 // after it
	}{
		{"Z/inside/revoke", `{"jti":"` + other + `"}`, http.StatusBadRequest, 0, 3},
		{"Z/inside/revoke", `{"jti":"` + uuid.NewString() + `"}`, http.StatusBadRequest, 0, 3},
		{"Z/inside/revoke", `{"jti":"x"}`, http.StatusBadRequest, 0, 3},
		{"Z/inside/revoke", `{"jti":"` + names[0] + `","all":true}`, http.StatusBadRequest, 0, 3},
		{"Z/inside/revoke", `{"everybody":true}`, http.StatusBadRequest, 0, 3},
		{"Z/inside/revoke", ``, http.StatusBadRequest, 0, 3},
		{"Z/inside/eject", `{"all":true}`, http.StatusBadRequest, 0, 3},
		{"NO_CAP/inside/revoke", `{"all":true}`, http.StatusBadRequest, 0, 3},
		{"NONE/inside/revoke", `{"all":true}`, http.StatusNotFound, 0, 3},
		{"Z/inside/revoke", `{"all":true,"dryRun":true}`, http.StatusOK, 3, 3},
		{"Z/inside/revoke", `{"jti":"` + names[0] + `","dryRun":true}`, http.StatusOK, 1, 3},
		{"Z/inside/revoke", `{"jti":"` + names[0] + `"}`, http.StatusOK, 1, 2},
		{"Z/inside/revoke", `{"jti":"` + names[0] + `"}`, http.StatusOK, 1, 2}, // a repeat
		{"Z/inside/reset", ``, http.StatusOK, 0, 2},
		{"Z/inside/revoke", `{"all":true}`, http.StatusOK, 2, 0},
	} {
		w := r.send("POST", "/admin/zones/"+tt.path, tt.body, "X-Operator", "Anna")
		var done operator.InsideDone
		if err := json.Unmarshal(w.Body.Bytes(), &done); err != nil || w.Code != tt.status || done.Count != tt.count || inside() != tt.inside {
			t.Errorf("%s %s: %d %s; %d inside, want %d", tt.path, tt.body, w.Code, w.Body, inside(), tt.inside)
		}
	}
	changes, err := r.store.Changes(t.Context(), "Z")
	parts.Must(t, err)
	if by := changes[0]; by.Name != "Anna" || by.Now.InsideState.RevokedUpToMillis != r.Now().Add(time.Second).UnixMilli() {
		t.Errorf("the record: %+v", by)
	}

	// The clock of the store that took over is behind.
	later := clock().Add(time.Hour).UnixMilli()
	s.InsideState = zone.InsideState{RevokedUpToMillis: later, ResetAtMillis: later, Revoked: names[:1]}
	_, err = r.store.Store.PutZone(t.Context(), s, nil, audit.By{})
	parts.Must(t, err)
	r.send("POST", "/admin/zones/Z/inside/revoke", `{"all":true}`, "X-Operator", "Anna")
	r.send("POST", "/admin/zones/Z/inside/reset", ``, "X-Operator", "Anna")
	is, err := r.store.Zone(t.Context(), "Z")
	parts.Must(t, err)
	if now := is.InsideState; now.RevokedUpToMillis != later || len(now.Revoked) != 1 || now.ResetAtMillis != later+1 {
		t.Errorf("after a loss, with a clock that is behind: %+v", now)
	}
}

func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := zone.Defaults("Z")
	s.MaxInside = 5
	r.set(t, s)
	until := r.Now().Add(time.Hour)
	for i := range byte(2) {
		r.Forward(operator.IdleAfter)
		r.zones.Known("Z").Here(line.Admission{ID: line.ID{i}, AtMillis: r.Now().UnixMilli()}.JTI("Z"), until)
	}
	r.zones.ReportInsideOnce(t.Context())
	if got, err := r.service.Sessions(t.Context(), "Z", 1); err != nil || got.Known != 2 || got.Idle != 1 || len(got.Sessions) != 1 || got.Sessions[0].AskedMillis != r.Now().UnixMilli() {
		t.Errorf("%+v, %v", got, err)
	}
	for path, status := range map[string]int{"Z/inside": 200, "Z/inside?limit=0": 400, "Z/inside?limit=1001": 400, "Z/inside?limit=x": 400, "NONE/inside": 404} {
		if w := r.send("GET", "/admin/zones/"+path, ""); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestMadeAgain: a pass of a zone that was deleted is over in the zone of that name that is made after it, whose own are good.
func TestMadeAgain(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.send("PUT", "/admin/zones/Z", `{"perMinute":600}`)
	admitted := func() [16]byte {
		var id line.ID
		id[0] = byte(r.Now().UnixMilli())
		a, err := r.store.Join(t.Context(), "Z", id)
		if err != nil || a.Status != line.Admitted {
			t.Fatalf("a join: %v %v", a.Status, err)
		}
		return line.Admission{ID: id, AtMillis: a.AdmittedAtMillis}.JTI("Z")
	}
	before := admitted()
	for _, method := range []string{"DELETE", "PUT"} {
		r.Forward(time.Second)
		r.send(method, "/admin/zones/Z", `{"perMinute":600}`)
	}
	r.Forward(10 * time.Second) // the window of before the deletion is over
	z, err := r.zones.Find(t.Context(), "Z")
	parts.Must(t, err)
	if after := admitted(); !z.Over(before) || z.Over(after) {
		t.Errorf("the pass of before the deletion is over: %t; that of after it: %t", z.Over(before), z.Over(after))
	}
}
