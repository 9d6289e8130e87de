package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestDeleteOfAZoneWithAnEvent: the command that makes it again is one that zones create takes.
func TestDeleteOfAZoneWithAnEvent(t *testing.T) {
	t.Parallel()
	sale := zone.Defaults("SALE")
	sale.PerMinute = 30
	sale.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseAnnounced}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(sale)
	}))
	defer server.Close()
	out, errOut := newText(), newText()
	status := execute(t.Context(), []string{"zones", "delete", "SALE", "--yes", "--admin-url", server.URL}, &Terminal{
		Getenv: withToken, Stdout: out, Stderr: errOut,
	})
	if status != ExitOK || !strings.HasSuffix(out.string(), "\n  queue-server zones create SALE perMinute=30\n") {
		t.Errorf("status %d, it says %s%s", status, out.string(), errOut.string())
	}
}
