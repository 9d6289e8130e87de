package client

import (
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
	room.Do(t, ".", "node", "--test", "../../clients/js/test/")
}

// TestTheClientKeepsAllRules has it play every act, with shorter pauses.
func TestTheClientKeepsAllRules(t *testing.T) {
	t.Parallel()
	rehearsed.WantKept(t, room.Rehearse(t, func(url string, zones []string) {
		room.Do(t, ".", "node", append([]string{"testdata/rehearse.mjs", url, strconv.Itoa(room.RehearseSpeed)}, zones...)...)
	}))
}

// TestJava has the library of a release go through a visitor's day at a real server, round as the JavaScript client does, and play
// every act.
func TestJava(t *testing.T) {
	t.Parallel()
	made, classes := pack(t), t.TempDir()
	jar := strings.TrimSuffix(only(t, filepath.Join(made, "*.pom")), ".pom") + ".jar"
	sources := room.Glob(t, "testdata/java/io/github/openqueue/waitingroom/*.java")
	room.Do(t, ".", "javac", append([]string{"--release", "8", "-Xlint:all,-options", "-Werror", "-cp", jar, "-d", classes}, sources...)...)
	run := func(class string, args ...string) string {
		t.Helper()
		return room.Do(t, ".", "java", append([]string{"-cp", jar + ":" + classes, "io.github.openqueue.waitingroom." + class}, args...)...)
	}
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, "zones: [{zoneId: SHOP, perMinute: 0}]")})
	ranges := room.Do(t, ".", "node", "testdata/ranges.mjs")
	if got := run("Journey", s.Public, "SHOP"); got != ranges {
		t.Errorf("ranges: %s; in JavaScript %s", got, ranges)
	}
	rehearsed.WantKept(t, room.Rehearse(t, func(url string, zones []string) {
		run("Rehearse", append([]string{url, strconv.Itoa(room.RehearseSpeed)}, zones...)...)
	}))
}
