package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/pass"
)

// fullFor has all writings of the data folder fail with "no space left on device",
// through the kernel's own device for that, until the returned function is called.
func fullFor(t *testing.T, dir string) (free func()) {
	t.Helper()
	var links []string
	for _, name := range []string{"zones.json.new", "changes.json.new"} {
		link := filepath.Join(dir, name)
		for os.Symlink("/dev/full", link) != nil { // while the server has the file there
			if _, err := os.Stat(dir); err != nil {
				t.Fatal(err)
			}
		}
		links = append(links, link)
	}
	return func() {
		for _, link := range links {
			if err := os.Remove(link); err != nil {
				t.Error(err)
			}
		}
	}
}

const aJoin = `{"zoneId":"TICKETS"}`

// TestTheBrakeWithAFullDisk: a pause, a close and a policy are in force at once; the
// answer, the console, the command, the log and the figures say that they are not
// kept. They are once the disk has room.
func TestTheBrakeWithAFullDisk(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"QUEUE_CONFIG": config(t, twoZones), "QUEUE_DATA_DIR": dir}
	s := start(t, env)
	if got := request(t, "POST", s.public+"/traffic/wait", aJoin); got.value(t, "canEnter") != true {
		t.Fatalf("before: %+v", got)
	}
	if got := s.admin(t, "PATCH", "/admin/zones/TICKETS", `{"maxWaiting":5,"maxInside":100}`); got.header.Get("Warning") != "" {
		t.Errorf("a warning before: %+v", got)
	}
	free := fullFor(t, dir)

	paused := s.admin(t, "PATCH", "/admin/zones/TICKETS", `{"perMinute":0}`)
	if paused.status != http.StatusOK || paused.value(t, "perMinute") != 0.0 ||
		!strings.Contains(paused.header.Get("Warning"), "no space left on device") {
		t.Errorf("pause: %+v", paused)
	}
	if got := request(t, "POST", s.public+"/traffic/wait", aJoin); got.value(t, "canEnter") != false {
		t.Errorf("a join at the paused zone: %+v", got)
	}
	operator := map[string]string{"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "anna"}
	if got := runToEnd(t, operator, "zones", "close", "TICKETS"); got.status != cli.ExitOK || !strings.Contains(got.errOut, "not kept: ") {
		t.Errorf("close: %+v", got)
	}
	if got := request(t, "POST", s.public+"/traffic/wait", aJoin); got.status != http.StatusLocked {
		t.Errorf("a join at the closed zone: %+v", got)
	}
	policy := s.admin(t, "PUT", "/admin/limits/api", `{"rules":[{"algorithm":"sliding_log","limit":1,"windowSeconds":60}]}`)
	if policy.status != http.StatusCreated || !strings.Contains(policy.header.Get("Warning"), "zones.json") {
		t.Errorf("a policy: %+v", policy)
	}
	if got := s.admin(t, "DELETE", "/admin/zones/TEST_ZONE", ""); got.status != http.StatusNoContent || got.header.Get("Warning") == "" {
		t.Errorf("delete: %+v", got)
	}
	if got := s.admin(t, "PATCH", "/admin/zones/TICKETS", `{"perMinute":-1}`); got.header.Get("Warning") != "" {
		t.Errorf("a change that was not made is said to be in force: %+v", got)
	}
	if got := s.admin(t, "POST", "/admin/zones/TICKETS/inside/revoke", `{"all":true,"dryRun":true}`); got.status != http.StatusOK || got.header.Get("Warning") != "" {
		t.Errorf("a dry run: %+v", got)
	}
	if got := request(t, "GET", s.public+"/readyz", ""); got.status != http.StatusOK {
		t.Errorf("/readyz: %+v", got)
	}
	if got := soon(t, "GET", s.operators+"/metrics", "\nqueue_store_unsaved 1\n"); !strings.Contains(got.body, "\nqueue_store_unsaved 1\n") {
		t.Error("queue_store_unsaved is not 1")
	}
	s.log.await(t, "what is in force is not kept")

	free()
	if got := soon(t, "GET", s.operators+"/metrics", "\nqueue_store_unsaved 0\n"); !strings.Contains(got.body, "\nqueue_store_unsaved 0\n") {
		t.Error("queue_store_unsaved is not 0 though the disk has room")
	}
	s.end(t)

	s = start(t, env)
	if got := s.admin(t, "GET", "/admin/zones/TICKETS", ""); got.value(t, "perMinute") != 0.0 || got.value(t, "mode") != "closed" {
		t.Errorf("after a restart: %+v", got)
	}
	if got := s.admin(t, "GET", "/admin/limits/api", ""); got.status != http.StatusOK {
		t.Errorf("the policy after a restart: %+v", got)
	}
}

// TestStartsWithAFullDisk, with the zones that it has, and says so.
func TestStartsWithAFullDisk(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"QUEUE_CONFIG": config(t, twoZones), "QUEUE_DATA_DIR": dir}
	start(t, env).end(t)
	// A folder with something in it is in the way of every writing, root's too, and
	// is not removed as a file would be that a crash has left.
	block := filepath.Join(dir, "zones.json.new")
	if err := os.MkdirAll(filepath.Join(block, "something"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, env)
	s.log.await(t, "what is in force is not kept")
	if got := s.admin(t, "PATCH", "/admin/zones/TICKETS", `{"perMinute":0}`); got.status != http.StatusOK || got.header.Get("Warning") == "" {
		t.Errorf("pause: %+v", got)
	}
	if err := os.RemoveAll(block); err != nil {
		t.Fatal(err)
	}
	s.log.await(t, "what is in force is kept again")
	s.end(t)
}

// TestLoadKeysWhereNothingCanBeKept: the server starts with a token of operators that
// lasts as long as it does, and not with a secret that does.
func TestLoadKeysWhereNothingCanBeKept(t *testing.T) {
	// Nobody can make a folder there, not even root.
	s := checked{settings: settings{Store: storeEmbedded, DataDir: "/proc/no-folder", PassIssuer: pass.DefaultIssuer}}
	log := newLogReader()
	logger := newLogger(log, checked{settings: settings{LogFormat: "json"}})
	if _, err := loadKeys(s, logger); err == nil || !strings.Contains(err.Error(), "no QUEUE_SECRET is set") {
		t.Errorf("without a secret: %v", err)
	}
	s.secrets = [][]byte{[]byte("one secret, of 32 bytes or more!")}
	t.Setenv("TMPDIR", t.TempDir())
	k, err := loadKeys(s, logger)
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), "queue-server-admin-token-*"))
	if err != nil || k.adminToken == "" || len(found) != 1 {
		t.Fatalf("token %q, in %q, %v", k.adminToken, found, err)
	}
	if text, err := os.ReadFile(found[0]); err != nil || strings.TrimSpace(string(text)) != k.adminToken {
		t.Errorf("the file has another: %v", err)
	}
	log.end()
	log.await(t, "the root token that was made now is not kept")
}
