package operator_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestObserved: what the API says of the requests that a gate has observed.
func TestObserved(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	_, err := r.store.Store.PutZone(t.Context(), zone.Defaults("Z"), nil, audit.By{})
	parts.Must(t, err)
	empty := `{"zoneId":"Z","since":0,"forgotten":0,"kinds":[],"suggestions":[]}` + "\n"
	if w := r.send("GET", "/admin/zones/Z/observed", ""); w.Body.String() != empty {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r.observed.Add("Z", &observed.Request{Method: "POST", Path: "/hook?id=7", UserAgent: "Shipping/1", Would: observed.Refuse}, time.UnixMilli(7))
	want := `{"zoneId":"Z","since":7,"forgotten":0,"kinds":[{"method":"POST","path":"/hook","agent":"Shipping","would":"refuse","requests":1,"lastAt":7}],` +
		`"suggestions":[{"setting":"bypassPaths","value":"/hook","why":"POST /hook by Shipping, 1 times: a notice from another service, or an app, which is to join instead"}]}` + "\n"
	if w := r.send("GET", "/admin/zones/Z/observed", ""); w.Body.String() != want {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
	}
	if w := r.send("GET", "/admin/zones/NONE/observed", ""); w.Code != http.StatusNotFound {
		t.Errorf("no zone: %d", w.Code)
	}
}
