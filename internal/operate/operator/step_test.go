package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestActOnAnEventThatIsNotNext: each reason has its own sentence.
func TestActOnAnEventThatIsNotNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 6, 1, 9, 0, 0, 0, time.UTC)
	none, listed := zone.Defaults("Z"), zone.Defaults("Z")
	listed.Events = []event.Event{
		{Name: "dawn", OpensAt: "2030-06-01T06:00:00Z"}, {Name: "noon", OpensAt: "2030-06-01T12:00:00Z"}, {Name: "eve", OpensAt: "2030-06-01T18:00:00Z"},
	}
	announced := listed
	announced.EventState, _ = event.State{}.Announce(listed.Events, now, nil)
	fixed := listed
	fixed.EventState, _ = event.State{}.Announce(listed.Events, now.Add(2*time.Hour), nil)
	for _, tt := range []struct {
		zone       zone.Settings
		name, want string
	}{
		{none, "noon", `there is no event "noon"; none is listed`},
		{listed, "non", `there is no event "non"; listed are dawn, noon, eve`},
		{listed, "noon", "noon was listed a moment ago: try again in a second"},
		{announced, "dawn", "dawn is over, or was cancelled; list another time for it"},
		{announced, "eve", "noon comes before it: change the list"},
		{announced, "noon", "noon is not fixed until 2030-06-01T11:00:00Z: until then, change it in the events of the zone"},
		{fixed, "noon", ""},
	} {
		if _, fault := (operator.Act{Do: operator.Hold, Step: event.StepOpens}).On(tt.zone, tt.name, now); fault != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, fault, tt.want)
		}
	}
}

// TestAListDoesNotChangeWhatIsFixed: it is refused, and says how to do that instead; everything else is set.
func TestAListDoesNotChangeWhatIsFixed(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	at := func(in time.Duration) string { return clock().Add(in).UTC().Format(time.RFC3339) }
	is := r.put(t, "Z")
	is.Events = []event.Event{{Name: "soon", OpensAt: at(30 * time.Minute), ClosesAt: at(time.Hour)}}
	is, _, _ = is.Due(clock(), nil)
	_, err := r.store.Store.PutZone(t.Context(), is, nil, "")
	must(t, err)
	same, err := time.Parse(time.RFC3339, is.Events[0].OpensAt)
	must(t, err)
	for body, want := range map[string]string{
		`{"events":[{"name":"soon","opensAt":"` + same.In(time.FixedZone("", 3600)).Format(time.RFC3339) + `","closesAt":"` + is.Events[0].ClosesAt + `","order":"arrival"}]}`: "same",
		`{"events":[]}`: "to cancel it: queue-server events cancel Z soon",
		`{"events":[{"name":"soon","opensAt":"` + at(time.Hour) + `"}]}`: "to move a step: queue-server events move Z soon opens TIME",
		`{"perMinute":60}`: "", // a PATCH; a PUT would take the event off the list
	} {
		for _, method := range []string{"PATCH", "PUT"} {
			w := r.send(method, "/admin/zones/Z", body)
			if want == "same" || want == "" && method == "PATCH" {
				if w.Code != http.StatusOK {
					t.Errorf("%s %s: %d %s", method, body, w.Code, w.Body)
				}
			} else if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"event_fixed"`) || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: %d %s, want %q", method, body, w.Code, w.Body, want)
			}
		}
	}
	for _, version := range []string{"", r.send("GET", "/admin/zones/Z", "").Header().Get("ETag")} {
		w := r.send("DELETE", "/admin/zones/Z", "", "If-Match", version)
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "cancel it before you delete the zone: queue-server events cancel Z soon") {
			t.Errorf("deleted with %q: %d %s", version, w.Code, w.Body)
		}
	}
	for _, tt := range []struct{ do, body, want string }{
		{"hold", `{"step":"opens"}`, `"held":"opens"`},
		{"hold", `{}`, `step \"\" must be preQueue, opens, closes or ends`},
		{"move", `{"step":"opens"}`, "to must be a time"},
		{"move", `{"step":"opens","to":"` + at(45*time.Minute) + `"}`, fmt.Sprintf(`"opensAt":%d`, clock().Add(45*time.Minute).Unix()*1000)},
		{"open", ``, fmt.Sprintf(`"opensAt":%d`, clock().UnixMilli()+2_000)},
		{"cancel", `{}`, `"done":[{"event":"soon"`},
		{"move", `{"step":"opens","step":"ends"}`, "step is in line 1 already"},
		{"cancel", `[]`, "body must be a JSON object"},
		{"skip", `{}`, "soon is over, or was cancelled"},
	} {
		w := r.send("POST", "/admin/zones/Z/events/soon/"+tt.do, tt.body)
		if !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %s, want %q", tt.do, tt.body, w.Code, w.Body, tt.want)
		}
	}
}
