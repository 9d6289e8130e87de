package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestPackages packs twice what npm, Maven and Helm install, compares the bytes, and renders the chart.
func TestPackages(t *testing.T) {
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "the other")
	room.Do(t, "../..", "env", "VERSION=1.2.3", "scripts/packages.sh", one)
	room.Do(t, "../..", "env", "VERSION=1.2.3", "TZ=Asia/Tokyo", "LANG=de_DE.UTF-8", "sh", "-c", `umask 077; scripts/packages.sh "$@"`, "sh", two)
	names, err := os.ReadDir(one)
	if err != nil || len(names) < 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if room.Read(t, filepath.Join(one, name.Name())) != room.Read(t, filepath.Join(two, name.Name())) {
			t.Errorf("two of %s differ", name.Name())
		}
	}

	helm, chart := room.Tool(t, "HELM4"), filepath.Join(one, "queue-server-1.2.3.tgz")
	if about := room.Do(t, one, helm, "show", "chart", chart); !strings.Contains(about, "\nversion: 1.2.3") || !strings.Contains(about, "appVersion: 1.2.3\n") {
		t.Errorf("the chart says\n%s", about)
	}
	objects := room.Do(t, one, helm, "template", chart, "--set", "redis.url=redis://redis,dashboard.enabled=true,prometheusRule.enabled=true",
		"--api-versions", "monitoring.coreos.com/v1")
	// What the chart's folder only links to is in the package: rules and dashboard.
	for _, want := range []string{`image: "queue-server:1.2.3"`, "alert: ", "record: ", `"panels"`} {
		if !strings.Contains(objects, want) {
			t.Errorf("the rendered chart has no %s", want)
		}
	}
}
