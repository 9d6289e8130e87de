package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// clock is when the tests' clock stands still, and at a time after it.
func clock() time.Time { return parts.NewClock().Now() }

func at(in time.Duration) string { return clock().Add(in).UTC().Format(time.RFC3339) }

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
	is := r.put(t, "Z")
	is.Events = []event.Event{{Name: "soon", OpensAt: at(30 * time.Minute), ClosesAt: at(time.Hour)}}
	is, _, _ = is.Due(clock(), nil)
	r.set(t, is)
	same, err := time.Parse(time.RFC3339, is.Events[0].OpensAt)
	parts.Must(t, err)
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

// TestStepsThatCannotBeMadeAreRefused: the sentence names the event, whether the event or the zone is what changes. A fault that the
// zone had before does not stop a pause.
func TestStepsThatCannotBeMadeAreRefused(t *testing.T) {
	t.Parallel()
	sale := func(name string, from time.Duration, ends, settings string) string {
		return `{"name":"` + name + `","opensAt":"` + at(from) + `","settings":` + settings + ends + `}`
	}
	ends := func(in time.Duration) string { return `,"endsAt":"` + at(in) + `"` }
	capped, admits := `{"maxInside":100}`, `{"onStoreFailure":"admit"}`
	for name, tt := range map[string]struct{ is, change, want string }{
		"a cap where each server admits by itself": {
			admits, `{"events":[` + sale("noon", 3*time.Hour, "", capped) + `]}`, "noon",
		},
		"a zone changed under its event": {
			`{"events":[` + sale("noon", 3*time.Hour, "", capped) + `]}`, admits, "noon",
		},
		"an event that stays, under the next": {
			`{}`, `{"events":[` + sale("noon", 3*time.Hour, "", capped) + `,` + sale("eve", 9*time.Hour, "", admits) + `]}`, "eve",
		},
		"an event that ends, then the next": {
			`{}`, `{"events":[` + sale("noon", 3*time.Hour, ends(4*time.Hour), capped) + `,` + sale("eve", 9*time.Hour, "", admits) + `]}`, "",
		},
		"an event that brings all it needs": {
			admits, `{"events":[` + sale("noon", 3*time.Hour, "", `{"maxInside":100,"onStoreFailure":"hold"}`) + `]}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t)
			r.put(t, "Z")
			if w := r.send("PATCH", "/admin/zones/Z", tt.is); w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			w := r.send("PATCH", "/admin/zones/Z", tt.change)
			if tt.want == "" && w.Code == http.StatusOK {
				return
			}
			if w.Code != http.StatusBadRequest || tt.want == "" || !strings.Contains(w.Body.String(), `events \"`+tt.want+`\"`) {
				t.Errorf("%d %s, want it refused for the event %q", w.Code, w.Body, tt.want)
			}
		})
	}
	t.Run("during the event, what holds after it", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t)
		is := r.put(t, "Z")
		is.OnStoreFailure = zone.FailureAdmit
		is.Events = []event.Event{{Name: "soon", OpensAt: at(time.Minute), EndsAt: at(time.Hour), Settings: event.Values{"maxInside": "5", "onStoreFailure": "hold"}}}
		is, _, _ = is.Due(clock(), nil)
		is, _, _ = is.Due(clock().Add(2*time.Minute), nil)
		r.set(t, is)
		if w := r.send("PATCH", "/admin/zones/Z", `{"maxInside":7}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `events \"soon\"`) {
			t.Errorf("a cap that would outlast the event: %d %s", w.Code, w.Body)
		}
	})
	t.Run("a pause of a zone with a fault", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t)
		is := r.put(t, "Z")
		is.OnStoreFailure = zone.FailureAdmit
		is.Events = []event.Event{{Name: "noon", OpensAt: at(3 * time.Hour), Settings: event.Values{"maxInside": "5"}}}
		r.set(t, is)
		if w := r.send("PATCH", "/admin/zones/Z", `{"perMinute":0}`); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
