package loadtest

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/rehearsed"
)

// scripts is the folder of the crowds.
const scripts = "../../loadtest/k6"

// TestTheVisitorKeepsAllRules has visitors of the crowds play every act, with shorter
// pauses: what a load test shows is worth nothing if its crowd is not what apps do.
func TestTheVisitorKeepsAllRules(t *testing.T) {
	t.Parallel()
	k6 := room.Tool(t, "K6")
	rehearsed.WantKept(t, room.Rehearse(t, func(url string, zones []string) {
		out, err := exec.CommandContext(t.Context(), k6, "run", "--quiet", "-e", "BASE_URL="+url,
			"-e", "SPEED="+strconv.Itoa(room.RehearseSpeed), "-e", "ACTS="+strings.Join(zones, ","), scripts+"/rehearse.js").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}))
}
