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

// gathering is a zone at five to twelve: people gather for noon, and there is an event each Friday evening.
func gathering(t *testing.T) (z zone.Settings, now time.Time) {
	t.Helper()
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	z = zone.Defaults("TICKETS")
	z.PerMinute = 600
	z.Events = []event.Event{
		{Name: "noon", PreQueueAt: noon.Add(-time.Hour).Format(time.RFC3339), OpensAt: noon.Format(time.RFC3339)},
		{Name: "friday", OpensAt: "2026-11-06T18:00:00Z", Recurs: "0 18 * * 5"},
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
	for _, row := range table.lines(0)[1:] {
		all = append(all, strings.Join(strings.Fields(row), " "))
	}
	return all
}

// TestTheTableHasWhatComes: the next time of what recurs, and nothing that was skipped.
func TestTheTableHasWhatComes(t *testing.T) {
	t.Parallel()
	z, now := gathering(t)
	friday := "friday opens 2026-12-04T18:00:00Z they are let in, in the order in which they came; again 0 18 * * 5"
	want := []string{
		"noon preQueue 2026-12-01T11:00:00Z people gather, and nobody is let in (done)",
		"noon opens 2026-12-01T12:00:00Z they are let in, in the order in which they came", friday,
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
		want[0], "noon opens held they are let in, in the order in which they came",
		"noon closes 2026-12-01T12:55:00Z no newcomers any more; those who wait go on; not before the step that is held", friday,
	}
	if got := rows(eventTable(held, now)); !slices.Equal(got, want) {
		t.Errorf("held: %q, want %q", got, want)
	}
	skipped, fault := z.Skip(event.StepOpens, now)
	if fault != "" {
		t.Fatal(fault)
	}
	want = []string{"noon nothing comes of it any more: it is over, or was skipped", friday}
	if got := rows(eventTable(skipped, now)); !slices.Equal(got, want) {
		t.Errorf("skipped: %q, want %q", got, want)
	}
}

// TestTakingAnEventOffTheListSaysWhatComesOfIt: the server's answer still has the event, which is over within a second.
func TestTakingAnEventOffTheListSaysWhatComesOfIt(t *testing.T) {
	t.Parallel()
	begun := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	was := zone.Defaults("TICKETS")
	was.PerMinute = 60
	was.Events = []event.Event{{Name: "noon", OpensAt: begun.Format(time.RFC3339), Settings: event.Values{"perMinute": "60"}}}
	was.EventState.Now = was.Events[0].Listed()
	was.EventState.Now.Phase, was.EventState.Now.Before = event.PhaseOpen, event.Values{"perMinute": "300"}
	gathers := was
	gathers.Events = []event.Event{{Name: "noon", PreQueueAt: begun.Format(time.RFC3339), OpensAt: begun.Add(2 * time.Hour).Format(time.RFC3339)}}
	gathers.EventState.Now = gathers.Events[0].Listed()
	gathers.EventState.Now.Phase, gathers.PerMinute = event.PhaseGathering, 300
	for name, tt := range map[string]struct {
		was  zone.Settings
		undo string
	}{
		"open":      {was, "The list of before cannot be set again: event \"noon\" is in the past"},
		"gathering": {gathers, "To undo: queue-server zones set TICKETS 'events="},
	} {
		after := tt.was
		after.Events = nil
		got := answered(t, []string{"zones", "set", "TICKETS", "events=[]"}, tt.was, after)
		for _, want := range []string{"  noon opens ", tt.undo} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it lacks %q:\n%s", name, want, got)
			}
		}
		if undoes := strings.Contains(got, "To undo"); undoes != strings.HasPrefix(tt.undo, "To undo") {
			t.Errorf("%s: it says how to undo: %t\n%s", name, undoes, got)
		}
	}
}

// TestTheTableSaysWhatIsInTheWay: an opening at which nobody would be let in, or all.
func TestTheTableSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	z, _ := gathering(t)
	for _, tt := range []struct {
		mode  zone.Mode
		limit int64
		want  string
	}{
		{zone.ModeQueue, 600, ""},
		{zone.ModeQueue, 0, "BUT noon: The limit is 0: nobody is let in at the opening."},
		{zone.ModeOpen, 600, "BUT noon: The zone’s mode is open: at the opening everybody is let in at once, whatever the limit."},
	} {
		z.Mode, z.PerMinute = tt.mode, tt.limit
		if got := answered(t, []string{"events", "list", "TICKETS"}, z, z); !strings.Contains(got, tt.want) || strings.Contains(got, "BUT") != (tt.want != "") {
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
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = json.NewEncoder(w).Encode(z)
	}))
	defer server.Close()
	out, errOut := newText(), newText()
	if status := execute(t.Context(), append(args, "--admin-url", server.URL), &Terminal{Getenv: withToken, Stdout: out, Stderr: errOut}); status != ExitOK {
		t.Errorf("%v: status %d: %s", args, status, errOut.string())
	}
	return out.string()
}
