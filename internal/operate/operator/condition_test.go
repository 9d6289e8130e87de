package operator_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// A change with If-Match is made only to the zone that was seen.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put(t, "Z")
	seen := r.send("GET", "/admin/zones/Z", "").Header().Get("ETag")
	if want := operator.Version(zone.Defaults("Z")); seen != want {
		t.Fatalf("ETag %q, want %q", seen, want)
	}
	w := r.send("PATCH", "/admin/zones/Z", `{"perMinute":60}`, "If-Match", seen)
	now := w.Header().Get("ETag")
	if w.Code != 200 || now == seen || now != operator.Version(r.zone(t, "Z")) {
		t.Fatalf("got %d %s, ETag %q", w.Code, w.Body, now)
	}
	before := r.zone(t, "Z")
	r.writes()
	for _, change := range [][2]string{{"PATCH", `{"perMinute":1}`}, {"PUT", `{"perMinute":1}`}, {"DELETE", ""}} {
		for _, match := range []string{seen, "nonsense", seen + `, "other"`} {
			w := r.send(change[0], "/admin/zones/Z", change[1], "If-Match", match)
			if w.Code != 412 || read[refusal](t, w).Code != "precondition_failed" {
				t.Errorf("%s, If-Match %s: got %d %s", change[0], match, w.Code, w.Body)
			}
		}
	}
	if !r.zone(t, "Z").Equal(before) || r.writes() != 0 {
		t.Errorf("changed: %+v", r.zone(t, "Z"))
	}
	for _, step := range []struct{ method, match, body string }{
		{"PATCH", `"other", ` + now, `{"perMinute":61}`}, {"PATCH", "*", `{"perMinute":62}`}, {"PUT", "*", `{}`},
	} {
		if w := r.send(step.method, "/admin/zones/Z", step.body, "If-Match", step.match); w.Code != 200 {
			t.Errorf("%s, If-Match %s: got %d %s", step.method, step.match, w.Code, w.Body)
		}
	}
	if w := r.send("DELETE", "/admin/zones/Z", "", "If-Match", seen); w.Code != 204 {
		t.Errorf("the zone is again as it was seen: got %d %s", w.Code, w.Body)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if w := r.send(method, "/admin/zones/Z", `{}`, "If-Match", "*"); w.Code != 412 {
			t.Errorf("%s of no zone: got %d %s", method, w.Code, w.Body)
		}
	}
}

// PUT with If-None-Match: * makes a zone, and never sets one.
func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i, want := range []int{201, 412, 412} {
		if w := r.send("PUT", "/admin/zones/Z", `{"perMinute":7}`, "If-None-Match", "*"); w.Code != want {
			t.Errorf("%d: got %d %s", i, w.Code, w.Body)
		}
	}
	if w := r.send("DELETE", "/admin/zones/Z", ""); w.Code != 204 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if w := r.send("PUT", "/admin/zones/Z", `{}`, "If-None-Match", "*"); w.Code != 201 {
		t.Errorf("after it was deleted: got %d %s", w.Code, w.Body)
	}
	if w := r.send("PUT", "/admin/zones/a%20b", `{}`, "If-None-Match", "*"); w.Code != 400 {
		t.Errorf("no zone's name: got %d %s", w.Code, w.Body)
	}
}

// TestVersion: settings that differ in anything have another version.
func TestVersion(t *testing.T) {
	t.Parallel()
	usual, another, other := zone.Defaults("Z"), zone.Defaults("Y"), zone.Defaults("Z")
	other.BypassPaths = []string{"/healthz"}
	if v := operator.Version(usual); v == operator.Version(another) || v == operator.Version(other) || v != operator.Version(zone.Defaults("Z")) {
		t.Errorf("%s, %s, %s", v, operator.Version(another), operator.Version(other))
	}
}
