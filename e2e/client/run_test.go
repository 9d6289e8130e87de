package client

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// hurried runs what docs/integrate/clients.md shows, with pauses ten times as short.
const hurried = `
import sys, time, urllib.request
told, speed = time.sleep, 10
time.sleep = lambda seconds: told(seconds / speed)
url, zone = sys.argv[1:]
try:
    token = wait(url, zone, "client-" + zone, lambda place: None)
except RuntimeError:
    sys.exit()
urllib.request.urlopen(urllib.request.Request(url + "/service", headers={"Authorization": "Bearer " + token}), timeout=30)
`

// rehearsal runs commands as clients, ten times as fast.
func rehearsal(t *testing.T, acts []string, command ...string) (told, printed string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = rehearse.Run(t.Context(), rehearse.Config{
		Addr: "127.0.0.1:0", Acts: acts, Speed: 10, Command: command, Stdout: &stdout, Stderr: &stderr,
	})
	return stdout.String(), stderr.String(), err
}

// TestTheCodeOfThePageKeepsAllRules starts the client of docs/integrate/clients.md for each act.
func TestTheCodeOfThePageKeepsAllRules(t *testing.T) {
	t.Parallel()
	_, code, _ := strings.Cut(room.Read(t, "../../docs/integrate/clients.md"), "```python\n")
	code, _, _ = strings.Cut(code, "```")
	file := filepath.Join(t.TempDir(), "client.py")
	room.Write(t, file, code+hurried)
	if told, printed, err := rehearsal(t, nil, "python3", file, "{url}", "{zone}"); err != nil {
		t.Errorf("%v\n%s\n%s", err, told, printed)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		acts    []string
		command []string
		want    error
		says    string // in what is printed
	}{
		"nobody":         {[]string{"calm", "closed"}, []string{"true"}, rehearse.ErrNobody, "calm not played"},
		"no such client": {[]string{"calm"}, []string{"./no-such-client"}, rehearse.ErrNobody, "no-such-client"},
		"broken": {[]string{"closed"}, []string{"python3", "-c", `
import os, json, urllib.request
while True:
    try: urllib.request.urlopen(os.environ["REHEARSAL_URL"] + "/traffic/wait", json.dumps({"zoneId": os.environ["REHEARSAL_ZONE"], "clientId": "x"}).encode())
    except OSError: pass
`}, rehearse.ErrBroken, "stop BROKEN"},
		"ends when the device has slept": {[]string{"pocket"}, []string{"python3", "-c", `
import os, json, time, urllib.request
told = {}
while True:
    body = {"zoneId": os.environ["REHEARSAL_ZONE"], **({"token": told["token"]} if told else {"clientId": "x"})}
    began = time.monotonic()
    told = json.load(urllib.request.urlopen(os.environ["REHEARSAL_URL"] + "/traffic/" + ("entry" if told else "wait"), json.dumps(body).encode()))
    time.sleep(told["waiting"]["pollingPeriod"] / 10_000)
    if time.monotonic() > began + 5: break
`}, rehearse.ErrBroken, "go-on BROKEN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, printed, err := rehearsal(t, tt.acts, tt.command...)
			if !errors.Is(err, tt.want) || !strings.Contains(strings.Join(strings.Fields(told+printed), " "), tt.says) {
				t.Errorf("%v, want %v; and %q in\n%s\n%s", err, tt.want, tt.says, told, printed)
			}
		})
	}
}
