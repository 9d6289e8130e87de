package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestImage packs the image twice, looks into it as an engine would, and starts it in podman.
func TestImage(t *testing.T) {
	binaries := t.TempDir()
	for _, arch := range []string{"amd64", "arm64"} {
		room.Do(t, "../..", "env", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "go", "build", "-o", filepath.Join(binaries, arch, "queue-server"), "./cmd/queue-server")
	}
	dir := t.TempDir()
	archive, second := filepath.Join(dir, "image.tar"), filepath.Join(dir, "a second", "image.tar")
	room.Do(t, "../..", "env", "VERSION=1.2.3", "scripts/image.sh", archive, binaries)
	room.Do(t, "../..", "env", "VERSION=1.2.3", "TZ=Asia/Tokyo", "sh", "-c", `umask 077; scripts/image.sh "$@"`, "sh", second, binaries)
	if room.Read(t, archive) != room.Read(t, second) {
		t.Error("two images of the same binaries differ")
	}
	// Of Docker's own build alone: an image in the OCI format has no health check. A server without its store is not replaced.
	if !strings.Contains(room.Read(t, "../../deploy/docker/Dockerfile"), `CMD ["/usr/bin/queue-server", "healthcheck", "--alive"]`) {
		t.Error("the Dockerfile asks for another health check")
	}
	t.Run("content", func(t *testing.T) { testContent(t, archive, binaries) })
	t.Run("container", func(t *testing.T) { testContainer(t, archive) })
}

// descriptor points from one blob of an image to another.
type descriptor struct {
	Digest   string
	Platform struct{ Architecture, OS string }
}

func testContent(t *testing.T, archive, binaries string) {
	t.Helper()
	const program = "/usr/bin/queue-server"
	dir := t.TempDir()
	room.Do(t, dir, "tar", "--extract", "--file", archive)
	var index struct{ Manifests []descriptor }
	decode(t, filepath.Join(dir, "index.json"), &index)
	blob := func(digest string) string {
		return filepath.Join(dir, "blobs", strings.Replace(digest, ":", "/", 1))
	}
	if len(index.Manifests) != 1 {
		t.Fatalf("%+v", index)
	}
	decode(t, blob(index.Manifests[0].Digest), &index)
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, m := range index.Manifests {
		arch := m.Platform.Architecture
		var image struct {
			Config descriptor
			Layers []descriptor
		}
		decode(t, blob(m.Digest), &image)
		var config struct {
			Architecture string
			Config       struct {
				User, StopSignal     string
				Env, Entrypoint, Cmd []string
				ExposedPorts         map[string]any
				Volumes              map[string]any
				Labels               map[string]string
			}
		}
		decode(t, blob(image.Config.Digest), &config)
		of := config.Config
		if m.Platform.OS != "linux" || config.Architecture != arch || of.User != "65532:65532" || of.Labels["org.opencontainers.image.version"] != "1.2.3" ||
			!slices.Equal(append(of.Entrypoint, of.Cmd...), []string{program, "serve"}) {
			t.Errorf("%+v, for %+v", config, m)
		}
		const data = "/var/lib/queue-server"
		if of.Volumes[data] == nil || !slices.Contains(of.Env, "QUEUE_DATA_DIR="+data) {
			t.Errorf("its data: %v in %v", of.Volumes, of.Env)
		}
		if len(of.ExposedPorts) != 1 || of.ExposedPorts["8080/tcp"] == nil {
			t.Errorf("ports %v, want the public listener's alone", of.ExposedPorts)
		}
		if of.StopSignal != "SIGTERM" { // another signal drains nothing
			t.Errorf("it is stopped by %s", of.StopSignal)
		}
		var all []string
		for _, layer := range image.Layers {
			for header, content := range files(t, blob(layer.Digest)) {
				all = append(all, fmt.Sprintf("%s %04o %d:%d", header.Name, header.Mode&0o7777, header.Uid, header.Gid))
				if header.Name != "usr/bin/queue-server" {
					continue
				}
				binary, err := elf.NewFile(bytes.NewReader(content))
				if err != nil || binary.Machine != machines[arch] || string(content) != room.Read(t, filepath.Join(binaries, arch, "queue-server")) {
					t.Errorf("%s: another program: %v", arch, err)
				}
			}
		}
		want := []string{
			"etc/ 0755 0:0", "etc/ssl/ 0755 0:0", "etc/ssl/certs/ 0755 0:0", "etc/ssl/certs/ca-certificates.crt 0644 0:0",
			"usr/ 0755 0:0", "usr/bin/ 0755 0:0", "usr/bin/queue-server 0755 0:0", "usr/share/ 0755 0:0", "usr/share/doc/ 0755 0:0",
			"usr/share/doc/queue-server/ 0755 0:0", "usr/share/doc/queue-server/LICENSE 0644 0:0",
			"usr/share/doc/queue-server/THIRD-PARTY-LICENSES.txt 0644 0:0",
			"var/ 0755 0:0", "var/lib/ 0755 0:0", "var/lib/queue-server/ 0700 65532:65532",
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s has\n%s\nwant\n%s", arch, strings.Join(all, "\n"), strings.Join(want, "\n"))
		}
		delete(machines, arch)
	}
	if len(machines) > 0 {
		t.Errorf("not for %v", machines)
	}
}

