//go:build faults

package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// formerRedis and formerEmbedded are the commits of the oldest versions to which one may go back with people waiting. A
// change of what is kept leaves a fixture made by them, too: see lua/testdata.
const formerRedis, formerEmbedded = "55b6c10f", "8df832c"

// buildFormer builds the server of a commit.
func buildFormer(former string) (string, error) {
	// The folder of binaries goes with the test run.
	now, err := build(false)()
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(now), former)
	if err := os.Mkdir(source, 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	run := func(dir, name string, args ...string) error {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}
	archive := source + ".tar"
	// A worktree's own folder is the root of what git archives there.
	if err := run("../../..", "git", "archive", "-o", archive, former); err != nil {
		return "", err
	}
	if err := run(".", "tar", "-xf", archive, "-C", source); err != nil {
		return "", err
	}
	program := now + "-" + former
	return program, run(source, "nice", "-n", "19", "go", "build", "-buildvcs=false", "-o", program, "./cmd/queue-server")
}

// formerBinary is the server of a commit. Without the project's history
// there is none: the row says so, and is not played.
func formerBinary(t *testing.T, fault, former string) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", former+"^{commit}").CombinedOutput(); err != nil {
		reason := fmt.Sprintf("NOT PLAYED: commit %s, the version before, is not in the history (git fetch --unshallow)", former)
		table.add(row{fault: fault + ": " + reason})
		t.Skipf("%s: %v: %s", reason, err, out)
	}
	program, err := buildFormer(former)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// newcomers arrive at each step of an upgrade, and perStep of a crowd enter.
const (
	newcomers = 20
	perStep   = 30
)

// step has an upgrade go on for a while: more join, and some are let in.
func (s *experiment) step(t *testing.T) {
	t.Helper()
	zoneID := s.zones[0].ZoneID
	in, there := s.crowd.admitted(zoneID), s.joined()
	s.crowd.arrive(t.Context(), zoneID, newcomers, time.Second)
	await(t, settleTimeout, "the line moves, and newcomers join", func() bool {
		return s.crowd.admitted(zoneID) >= in+perStep && s.joined() >= there+newcomers
	})
}

// TestUpgrade replaces servers of the version before, one after the other, by those
// of this one, and then the other way round, while people wait: first two servers on
// one Redis, which are of both versions meanwhile.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	const fault = "upgrade and rollback, one of two servers after the other"
	programs := []string{formerBinary(t, fault, formerRedis), moved(t, 0)[0]}
	e := startEngine(t)
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	one, first := prepareServer(t, e.url())
	two, second := prepareServer(t, e.url())
	both, told := []*server{one, two}, []environment{first, second}
	for i, s := range both {
		s.former.Store(true)
		s.become(t, programs[0], told[i])
		s.awaitReady(t)
	}
	s := setUpOn(t, fault, zones, both...)
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	s.breaks()
	for _, program := range []string{programs[1], programs[0]} {
		for i, server := range both {
			server.former.Store(program == programs[0])
			server.become(t, program, told[i])
			server.awaitReady(t)
			s.step(t)
		}
	}
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
	s.inOrder(t)
}

// TestUpgradeEmbedded does so with the one server of an embedded store: everybody
// comes back to their places, with each version.
func TestUpgradeEmbedded(t *testing.T) {
	t.Parallel()
	const fault = "embedded store: upgrade and rollback"
	programs := []string{formerBinary(t, fault, formerEmbedded), moved(t, 0)[0]}
	server, told := prepareServer(t, "")
	server.former.Store(true)
	server.become(t, programs[0], told)
	server.awaitReady(t)
	s := setUpOn(t, fault, []zone.Settings{busy("BUSY"), strict("STRICT")}, server)
	s.fill(t, aCrowd, aFew)
	s.breaks()
	for _, program := range []string{programs[1], programs[0]} {
		server.former.Store(program == programs[0])
		server.become(t, program, told)
		server.awaitReady(t)
		s.mends(time.Now())
		s.answered(t)
		s.step(t)
	}
	s.settle(t)
	s.finish(t)
	s.inOrder(t)
}
