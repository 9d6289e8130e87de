package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
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
		if _, err := s.PutZone(ctx, zone.Defaults(id), nil, audit.By{Name: "Ada"}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, policyset.Replace(ctx, s, aBook(), 0, limit.Changes(limit.PolicySet{}, aBook(), audit.By{Name: "Ada"})...))
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
	for name, want := range map[string]float64{zonesName: zonesFormat, recordName: recordFormat} {
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
	book, _ := policyset.Stored(t.Context(), again)
	if len(zones) != 2 || len(book.Policies) != 1 {
		t.Errorf("with a field of a later version: %+v, %+v", zones, book)
	}
}

// TestNewerFiles: a server refuses to start, says which versions and what to do, and
// leaves the files as they are.
func TestNewerFiles(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]string{zonesName: "up to 2", recordName: "up to 2", oldPoliciesName: "up to 1"} {
		dir := keptFiles(t, time.UnixMilli(1_795_324_846_303))
		text := `{"format": 7, "zones": "in another form", "book": 3}`
		write(t, dir, name, text)
		_, err := Open(Options{Dir: dir})
		if !errors.Is(err, line.ErrFormat) {
			t.Fatalf("%s: %v, want ErrFormat", name, err)
		}
		for _, says := range []string{name, "format 7", known, "start the version that wrote it", "move the file away"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
		}
		if is, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(is) != text {
			t.Errorf("%s is %q now, %v", name, is, err)
		}
	}
}

// TestPatternsOf010: patterns with parameters of version 0.1.0 take requests with others, too, and are kept so.
func TestPatternsOf010(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.UnixMilli(1_795_324_846_303) }
	dir := t.TempDir()
	s := reopen(t, dir, now)
	z := zone.Defaults("Z")
	z.BypassPaths, z.DonePaths = []string{"/a*", "/?wc-api=*"}, []string{"/?o=*&*"}
	_, err := s.PutZone(t.Context(), z, nil, audit.By{})
	must(t, err)
	stop(t, s)
	text, err := os.ReadFile(filepath.Join(dir, zonesName))
	must(t, err)
	write(t, dir, zonesName, strings.Replace(string(text), `"format": 2`, `"format": 1`, 1))
	for range 2 {
		s := reopen(t, dir, now)
		z, err := s.Zone(t.Context(), "Z")
		if paths := strings.Join(append(z.BypassPaths, z.DonePaths...), " "); err != nil || paths != "/a* /?wc-api=*&* /?o=*&*" {
			t.Errorf("%s, %v", paths, err)
		}
		kill(t, s)
	}
}

// TestPoliciesOf010: what version 0.1.0 kept in a file of its own is read once, and kept with the zones from then on.
func TestPoliciesOf010(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.UnixMilli(1_795_324_846_303) }
	const book = `{
  "format": 1,
  "book": {
    "version": %d,
    "policies": [
      {
        "name": "api", "key": ["ip"], "scope": "shared", "onStoreFailure": "local",
        "rules": [{"algorithm": "fixed_window", "limit": 7, "windowSeconds": 1}]
      }
    ],
    "deleted": ["login"]
  },
  "changes": [
    {"at": 1795324846000, "policy": "login", "by": "ada", "was": {"name": "login", "rules": []}, "now": null}
  ]
}`
	dir := keptFiles(t, now()) // with a book of version 1
	for _, version := range []int{1, 9} {
		want := map[int]string{1: "a", 9: "api"}[version]
		write(t, dir, oldPoliciesName, fmt.Sprintf(book, version))
		for range 2 {
			s := reopen(t, dir, now)
			b, _ := policyset.Stored(t.Context(), s)
			changes, _ := policyset.Recorded(t.Context(), s)
			zones, _ := s.Zones(t.Context())
			if len(b.Policies) != 1 || b.Policies[0].Name != want || len(changes) != 1 || changes[0].Now == nil != (version == 9) || len(zones) != 2 {
				t.Errorf("version %d: %+v, %+v, %d zones", version, b, changes, len(zones))
			}
			if _, err := os.Stat(filepath.Join(dir, oldPoliciesName)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("version %d: the old file: %v", version, err)
			}
			kill(t, s)
		}
	}
}
