package release

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// image returns the commands of the last stage of deploy/docker/Dockerfile, read
// by the parser that builds it.
func image(t *testing.T) instructions.Stage {
	t.Helper()
	text, err := os.ReadFile("../../deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed.Warnings) > 0 {
		t.Errorf("the parser warns: %+v", parsed.Warnings)
	}
	return stages[len(stages)-1]
}

// only returns the one command of a kind.
func only[C instructions.Command](t *testing.T, s instructions.Stage) C {
	t.Helper()
	var all []C
	for _, c := range s.Commands {
		if c, is := c.(C); is {
			all = append(all, c)
		}
	}
	if len(all) != 1 {
		t.Fatalf("%d of %T, want one", len(all), *new(C))
	}
	return all[0]
}

func TestTheImageKeepsItsPromises(t *testing.T) {
	s := image(t)
	if s.BaseName != "scratch" {
		t.Errorf("the image is made from %s, want nothing", s.BaseName)
	}
	uid, _, _ := strings.Cut(only[*instructions.UserCommand](t, s).User, ":")
	if n, err := strconv.Atoi(uid); err != nil || n == 0 {
		t.Errorf("it runs as %q, want a number that is not root's", uid)
	}
	data := only[*instructions.EnvCommand](t, s).Env
	if want := "/var/lib/queue-server"; len(data) != 1 || data[0].Key != "QUEUE_DATA_DIR" || data[0].Value != want ||
		!slices.Equal(only[*instructions.VolumeCommand](t, s).Volumes, []string{want}) {
		t.Errorf("data: %v in %v", data, only[*instructions.VolumeCommand](t, s).Volumes)
	}
	if got := only[*instructions.StopSignalCommand](t, s).Signal; got != "SIGTERM" {
		t.Errorf("it is stopped by %s, which drains nothing", got)
	}
	if got := only[*instructions.ExposeCommand](t, s).Ports; !slices.Equal(got, []string{"8080"}) {
		t.Errorf("ports %v, want the public listener's alone", got)
	}
	if got := only[*instructions.CmdCommand](t, s).CmdLine; !slices.Equal(got, []string{"serve"}) {
		t.Errorf("it runs %q", got)
	}
}

func TestTheImageAsksItsOwnServerForItsHealth(t *testing.T) {
	s := image(t)
	entry := only[*instructions.EntrypointCommand](t, s).CmdLine
	check := only[*instructions.HealthCheckCommand](t, s).Health
	if len(check.Test) < 3 || check.Test[0] != "CMD" || !slices.Equal(check.Test[1:2], entry) || path.Base(entry[0]) != "queue-server" {
		t.Fatalf("%q asks, %q answers: want the same program, and no shell, which the image does not have", check.Test, entry)
	}
	if check.Timeout <= 2*time.Second || check.Interval > 10*time.Second {
		t.Errorf("every %v, for %v at most: the check itself gives up after 2 s", check.Interval, check.Timeout)
	}
	up := room.Start(t, nil)
	env := map[string]string{"QUEUE_ADDR": strings.TrimPrefix(up.Public, "http://")}
	if status, said := room.Run(t, env, check.Test[2:]...); status != cli.ExitOK {
		t.Errorf("a server that is well: %d %s", status, said)
	}
	// Swarm and others replace what fails: with Redis away that would be all servers at once.
	up = room.New(t, map[string]string{"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": "redis://127.0.0.1:1"})
	up.Launch(t)
	env["QUEUE_ADDR"] = strings.TrimPrefix(up.Public, "http://")
	if status, said := room.Run(t, env, "healthcheck"); status != cli.ExitFailed {
		t.Errorf("without its store it is ready: %d %s", status, said)
	}
	if status, said := room.Run(t, env, check.Test[2:]...); status != cli.ExitOK {
		t.Errorf("without its store: %d %s", status, said)
	}
}
