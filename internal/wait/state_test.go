package wait_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestStateOfAZone(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Join("first")
	r.Join("second")
	r.Join("third")
	w := r.Send("GET", "/traffic/zones/TEST_ZONE", "")
	want := fmt.Sprintf(`{"zoneId":"TEST_ZONE","mode":"queue","waiting":2,"estimatedWait":%d,`+
		`"site":{"newcomers":"wait","sessionSeconds":1800,"sessionRenewal":"use","bypassCommon":"on"}}`+"\n",
		r.Stats(t).EstimateMillis)
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=1" {
		t.Errorf("Cache-Control %q", got)
	}
	for path, code := range map[string]string{
		"/traffic/zones/OTHER": "zone_unknown", "/traffic/zones/%7Bx%7D": "invalid_request",
	} {
		w := r.Send("GET", path, "")
		if room.Read(t, w).Code != code || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d %s %v", path, w.Code, w.Body, w.Header())
		}
	}
}

// TestStateInTheReadersLanguage: caches hear of it only where there is a choice.
func TestStateInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message            zone.Texts
		accept, want, vary string
	}{
		{nil, "de", "", ""}, {zone.Texts{"default": "Soon."}, "de", "Soon.", ""},
		{zone.Texts{"default": "Soon.", "de": "Gleich."}, "de-AT", "Gleich.", "Accept-Language"},
		{zone.Texts{"default": "Soon.", "de": "Gleich."}, "fr", "Soon.", "Accept-Language"},
	} {
		r := newServer(t)
		r.Set(t, func(s *zone.Settings) { s.Message = tt.message })
		w := r.Send("GET", "/traffic/zones/TEST_ZONE", "", "Accept-Language", tt.accept)
		var got wait.State
		room.Must(t, json.Unmarshal(w.Body.Bytes(), &got))
		if s := (zone.Settings{Message: tt.message}); got.Message != tt.want || got.Notice != s.Notice() || w.Header().Get("Vary") != tt.vary {
			t.Errorf("%v for %s: %s, %v", tt.message, tt.accept, w.Body, w.Header())
		}
	}
}
