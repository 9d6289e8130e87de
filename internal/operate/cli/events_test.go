package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gathering is a zone at five to twelve: people gather for noon, and there is an event on Friday evening.
func gathering(t *testing.T) (z zone.Settings, now time.Time) {
	t.Helper()
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	z = zone.Defaults("TICKETS")
	z.PerMinute = 600
	z.Events = []event.Event{
		{Name: "noon", PreQueueAt: noon.Add(-time.Hour).Format(time.RFC3339), OpensAt: noon.Format(time.RFC3339)},
		{Name: "friday", OpensAt: "2026-12-04T18:00:00Z"},
	}
	state, ok := event.State{}.Announce(z.Events[:1], noon.Add(-2*time.Hour), nil)
	if !ok {
		t.Fatal("noon is not announced")
	}
	z.EventState = state.Made(event.StepPreQueue)
	return z, noon.Add(-5 * time.Minute)
}

// rows are the lines of a table, with one space between words.
func rows(table *table) (all []string) {
	for _, row := range table.lines()[1:] {
		all = append(all, strings.Join(strings.Fields(row), " "))
	}
	return all
}

// TestTheTableHasWhatComes, and nothing that was cancelled.
func TestTheTableHasWhatComes(t *testing.T) {
	t.Parallel()
	z, now := gathering(t)
	friday := "friday opens 2026-12-04T18:00:00Z they are admitted, in the order in which they came"
	want := []string{
		"noon preQueue 2026-12-01T11:00:00Z people gather, and nobody is admitted (done)",
		"noon opens 2026-12-01T12:00:00Z they are admitted, in the order in which they came", friday,
	}
	if got := rows(eventTable(z, now)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	held := z
	var fault string
	if held.EventState, fault = z.EventState.Hold(event.StepOpens, now); fault != "" {
		t.Fatal(fault)
	}
	held.EventState.Now.ClosesAtMillis = now.Add(time.Hour).UnixMilli()
	want = []string{
		want[0], "noon opens held they are admitted, in the order in which they came",
		"noon closes 2026-12-01T12:55:00Z no newcomers any more; those who wait go on; not before the step that is held", friday,
	}
	if got := rows(eventTable(held, now)); !slices.Equal(got, want) {
		t.Errorf("held: %q, want %q", got, want)
	}
	cancelled, fault := z.Cancel(now)
	if fault != "" {
		t.Fatal(fault)
	}
	want = []string{"noon nothing comes of it any more: it is over, or was cancelled", friday}
	if got := rows(eventTable(cancelled, now)); !slices.Equal(got, want) {
		t.Errorf("cancelled: %q, want %q", got, want)
	}
}

// TestTheTableSaysWhatIsInTheWay: an opening at which nobody would be admitted, or all.
func TestTheTableSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	z, _ := gathering(t)
	for _, tt := range []struct {
		mode  zone.Mode
		limit int64
		want  string
	}{
		{zone.ModeQueue, 600, ""},
		{zone.ModeQueue, 0, "WARNING: noon: The limit is 0: nobody is admitted at the opening."},
		{zone.ModeOpen, 600, "WARNING: noon: The zone’s mode is open: at the opening everybody is admitted at once, whatever the limit."},
	} {
		z.Mode, z.PerMinute = tt.mode, tt.limit
		if got := answered(t, []string{"events", "list", "TICKETS"}, z, z); !strings.Contains(got, tt.want) || strings.Contains(got, "WARNING") != (tt.want != "") {
			t.Errorf("%s, %d: %s", tt.mode, tt.limit, got)
		}
	}
}

// answered is what a command says where a server has a zone, and answers a change with another.
func answered(t *testing.T, args []string, was, now zone.Settings) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		z := was
		if r.Method != http.MethodGet {
			z = now
		}
		_ = json.NewEncoder(w).Encode(z)
	}))
	defer server.Close()
	var out, errOut strings.Builder
	if status := execute(t.Context(), append(args, "--admin-url", server.URL), &Terminal{Getenv: withToken, Stdout: &out, Stderr: &errOut}); status != ExitOK {
		t.Errorf("%v: status %d: %s", args, status, errOut.String())
	}
	return out.String()
}
