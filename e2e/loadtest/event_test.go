package loadtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/acceptance"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestPeopleGather has a small crowd gather for an event of a real server, and go in as
// drawn. It takes a minute, of which half is between the close of the draw and the opening.
// Where the machine was too busy to play the crowd, only what is exact is held.
func TestPeopleGather(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "go", "run", "-C", "../..", "./cmd/queue-bench", "loadtest", "--k6", program(t),
		"--server", room.Program(t), "--only=event", "--store=embedded", "--size=0.1", "--out", results).CombinedOutput()
	story, readErr := os.Open(filepath.Join(results, "event-embedded.ndjson"))
	if readErr != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	defer func() { _ = story.Close() }() // only read
	s, readErr := acceptance.Read(story)
	if readErr != nil {
		t.Fatalf("%v\n%s", readErr, said)
	}
	z := zone.Defaults("LOAD_EVENT")
	z.PerMinute = 200
	v := acceptance.Judge(s, z, nil)
	if v.Came != 100 || v.In != 100 || s.Opens == 0 || v.Punctual == 0 && !v.Busy() {
		t.Errorf("%d came, %d are in, it opened after %d ms", v.Came, v.In, s.Opens)
	}
	unnumbered := 0
	for _, o := range s.Visitors {
		if o.Asked[0].Position == 0 {
			unnumbered++
		}
	}
	if unnumbered < 90 {
		t.Errorf("%d of %d had no number at first", unnumbered, v.Came)
	}
	if err != nil && (!v.Busy() || strings.Contains(string(said), "wrong_answers_total")) {
		t.Errorf("%v\n%s", err, said)
	}
}
