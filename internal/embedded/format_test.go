package embedded

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// formerFiles are files of the version before formats had numbers. stopped is when its
// server stopped.
const formerFiles = "testdata/8df832c"

var stopped = time.UnixMilli(1_795_324_846_303)

// formerPlaces are the places of visitor-1 to visitor-3, who waited then, as their tokens have them.
func formerPlaces(t *testing.T) []line.Place {
	t.Helper()
	places := []line.Place{
		{ArrivedAtMicros: 1_795_324_846_295_464}, {ArrivedAtMicros: 1_795_324_846_296_137}, {ArrivedAtMicros: 1_795_324_846_296_874},
	}
	for i, id := range []string{"e4d90ceef5e40165", "15df4d31bd00a1d1", "d36a6566a42cfb50"} {
		if n, err := hex.Decode(places[i].ID[:], []byte(id)); err != nil || n != len(places[i].ID) {
			t.Fatal(n, err)
		}
	}
	return places
}

// copied returns a data directory with the files of another one.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{zonesName, policiesName} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(text))
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFormerFiles: all that the version before has kept is there, and the visitors who
// waited come back to their places.
func TestFormerFiles(t *testing.T) {
	t.Parallel()
	dir := copied(t, formerFiles)
	now := stopped.Add(2 * time.Second)
	s := reopen(t, dir, func() time.Time { return now })
	ctx := t.Context()
	zones, err := s.Zones(ctx)
	if err != nil || len(zones) != 2 || zones[0].Mode != zone.ModeClosed || zones[1].PerMinute != 10 {
		t.Errorf("zones: %+v, %v", zones, err)
	}
	for zoneID, n := range map[string]int{"": 5, "LINE": 1, "CLOSED": 2, "GONE": 2} {
		if changes, err := s.Changes(ctx, zoneID); err != nil || len(changes) != n {
			t.Errorf("%d changes of %q, want %d: %v", len(changes), zoneID, n, err)
		}
	}
	book, err := s.Policies(ctx)
	changes, err2 := s.PolicyChanges(ctx)
	if _, ok := book.Find("api"); !ok || book.Version != 3 || len(changes) != 3 || err != nil || err2 != nil {
		t.Errorf("policies: %+v, %+v, %v, %v", book, changes, err, err2)
	}
	for i, p := range formerPlaces(t) {
		if a, err := s.Poll(ctx, "LINE", p); err != nil || a.Status != line.Waiting || a.Position != int64(i+1) {
			t.Errorf("visitor %d: %+v, %v", i+1, a, err)
		}
	}
	now = now.Add(10 * time.Second)
	if a, err := s.Poll(ctx, "LINE", formerPlaces(t)[0]); err != nil || a.Status != line.Admitted {
		t.Errorf("the first, when it is its turn: %+v, %v", a, err)
	}
}

// TestFilesNameTheirFormat: each file has its format's number, so that a version that does not
// know the format can say so. A version that knows it ignores fields that it does not know.
func TestFilesNameTheirFormat(t *testing.T) {
	t.Parallel()
	dir := copied(t, formerFiles)
	s := reopen(t, dir, func() time.Time { return stopped })
	if err := s.PutPolicies(t.Context(), aBook(), 3, ""); err != nil {
		t.Fatal(err)
	}
	s.saveAll() // as it does once a second
	stop(t, s)
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
	again := reopen(t, dir, func() time.Time { return stopped })
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
		dir := copied(t, formerFiles)
		text := `{"format": 7, "zones": "in another form", "book": 3}`
		write(t, dir, name, text)
		_, err := Open(Options{Dir: dir})
		if !errors.Is(err, line.ErrFormat) {
			t.Fatalf("%s: %v, want ErrFormat", name, err)
		}
		for _, says := range []string{name, "format 7", "up to 1", "start the version that wrote it", "move the file away"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
		}
		if is, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(is) != text {
			t.Errorf("%s is %q now, %v", name, is, err)
		}
	}
}
