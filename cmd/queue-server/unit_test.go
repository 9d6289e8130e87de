package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

// What systemd runs: deploy/systemd and deploy/debian.

// deployed opens a file below deploy.
func deployed(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, f) })
	return f
}

// unitOptions returns the values of an option of the unit, in order.
func unitOptions(t *testing.T, section, name string) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(deployed(t, "systemd/queue-server.service"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, o := range options {
		if o.Section == section && o.Name == name {
			values = append(values, o.Value)
		}
	}
	return values
}

// settingDefaults returns the default of every setting, by its variable.
func settingDefaults() map[string]string {
	defaults := make(map[string]string)
	for field := range reflect.TypeFor[settings]().Fields() {
		defaults[field.Tag.Get(settingTag)] = field.Tag.Get("default")
	}
	return defaults
}

func TestTheUnitWaitsAsLongAsADrainTakes(t *testing.T) {
	delay, err := time.ParseDuration(settingDefaults()["QUEUE_DRAIN_DELAY"])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := unitOptions(t, "Service", "TimeoutStopSec"), longestStop(delay).String(); !slices.Equal(got, []string{want}) {
		t.Errorf("TimeoutStopSec is %q, a drain takes %s at most", got, want)
	}
}

func TestTheEnvironmentFileHasEverySettingAndSetsNone(t *testing.T) {
	defaults := settingDefaults()
	lines := bufio.NewScanner(deployed(t, "debian/environment"))
	for lines.Scan() {
		line := lines.Text()
		name, value, is := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		if !is || !strings.HasPrefix(name, "QUEUE_") {
			if line != "" && !strings.HasPrefix(line, "#") {
				t.Errorf("neither a comment nor a setting: %q", line)
			}
			continue
		}
		want, known := defaults[name]
		if want == "" || name == "QUEUE_DATA_DIR" { // an example stands there, or what the unit says
			want = value
		}
		if !known || value != want || !strings.HasPrefix(line, "#") {
			t.Errorf("%q: want the default as a comment: #%s=%s (a setting: %t)", line, name, want, known)
		}
		delete(defaults, name)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range defaults {
		t.Errorf("%s is not in the file", name)
	}
}

func TestTheServiceManagerIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	heard := func() string {
		t.Helper()
		text := make([]byte, 4096)
		n, err := conn.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}

	t.Setenv("NOTIFY_SOCKET", socket)
	s := start(t, map[string]string{"QUEUE_DRAIN_DELAY": "1s"})
	address := strings.TrimPrefix(s.public, "http://")
	if got, want := heard(), "READY=1\nSTATUS=Listening on "+address; got != want {
		t.Errorf("at the start: %q, want %q", got, want)
	}
	s.end(t)
	if got, want := heard(), "STOPPING=1\nSTATUS=Draining\nEXTEND_TIMEOUT_USEC=26000000"; got != want {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

func TestAServiceManagerThatIsGoneStopsNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	s := start(t, nil)
	s.log.await(t, "the service manager could not be told")
	s.end(t)
}
