package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

type changes struct{ Changes []zone.Change }

// brief is a record on one line, the newest first.
func (c changes) brief() string {
	var all []string
	for _, change := range c.Changes {
		what := func(s *zone.Settings) string {
			if s == nil {
				return "-"
			}
			return fmt.Sprint(s.PerMinute)
		}
		all = append(all, fmt.Sprintf("%s:%s>%s by %q", change.ZoneID, what(change.Was), what(change.Now), change.Name))
	}
	return strings.Join(all, ", ")
}

// TestChanges: every change is in the record with the name that came with it,
// and what changes nothing is not.
func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	if w := r.send("GET", "/admin/audit", ""); w.Code != 200 || w.Body.String() != `{"changes":[],"policyChanges":[],"operatorEvents":[]}`+"\n" {
		t.Errorf("of no zones: %d %s", w.Code, w.Body)
	}
	for _, step := range []struct{ method, zoneID, body, by string }{
		{"PUT", "Z", `{}`, "ada"},
		{"PUT", "Z", `{}`, "nobody: that changes nothing"},
		{"PATCH", "Z", `{"perMinute":60}`, "Jürgen 川口"},
		{"PATCH", "Z", `{"perMinute":60}`, "nobody either"},
		{"PATCH", "Z", `{"perMinute":-1}`, "nobody at all"},
		{"PUT", "X", `{"perMinute":7}`, ""}, // without a name: refused
		{"PUT", "Y", `{"perMinute":7}`, "hal"},
		{"DELETE", "Z", "", "grace"},
		{"DELETE", "Z", "", "nobody: it is gone"},
	} {
		r.send(step.method, "/admin/zones/"+step.zoneID, step.body, "X-Operator", step.by)
	}
	// The clock stands still: what came at one time is by zone.
	for query, want := range map[string]string{
		"":                     `Y:->7 by "hal", Z:60>- by "grace", Z:600>60 by "Jürgen 川口", Z:->600 by "ada"`,
		"?zoneId=Z&limit=1000": `Z:60>- by "grace", Z:600>60 by "Jürgen 川口", Z:->600 by "ada"`,
		"?limit=2":             `Y:->7 by "hal", Z:60>- by "grace"`,
		"?limit=1&zoneId=Y":    `Y:->7 by "hal"`,
	} {
		w := r.send("GET", "/admin/audit"+query, "")
		if got := read[changes](t, w).brief(); w.Code != 200 || got != want {
			t.Errorf("%s: %d %s\nwant %s", query, w.Code, got, want)
		}
	}
	c := read[changes](t, r.send("GET", "/admin/audit?zoneId=Z", "")).Changes[0]
	if c.AtMillis != 1_795_223_373_000 || c.Was.Mode != zone.ModeQueue {
		t.Errorf("%+v", c)
	}
}

func TestChangesOfAZoneWithoutAny(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	parts.Must(t, r.store.RestoreZone(t.Context(), zone.Defaults("Z"), line.Memory{}))
	if w := r.send("GET", "/admin/audit?zoneId=Z", ""); w.Code != 200 || w.Body.String() != `{"changes":[],"policyChanges":[],"operatorEvents":[]}`+"\n" {
		t.Errorf("of a zone that was put back: %d %s", w.Code, w.Body)
	}
	if w := r.send("GET", "/admin/audit?zoneId=Y", ""); w.Code != 404 || read[refusal](t, w).Code != "zone_unknown" {
		t.Errorf("of a zone that never was: %d %s", w.Code, w.Body)
	}
}

func TestChangesQueryIsRefused(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for query, want := range map[string]string{
		"limit=0": "limit must be between 1 and 1000", "limit=1001": "limit must", "limit=ten": "limit must",
		"zoneId=a+b": "zoneId must be", "policy=a+b": "policy must be", "policy=a&zoneId=Z": "policy must be",
	} {
		w := r.send("GET", "/admin/audit?"+query, "")
		if got := read[refusal](t, w); w.Code != 400 || got.Code != "invalid_request" || !strings.HasPrefix(got.Detail, want) {
			t.Errorf("%s: got %d %s", query, w.Code, w.Body)
		}
	}
}

// TestOperatorsNameIsRefused: a name that cannot be recorded stops the change.
func TestOperatorsNameIsRefused(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	before := r.put(t, "Z")
	for name, by := range map[string]string{
		"too long":  strings.Repeat("a", 65),
		"no UTF-8":  "J\xfcrgen",
		"control":   "a\tb",
		"backwards": "a\u202eb",
		"twice":     "ada\ngrace",
	} {
		for _, method := range []string{"PUT", "PATCH", "DELETE"} {
			w := r.send(method, "/admin/zones/Z", `{"perMinute":1}`, "X-Operator", by)
			got := read[refusal](t, w)
			if w.Code != 400 || got.Code != "invalid_request" || !strings.HasPrefix(got.Detail, "X-Operator ") {
				t.Errorf("%s, %s: got %d %s", name, method, w.Code, w.Body)
			}
		}
	}
	if n := r.writes(); n != 0 || !r.zone(t, "Z").Equal(before) {
		t.Errorf("%d writes, the zone is %+v", n, r.zone(t, "Z"))
	}
}
