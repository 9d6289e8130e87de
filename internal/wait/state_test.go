package wait_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestStateOfAZone(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join("first")
	r.join("second")
	r.join("third")
	w := r.send("GET", "/traffic/zones/TEST_ZONE", "")
	want := fmt.Sprintf(`{"zoneId":"TEST_ZONE","mode":"queue","waiting":2,"estimatedWait":%d,`+
		`"site":{"newcomers":"wait","sessionSeconds":1800,"sessionRenewal":"use","bypassCommon":"on"}}`+"\n",
		r.stats(t).EstimateMillis)
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=1" {
		t.Errorf("Cache-Control %q", got)
	}
	for path, code := range map[string]string{
		"/traffic/zones/OTHER": "zone_unknown", "/traffic/zones/%7Bx%7D": "invalid_request",
	} {
		w := r.send("GET", path, "")
		if read(t, w).Code != code || w.Header().Get("Cache-Control") != "no-store" {
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
		r := newRoom(t)
		r.set(t, func(s *zone.Settings) { s.Message = tt.message })
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/traffic/zones/TEST_ZONE", http.NoBody)
		q.Header.Set("Accept-Language", tt.accept)
		r.http.ServeHTTP(w, q)
		var got wait.State
		must(t, json.Unmarshal(w.Body.Bytes(), &got))
		if s := (zone.Settings{Message: tt.message}); got.Message != tt.want || got.Notice != s.Notice() || w.Header().Get("Vary") != tt.vary {
			t.Errorf("%v for %s: %s, %v", tt.message, tt.accept, w.Body, w.Header())
		}
	}
}

func TestStateIsAskedForOnceASecond(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	look := func(waiting int64, calls int) {
		t.Helper()
		got, err := r.service.State(t.Context(), zoneID)
		if err != nil || got.Waiting != waiting {
			t.Errorf("got %+v, %v; want %d waiting", got, err, waiting)
		}
		if asked := r.store.asked(); len(asked) != calls {
			t.Errorf("the store was asked %q, want %d calls", asked, calls)
		}
	}
	look(0, 1)
	r.join("admitted")
	r.join("waiting")
	r.store.asked()
	look(0, 0)
	r.clock.forward(wait.StateMaxAge - 1)
	look(0, 0)
	r.clock.forward(1)
	look(1, 1)
	look(1, 0)
}

// A store that is away is asked once a second, too, and about zones that have
// been seen only: of other names nothing is kept.
func TestStateOfAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	look := func(zoneID string, want error, calls int) {
		t.Helper()
		if _, err := r.service.State(t.Context(), zoneID); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", zoneID, err, want)
		}
		if asked := r.store.asked(); len(asked) != calls {
			t.Errorf("%s: the store was asked %q, want %d calls", zoneID, asked, calls)
		}
	}
	away := fmt.Errorf("store: %w", line.ErrStoreUnavailable)
	look(zoneID, nil, 1)
	r.clock.forward(wait.StateMaxAge)
	r.store.fail(away)
	look(zoneID, away, 1)
	look(zoneID, away, 0)
	r.clock.forward(wait.StateMaxAge)
	look(zoneID, away, 1)
	r.store.fail(nil)
	look(zoneID, away, 0)
	r.clock.forward(wait.StateMaxAge)
	look(zoneID, nil, 1)

	must(t, r.store.DeleteZone(t.Context(), zoneID, ""))
	look(zoneID, nil, 0)
	r.clock.forward(wait.StateMaxAge)
	look(zoneID, line.ErrZoneDeleted, 0) // it is the settings that are not found
	r.set(t, func(*zone.Settings) {})
	look(zoneID, nil, 1) // and that is not remembered
}

// Zones that nobody asks about any more leave the cache.
func TestStateForgets(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i := range 100 {
		settings := zone.Defaults(fmt.Sprintf("Z%d", i))
		_, err := r.store.PutZone(t.Context(), settings, nil, "")
		must(t, err)
		_, err = r.service.State(t.Context(), settings.ZoneID)
		must(t, err)
		_, err = r.service.State(t.Context(), fmt.Sprintf("invented%d", i))
		if !errors.Is(err, line.ErrZoneUnknown) {
			t.Fatal(err)
		}
	}
	if got := wait.Cached(r.service); got != 100 {
		t.Errorf("%d zones are remembered, want 100", got)
	}
	r.clock.forward(2 * time.Minute)
	_, err := r.service.State(t.Context(), zoneID)
	must(t, err)
	if got := wait.Cached(r.service); got != 1 {
		t.Errorf("%d zones are remembered, want 1", got)
	}
}
