package container

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

// TestCompose reads deploy/compose as docker compose does, and runs the commands of its containers as processes.
func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{"../../deploy/compose/compose.yaml"}, cli.WithProfiles([]string{"crowd"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	// Both servers, on the Redis that the file has, with its arguments.
	redisArgs := project.Services["redis"].Command
	if redisArgs[0] != "redis-server" {
		t.Fatalf("Redis is started by %q", redisArgs)
	}
	redis := room.StartRedis(t, redisArgs[1:]...)
	var admin string
	for _, name := range []string{"queue-1", "queue-2"} {
		s := project.Services[name]
		at := map[string]string{"QUEUE_ADDR": room.FreeAddr(t), "QUEUE_ADMIN_ADDR": room.FreeAddr(t), "QUEUE_SITE_ADDR": room.FreeAddr(t)}
		p := &process.Process{Name: room.Program(t), Dir: t.TempDir(), Env: append(os.Environ(), "QUEUE_DATA_DIR=data")}
		for key, value := range s.Environment {
			p.Env = append(p.Env, key+"="+strings.ReplaceAll(*value, "redis:6379", redis.Addr()))
		}
		for key, addr := range at {
			p.Env = append(p.Env, key+"="+addr)
		}
		for _, arg := range s.Command {
			p.Args = append(p.Args, mounted(s, arg))
		}
		room.Launch(t, room.Adopt(t, p))
		admin = "http://" + at["QUEUE_ADMIN_ADDR"]
		room.Await(t, name+" is ready", func() bool {
			r, err := room.Ask(context.Background(), http.DefaultClient, http.MethodGet, "http://"+at["QUEUE_ADDR"]+"/readyz", "")
			return err == nil && r.Status == http.StatusOK
		})
		room.Request(t, http.MethodGet, "http://"+at["QUEUE_ADDR"]+"/traffic/zones/SHOP", "")
	}
	if r := room.Request(t, http.MethodGet, admin+"/metrics", ""); r.Status != http.StatusOK {
		t.Errorf("Prometheus cannot read the metrics: %d", r.Status)
	}

	pages := project.Services["pages"]
	if status, said := room.Run(t, map[string]string{"QUEUE_ADMIN_URL": admin, "QUEUE_ADMIN_TOKEN": *pages.Environment["QUEUE_ADMIN_TOKEN"]},
		strings.Fields(strings.ReplaceAll(strings.Join(pages.Command, " "), "/etc/nginx/waiting-room", t.TempDir()))...); status != 0 {
		t.Errorf("the pages are not exported: %s", said)
	}

	// What the containers make of the files of deploy: nothing may be left of the addresses of one machine.
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		made  string // in the container
		wants []string
	}{
		"nginx":      {"/etc/nginx/conf.d/default.conf", []string{"server queue-1:8083 max_fails=0; server queue-2:8083 max_fails=0;", "server queue-1:8080; server queue-2:8080;", "server shop:80;", "\n    set $waiting_room_away hold;"}},
		"prometheus": {"/tmp/prometheus.yml", []string{`"queue-1:8081", "queue-2:8081"`}},
	} {
		s := project.Services[name]
		line := s.Command
		if len(s.Entrypoint) > 0 {
			line = s.Entrypoint
		}
		script, _, ok := strings.Cut(line[2], "&& exec")
		if !ok || line[0] != "sh" || line[1] != "-c" {
			t.Fatalf("%s runs %q", name, line)
		}
		made := filepath.Join(dir, filepath.Base(tt.made))
		script = strings.NewReplacer(tt.made, made, " /tmp ", " "+dir+" ").Replace(mounted(s, script))
		room.Do(t, ".", "sh", "-c", script)
		text := room.Read(t, made)
		for _, want := range tt.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in what it makes", name, want)
			}
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, "127.0.0.1") && !strings.Contains(line, "9093") {
				t.Errorf("%s asks its own machine: %s", name, line)
			}
		}
	}
	room.Do(t, dir, "promtool", "check", "config", "prometheus.yml")
}

// mounted is a text of a service with the paths of what is mounted replaced by where that is.
func mounted(s types.ServiceConfig, text string) string {
	for _, v := range s.Volumes {
		if v.Type == types.VolumeTypeBind {
			text = strings.ReplaceAll(text, v.Target, v.Source)
		}
	}
	return text
}
