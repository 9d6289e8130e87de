package secret

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLoadVisitorKey: the first key stays, whatever the secret is later.
func TestLoadVisitorKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, later := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	for _, own := range [][]byte{first, later} {
		if key, err := LoadVisitorKey(dir, own); err != nil || !bytes.Equal(key, first) {
			t.Errorf("%x, %v; want the first", key, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, visitorKeyFileName), []byte("not hexadecimal"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadVisitorKey(dir, first); !errors.Is(err, ErrUnusable) {
		t.Errorf("a file of something else: %v", err)
	}
	if key, err := LoadVisitorKey("/proc/no-folder", first); !errors.Is(err, ErrNotKept) || !bytes.Equal(key, first) {
		t.Errorf("a folder that cannot be written: %x, %v", key, err)
	}
}
