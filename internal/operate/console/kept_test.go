package console_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestWhatIsNotKeptIsSaid on every page, to who is logged in, and to nobody else.
func TestWhatIsNotKeptIsSaid(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("EVENT")
	p := r.enter("Olga")
	const said = "no space left on &lt;device&gt;"
	for _, path := range []string{"", "zones/EVENT", "limits", "changes", "new"} {
		r.unkept = nil
		if w := p.get(path); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "not kept") {
			t.Errorf("%q, with all kept: %d %s", path, w.Code, w.Body)
		}
		r.unkept = errors.New("no space left on <device>")
		if w := p.get(path); !strings.Contains(w.Body.String(), said) {
			t.Errorf("%q says nothing: %s", path, w.Body)
		}
	}
	p.cookies = map[string]string{}
	if w := p.get("login"); strings.Contains(w.Body.String(), "space") {
		t.Errorf("the login page tells: %s", w.Body)
	}
}
