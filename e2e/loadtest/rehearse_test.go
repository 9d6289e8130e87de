package loadtest

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/rehearsed"
)

// scripts is the folder of the crowds.
const scripts = "k6"

// TestTheVisitorKeepsAllRules has visitors of the crowds play every act, with shorter
// pauses: what a load test shows is worth nothing if its crowd is not what apps do.
func TestTheVisitorKeepsAllRules(t *testing.T) {
	t.Parallel()
	k6 := program(t)
	rehearsed.WantKept(t, rehearsed.Serve(t, func(url string, zones []string) {
		out, err := exec.CommandContext(t.Context(), k6, "run", "--quiet", "-e", "BASE_URL="+url,
			"-e", "SPEED="+strconv.Itoa(rehearsed.Speed), "-e", "ACTS="+strings.Join(zones, ","), scripts+"/rehearse.js").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}))
}

// program is the k6 that the Makefile pins.
func program(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`(?m)^K6 +:= (\S+)$`).FindSubmatch(makefile)
	if pinned == nil {
		t.Fatal("the Makefile pins no k6")
	}
	k6, err := exec.CommandContext(t.Context(), "../../scripts/go-tool.sh", string(pinned[1])).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(k6))
}
