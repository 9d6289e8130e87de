package client

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// TestJava has the library of a release go through a visitor's day at a real server, round as the JavaScript client does, and play
// every act.
func TestJava(t *testing.T) {
	t.Parallel()
	made, classes := pack(t), t.TempDir()
	jar := strings.TrimSuffix(only(t, filepath.Join(made, "*.pom")), ".pom") + ".jar"
	sources, err := filepath.Glob("testdata/java/io/github/openqueue/waitingroom/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	do(t, ".", "javac", append([]string{"--release", "8", "-Xlint:all,-options", "-Werror", "-cp", jar, "-d", classes}, sources...)...)
	run := func(class string, args ...string) string {
		t.Helper()
		args = append([]string{"-cp", jar + ":" + classes, "io.github.openqueue.waitingroom." + class}, args...)
		out, err := exec.CommandContext(t.Context(), "java", args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, "zones: [{zoneId: SHOP, perMinute: 0}]")})
	ranges, err := exec.CommandContext(t.Context(), "node", "testdata/ranges.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := run("Journey", s.Public, "SHOP"); got != string(ranges) {
		t.Errorf("ranges: %s; in JavaScript %s", got, ranges)
	}
	rehearsed.WantKept(t, room.Rehearse(t, func(url string, zones []string) {
		run("Rehearse", append([]string{url, strconv.Itoa(room.RehearseSpeed)}, zones...)...)
	}))
}
