package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// TestTokens: an admin makes a token on the page, which shows it once. Its owner logs in without a name, sees and changes the zones of the
// token, and gets 403 for the rest. When the token is revoked, the session is over.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("SHOP")
	r.put("SALE-1")
	root := r.enter("Olga")
	shows(t, root.get("tokens"), "There is no token yet")
	shows(t, root.post("tokens", url.Values{"name": {"<b>"}, "role": {"operator"}}), "name must be")
	w := root.post("tokens", url.Values{"name": {"anna"}, "role": {"operator"}, "zones": {"X, SALE-*"}, "days": {"7"}})
	shows(t, w, "The token of anna, shown this once")
	token := html.UnescapeString(regexp.MustCompile(`qs_[A-Za-z0-9_-]{43}`).FindString(w.Body.String()))
	if w := root.get("tokens"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), token) {
		t.Errorf("the page shows the token again: %d", w.Code)
	}
	anna := &person{room: r, cookies: map[string]string{}}
	if w := anna.post("login", url.Values{"who": {"Eve"}, "token": {token}}); w.Code != http.StatusSeeOther {
		t.Fatalf("log in: %d %s", w.Code, w.Body)
	}
	page := anna.get("").Body.String()
	if !strings.Contains(page, ">anna<") || strings.Contains(page, "SHOP") || !strings.Contains(page, "SALE-1") || strings.Contains(page, "/console/tokens") {
		t.Errorf("anna's first page:\n%s", words(page))
	}
	if page := anna.get("changes").Body.String(); strings.Contains(page, "SHOP") || !strings.Contains(page, "SALE-1") {
		t.Errorf("anna's record:\n%s", words(page))
	}
	slower := url.Values{"was.perMinute": {"600"}, "perMinute": {"90"}}
	for _, tt := range []struct {
		method, path string
		form         url.Values
		want         int
	}{
		{"POST", "zones/SALE-1/change", slower, 303}, {"GET", "zones/SHOP", nil, 403}, {"GET", "zones/SHOP/events", nil, 403},
		{"POST", "zones/SHOP/change", slower, 403}, {"POST", "zones/SALE-1/delete", url.Values{"confirm": {"SALE-1"}}, 403},
		{"GET", "new", nil, 403}, {"POST", "new", url.Values{"zoneId": {"SALE-2"}}, 403}, {"GET", "tokens", nil, 403},
		{"POST", "tokens", url.Values{"name": {"eve"}, "role": {"admin"}}, 403}, {"POST", "tokens/revoke", url.Values{"id": {"anna"}}, 403},
	} {
		if w := anna.ask(tt.method, tt.path, tt.form); w.Code != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, w.Code, tt.want)
		}
	}
	if changes, err := r.store.Changes(t.Context(), "SALE-1"); err != nil || changes[0].Name != "anna" || r.zone("SHOP").PerMinute != 600 {
		t.Errorf("recorded: %+v, %v", changes[0], err)
	}
	ci, _, err := r.people.Create(t.Context(), people.Wanted{Name: "ci", Role: route.Admin, Zones: []string{"TEAM-*"}}, audit.By{Name: "root", Proof: audit.Root})
	parts.Must(t, err)
	machine := &person{room: r, cookies: map[string]string{}}
	machine.post("login", url.Values{"token": {ci}})
	for zoneID, want := range map[string]int{"TEAM-A": 303, "SHOP-2": 403} {
		if w := machine.post("new", url.Values{"zoneId": {zoneID}}); w.Code != want {
			t.Errorf("an admin of TEAM-* makes %s: %d", zoneID, w.Code)
		}
	}
	root.post("tokens/revoke", url.Values{"id": {r.people.Tokens()[0].ID}})
	if w := anna.get(""); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/console/login") {
		t.Errorf("after the revocation: %d", w.Code)
	}
}
