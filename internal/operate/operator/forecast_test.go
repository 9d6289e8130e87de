package operator_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
)

// lineUp has so many join a zone.
func (r *room) lineUp(tb testing.TB, zoneID string, n int) {
	tb.Helper()
	for i := range n {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], uint64(i)<<8)
		_, err := r.store.Join(tb.Context(), zoneID, id)
		must(tb, err)
	}
}

func TestForecast(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	settings := r.put(t, "Z")
	r.lineUp(t, "Z", 1260)
	slow := read[operator.Forecast](t, r.send("POST", "/admin/zones/Z/forecast", `{}`))
	if !slow.Settings.Equal(settings) || slow.Waiting != 1200 || slow.Present != 1200 || slow.At != 1_795_223_373_123 {
		t.Errorf("%+v", slow)
	}
	if s := time.Duration(*slow.LastInMillis) * time.Millisecond; s < 115*time.Second || s > 130*time.Second {
		t.Errorf("1,200 at 600 a minute: the last is in after %v", s)
	}
	fast := read[operator.Forecast](t, r.send("POST", "/admin/zones/Z/forecast", `{"perMinute":6000}`))
	if s := time.Duration(*fast.LastInMillis) * time.Millisecond; fast.Settings.PerMinute != 6000 || s > 20*time.Second {
		t.Errorf("at 6,000 a minute: the last is in after %v", s)
	}
	if len(fast.Series.AtMillis) == 0 || fast.Series.Waiting[0] != 1200 {
		t.Errorf("%+v", fast.Series)
	}
	if !r.zone(t, "Z").Equal(settings) || r.store.writes != 0 || r.logs.Len() != 0 {
		t.Errorf("the zone is %+v after %d writes, logged %s", r.zone(t, "Z"), r.store.writes, r.logs)
	}
}

func TestForecastRefuses(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put(t, "Z")
	for _, tt := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/admin/zones/NONE/forecast", `{}`, 404, "zone_unknown"},
		{"/admin/zones/%20/forecast", `{}`, 400, "invalid_request"},
		{"/admin/zones/Z/forecast", ``, 400, "invalid_request"},
		{"/admin/zones/Z/forecast", `{"perMinute":-1}`, 400, "invalid_request"},
		{"/admin/zones/Z/forecast", `{"perMinite":1}`, 400, "invalid_request"},
		{"/admin/zones/Z/forecast", strings.Repeat(" ", serve.MaxOperatorBody+1), 413, "body_too_large"},
	} {
		if w := r.send("POST", tt.path, tt.body); w.Code != tt.status || read[refusal](t, w).Code != tt.code {
			t.Errorf("%s %.20s: got %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
	if w := r.send("POST", "/admin/zones/Z/forecast", `{}`, "Sec-Fetch-Site", "cross-site"); w.Code != 403 {
		t.Errorf("from another site: got %d %s", w.Code, w.Body)
	}
}
