package operator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
)

// history is an answer of /history, as a client reads it.
type history struct {
	ZoneID     string `json:"zoneId"`
	Start      int64  `json:"start"`
	StepMillis int64  `json:"stepMillis"`
	Rows       int    `json:"rows"`
	Columns    struct {
		Store          []*string  `json:"store"`
		Waiting        []*int64   `json:"waiting"`
		JoinsPerMinute []*float64 `json:"joinsPerMinute"`
	} `json:"columns"`
}

func TestHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.put(t, "Z")
		if got := read[history](t, r.send("GET", "/admin/zones/Z/history", "")); got.Rows != 0 || got.ZoneID != "Z" {
			t.Errorf("before the first sample: %+v", got)
		}
		began := time.Now().UnixMilli() // a full second, in this bubble
		r.watch.Start(t.Context())
		defer r.watch.Stop()
		for i := range byte(100) {
			_, err := r.store.Join(t.Context(), "Z", line.ID{i})
			parts.Must(t, err)
			_, err = r.watch.Wait(t.Context(), int64(i)+1)
			parts.Must(t, err)
		}
		for _, tt := range []struct {
			query string
			rows  int
		}{{"", 101}, {"?seconds=3600", 101}, {"?seconds=30", 30}, {"?seconds=1", 1}} {
			got := read[history](t, r.send("GET", "/admin/zones/Z/history"+tt.query, ""))
			if got.Rows != tt.rows || len(got.Columns.Waiting) != tt.rows || got.StepMillis != 1000 ||
				got.Start != began+1000*int64(101-tt.rows) {
				t.Errorf("%s: %+v", tt.query, got)
				continue
			}
			if last := tt.rows - 1; *got.Columns.Store[last] != "ok" || *got.Columns.JoinsPerMinute[last] != 60 {
				t.Errorf("%s: ends with %s, %v joins a minute", tt.query, *got.Columns.Store[last], *got.Columns.JoinsPerMinute[last])
			}
		}
		stats := read[operator.Stats](t, r.send("GET", "/admin/zones/Z/stats", ""))
		if stats.JoinsPerMinute == nil || *stats.JoinsPerMinute != 60 || *stats.SampledAt != began+100_000 {
			t.Errorf("the stats are %+v", stats)
		}
	})
}

func TestHistoryRefuses(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put(t, "Z")
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/admin/zones/NONE/history":           {404, "zone_unknown"},
		"/admin/zones/%20/history":            {400, "invalid_request"},
		"/admin/zones/Z/history?seconds=0":    {400, "invalid_request"},
		"/admin/zones/Z/history?seconds=-1":   {400, "invalid_request"},
		"/admin/zones/Z/history?seconds=3601": {400, "invalid_request"},
		"/admin/zones/Z/history?seconds=all":  {400, "invalid_request"},
	} {
		if w := r.send("GET", path, ""); w.Code != want.status || read[refusal](t, w).Code != want.code {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}
