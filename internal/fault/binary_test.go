package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// buildTimeout bounds a build. One with another clock builds the standard
// library anew: 100 s of one core.
const buildTimeout = 5 * time.Minute

// command is the package of the server, seen from this package's folder.
const command = "../../cmd/queue-server"

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

// binary returns the path of queue-server. Its clock is ahead by skew.
func binary(t testing.TB, skew time.Duration) string {
	t.Helper()
	path, err := build(skew)()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// build returns what builds the server, once for all who call it.
func build(skew time.Duration) func() (string, error) {
	binaries.Lock()
	defer binaries.Unlock()
	name := "queue-server"
	if skew != 0 {
		name += "-ahead-" + skew.String()
	}
	if binaries.built == nil {
		binaries.built = make(map[string]func() (string, error))
	}
	if binaries.built[name] == nil {
		binaries.built[name] = sync.OnceValues(func() (string, error) { return compile(name, skew) })
	}
	return binaries.built[name]
}

func compile(name string, skew time.Duration) (string, error) {
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
	if skew != 0 {
		overlay, err := clockOverlay(filepath.Dir(path), skew)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	// Nice: other tests measure time meanwhile.
	c := exec.CommandContext(ctx, "nice", append([]string{"-n", "19", "go"}, append(args, command)...)...)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return path, nil
}

// wallSeconds is the line of package time in which Now turns the system's
// seconds since 1970 into its own.
const wallSeconds = "\tsec += unixToInternal - minWall\n"

// clockOverlay writes what has the go command build a program whose time.Now is
// ahead: go build -overlay takes another file for one of package time. The
// monotonic clock stays as it is, as with a machine whose clock is set wrong.
func clockOverlay(dir string, ahead time.Duration) (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), wallSeconds) != 1 {
		return "", fmt.Errorf("%s no longer has the line %q", original, wallSeconds)
	}
	changed := fmt.Sprintf("\tsec += unixToInternal - minWall + %d\n", int64(ahead.Seconds()))
	ours := filepath.Join(dir, "time.go.txt")
	if err := os.WriteFile(ours, []byte(strings.Replace(string(text), wallSeconds, changed, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: ours}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}
