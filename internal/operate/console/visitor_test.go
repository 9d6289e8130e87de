package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// TestVisitor: by the reference an operator finds a visitor, and gives the place up after a confirmation that changes nothing. A viewer finds, and
// gives up nothing.
func TestVisitor(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := r.put("Z")
	s.PerMinute = 0
	r.make(s, "Olga")
	id := line.ID{7}
	_, err := r.store.Store.Join(t.Context(), "Z", id)
	if err != nil {
		t.Fatal(err)
	}
	p, ref := r.enter("Anna"), id.PlaceID()
	shows(t, p.get("zones/Z?tab=visitor&ref=123"), "The reference must be a reference")
	shows(t, p.get("zones/Z?tab=visitor&ref="+strings.ToLower(ref)), ref+" : arrived 2026-11-21T11:59:01Z, waits at position 1", "Give the place up …")
	asked := p.get("zones/Z/give-up?ref=" + ref)
	shows(t, asked, "Give up "+ref+"?", "waits at position 1", "nobody else is moved", "Cancel Give the place up")
	shows(t, p.get("zones/Z?tab=visitor&ref="+ref), "waits at position 1")
	shows(t, p.follow(p.post("zones/Z/give-up", formOf(t, asked, "zones/Z/give-up"))), ref+" : not in the line")
	shows(t, p.get("zones/Z/give-up?ref="+ref), "Nothing to give up", "Back")
	all, err := r.people.Events(t.Context(), 9)
	if err != nil || len(all) != 1 || all[0].Did != "gave up place" || all[0].To != "Z "+ref+", waiting" || all[0].Who() != "Anna (claimed)" {
		t.Errorf("the record has %+v, %v", all, err)
	}
	token, _, err := r.people.Create(t.Context(), people.Wanted{Name: "vera", Role: route.Viewer}, audit.By{Name: "Anna"})
	viewer := &person{room: r, cookies: map[string]string{}}
	if w := viewer.post("login", url.Values{"token": {token}}); err != nil || w.Code != http.StatusSeeOther {
		t.Fatal(w.Code, err)
	}
	if w := viewer.get("zones/Z?tab=visitor&ref=" + ref); w.Code != http.StatusOK {
		t.Errorf("a viewer: %d", w.Code)
	}
	if w := viewer.post("zones/Z/give-up", formOf(t, asked, "zones/Z/give-up")); w.Code != http.StatusForbidden {
		t.Errorf("a viewer gives up: %d", w.Code)
	}
}
