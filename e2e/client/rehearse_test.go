package client

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/rehearsed"
)

// TestInNode runs the tests of the client.
func TestInNode(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "node", "--test", "../../clients/js/test/").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheClientKeepsAllRules has it play every act, with shorter pauses.
func TestTheClientKeepsAllRules(t *testing.T) {
	t.Parallel()
	rehearsed.WantKept(t, room.Rehearse(t, func(url string, zones []string) {
		args := append([]string{"testdata/rehearse.mjs", url, strconv.Itoa(room.RehearseSpeed)}, zones...)
		if out, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}))
}
