package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInside: of a zone with a cap an operator ends all sessions and resets the count, each after a confirmation that changes
// nothing. The record says up to when admissions were revoked. A zone without a cap has neither button.
func TestInside(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := zone.Defaults("Z")
	s.PerMinute, s.MaxInside = 600, 5
	r.make(s, "Olga")
	r.put("NO_CAP")
	r.Forward(time.Second)
	for i := range byte(2) {
		if a, err := r.store.Join(t.Context(), "Z", line.ID{i}); err != nil || a.Status != line.Admitted {
			t.Fatal(a, err)
		}
	}
	p := r.enter("Anna")
	one := sample(start)
	one.Inside, one.MaxInside = 2, 5
	r.seen.round(map[string]watch.Sample{"Z": one})
	shows(t, p.get("zones/Z"), "End all sessions …", "Reset the count …", "Expected Inside Polls a second", "20 min 34 s 2 1,370")
	asked := p.get("zones/Z/inside?do=revoke")
	shows(t, asked, "End all sessions of Z?", "All sessions end (2 inside).", "This cannot be undone.", "Cancel End all sessions")
	if r.zone("Z").InsideState.RevokedUpToMillis != 0 {
		t.Error("asking has revoked")
	}
	done := p.follow(p.post("zones/Z/inside", formOf(t, asked, "zones/Z/inside")))
	shows(t, done, "Done at 11:59:02 UTC by Anna (claimed). Revoked none → to all admissions up to 2026-11-21 11:59:03 UTC")
	if strings.Contains(done.Body.String(), "/undo") {
		t.Error("it offers to undo what cannot be undone")
	}
	asked = p.get("zones/Z/inside?do=reset")
	shows(t, asked, "Nothing to reset", "The store has lost nobody")
	if strings.Contains(asked.Body.String(), `class="main"`) {
		t.Error("a button that does nothing")
	}
	page := p.get("zones/NO_CAP")
	if strings.Contains(page.Body.String(), "/inside") || strings.Contains(page.Body.String(), ">Inside<") {
		t.Error("a zone without a cap has buttons, or figures, of those inside")
	}
	for _, path := range []string{"zones/NO_CAP/inside?do=revoke", "zones/Z/inside?do=eject", "zones/Z/inside"} {
		if w := p.get(path); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := p.post("zones/NO_CAP/inside", url.Values{"do": {"revoke"}}); w.Code != http.StatusBadRequest {
		t.Errorf("a zone without a cap: %d", w.Code)
	}
}
