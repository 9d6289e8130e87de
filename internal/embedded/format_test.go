package embedded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

func aBook() limit.PolicySet {
	return limit.PolicySet{}.Put(limit.Policy{
		Name: "a", Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 1}},
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// keptFiles returns a data directory with files that a store has written.
func keptFiles(t *testing.T, now time.Time) string {
	t.Helper()
	dir := t.TempDir()
	s := reopen(t, dir, func() time.Time { return now })
	ctx := t.Context()
	for _, id := range []string{"LINE", "CLOSED"} {
		if _, err := s.PutZone(ctx, zone.Defaults(id), nil, "Ada"); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.PutPolicies(ctx, aBook(), 0, ""))
	s.saveAll() // as it does once a second
	stop(t, s)
	return dir
}

// TestFilesNameTheirFormat: each file has its format's number, so that a version that does not
// know the format can say so. A version that knows it ignores fields that it does not know.
func TestFilesNameTheirFormat(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_324_846_303)
	dir := keptFiles(t, now)
	for name, want := range map[string]float64{zonesName: zonesFormat, recordName: recordFormat, policiesName: policiesFormat} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil || fields["format"] != want {
			t.Errorf("%s has format %v, want %v (%v)", name, fields["format"], want, err)
		}
		write(t, dir, name, strings.Replace(string(text), "{", `{"later": [1],`, 1))
	}
	again := reopen(t, dir, func() time.Time { return now })
	zones, _ := again.Zones(t.Context())
	book, _ := again.Policies(t.Context())
	if len(zones) != 2 || len(book.Policies) != 1 {
		t.Errorf("with a field of a later version: %+v, %+v", zones, book)
	}
}

// TestNewerFiles: a server refuses to start, says which versions and what to do, and
// leaves the files as they are.
func TestNewerFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{zonesName, recordName, policiesName} {
		dir := keptFiles(t, time.UnixMilli(1_795_324_846_303))
		text := `{"format": 7, "zones": "in another form", "book": 3}`
		write(t, dir, name, text)
		_, err := Open(Options{Dir: dir})
		if !errors.Is(err, line.ErrFormat) {
			t.Fatalf("%s: %v, want ErrFormat", name, err)
		}
		for _, says := range []string{name, "format 7", "up to ", "start the version that wrote it", "move the file away"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
		}
		if is, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(is) != text {
			t.Errorf("%s is %q now, %v", name, is, err)
		}
	}
}