// files returns what a layer has, in order.
func files(t *testing.T, layer string) func(func(*tar.Header, []byte) bool) {
	t.Helper()
	return func(yield func(*tar.Header, []byte) bool) {
		packed, err := gzip.NewReader(strings.NewReader(room.Read(t, layer)))
		if err != nil {
			t.Fatal(err)
		}
		for all := tar.NewReader(packed); ; {
			header, err := all.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			content, err2 := io.ReadAll(all)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if !yield(header, content) {
				return
			}
		}
	}
}

// podman's statuses where it, or the runtime below it, could not start the command. What the image itself can cause
// has another: 127, for a command that is not in it, and the command's own.
const (
	engineFailed  = 125
	runtimeFailed = 126
)

// testContainer has a visitor join a container, as locked down as Kubernetes' restricted level wants it, and stops it. Where
// no container can be started, as in most containers, it says so.
func testContainer(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	podman := func(args ...string) (status int, said string) {
		args = append([]string{
			"--root", dir + "/root", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp",
			"--storage-driver", "vfs", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "file",
		}, args...)
		cmd := exec.CommandContext(context.Background(), "podman", args...) // a test's cleanup needs it, too
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), strings.TrimSpace(string(out))
	}
	t.Cleanup(func() { // what podman left behind may still clean up after the container
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() { podman("rmi", "--all", "--force") })
	const image = "localhost/queue-server:1.2.3"
	if status, said := podman("load", "--input", archive); status == engineFailed && os.Getuid() != 0 {
		t.Logf("THE IMAGE WAS NOT STARTED: podman stores no image for this user: %s", said)
		return
	} else if status != 0 || !strings.Contains(said, image) {
		t.Fatalf("%d: %s", status, said)
	}
	var open syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &open); err != nil {
		t.Fatal(err)
	}
	most := strconv.FormatUint(open.Max, 10)
	public, zones := room.FreeAddr(t), filepath.Join(dir, "zones.yaml")
	room.WriteAs(t, zones, "zones: [{zoneId: SHOP, perMinute: 60}]", 0o644)
	status, said := podman("run", "--detach", "--name", "server", "--network", "host", "--pull", "never",
		"--ulimit", "nofile="+most+":"+most, "--ulimit", "nproc=1024:1024", // podman's own are above what a container may have
		"--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
		"--volume", zones+":/zones.yaml:ro",
		"--env", "QUEUE_ADDR="+public, "--env", "QUEUE_ADMIN_ADDR="+room.FreeAddr(t), "--env", "QUEUE_CONFIG=/zones.yaml",
		"--env", "QUEUE_DRAIN_DELAY=0s", image)
	if status == engineFailed || status == runtimeFailed {
		t.Logf("THE IMAGE WAS NOT STARTED: podman starts no container here: %s", said)
		return
	}
	if status != 0 {
		t.Fatalf("%d: %s", status, said)
	}
	t.Cleanup(func() { podman("rm", "--all", "--force", "--volumes", "--time", "0") })
	if !room.Soon(t, room.Patience, func() bool {
		r, err := room.Ask(t.Context(), http.DefaultClient, http.MethodGet, "http://"+public+"/readyz", "")
		return err == nil && r.Status == http.StatusOK
	}) {
		_, said := podman("logs", "server")
		t.Fatalf("it is not ready: %s", said)
	}
	if status, said := podman("exec", "server", "/usr/bin/queue-server", "healthcheck", "--alive"); status != 0 {
		t.Errorf("its health check: %d %s", status, said)
	}
	if r := room.Request(t, http.MethodPost, "http://"+public+"/traffic/wait", `{"zoneId":"SHOP","clientId":"first"}`); r.Status != http.StatusOK || r.Value(t, "canEnter") != true {
		t.Errorf("a visitor: %+v", r)
	}
	if status, said := podman("stop", "--time", "60", "server"); status != 0 {
		t.Errorf("stop: %d %s", status, said)
	}
	if _, said := podman("inspect", "--format", "{{.State.ExitCode}}", "server"); said != "0" {
		t.Errorf("it ended with %s", said)
	}
	if _, said := podman("logs", "server"); !strings.Contains(said, "drained") {
		t.Errorf("it did not drain: %s", said)
	}
}

func decode(t *testing.T, name string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(room.Read(t, name)), to); err != nil {
		t.Fatal(err)
	}
}
