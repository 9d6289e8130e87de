package fault

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// buildTimeout bounds a build. One with a movable clock builds the standard
// library anew: 100 s of one core.
const buildTimeout = 5 * time.Minute

// command is the package of the server, seen from this package's folder.
const command = "../../../cmd/queue-server"

// overlay has the go command build programs whose clock is ahead by the seconds
// in clockVariable.
const (
	overlay       = "../../../scripts/clock-overlay.sh"
	clockVariable = "CLOCK_AHEAD_SECONDS"
)

// binaries are built once a test run. removeBinaries removes them.
var binaries struct {
	sync.Mutex
	dir   string
	built map[string]func() (string, error)
}

// removeBinaries removes what the tests of this run have built. For TestMain.
func removeBinaries() error {
	binaries.Lock()
	defer binaries.Unlock()
	return os.RemoveAll(binaries.dir)
}

// moved is what starts queue-server with a clock that is ahead.
func moved(t testing.TB, ahead time.Duration) []string {
	t.Helper()
	path, err := build(ahead != 0)()
	if err != nil {
		t.Fatal(err)
	}
	if ahead == 0 {
		return []string{path}
	}
	// The test's own clock may be moved, too: by scripts/dates.sh.
	own, err := strconv.Atoi(cmp.Or(os.Getenv(clockVariable), "0"))
	if err != nil {
		t.Fatalf("%s: %v", clockVariable, err)
	}
	return []string{"env", fmt.Sprintf("%s=%d", clockVariable, own+int(ahead.Seconds())), path}
}

// build returns what builds the server, once for all who call it.
func build(movable bool) func() (string, error) {
	binaries.Lock()
	defer binaries.Unlock()
	name := "queue-server"
	if movable {
		name += "-movable"
	}
	if binaries.built == nil {
		binaries.built = make(map[string]func() (string, error))
	}
	if binaries.built[name] == nil {
		binaries.built[name] = sync.OnceValues(func() (string, error) { return compile(name, movable) })
	}
	return binaries.built[name]
}

func compile(name string, movable bool) (string, error) {
	binaries.Lock()
	if binaries.dir == "" {
		dir, err := os.MkdirTemp("", "fault-")
		if err != nil {
			binaries.Unlock()
			return "", err
		}
		binaries.dir = dir
	}
	path := filepath.Join(binaries.dir, name)
	binaries.Unlock()

	// Without the race detector, which would make a server five times slower;
	// TestStoreUnderRace has the same code in the test's own process.
	args := []string{"build", "-buildvcs=false", "-o", path}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if movable {
		option, err := exec.CommandContext(ctx, overlay, filepath.Dir(path)).Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", overlay, err)
		}
		args = append(args, strings.TrimSpace(string(option)))
	}
	// Nice: other tests measure time meanwhile.
	c := exec.CommandContext(ctx, "nice", append([]string{"-n", "19", "go"}, append(args, command)...)...)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return path, nil
}
