package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile bounds what is read of a file: some hundred secrets. A larger file is
// not one of ours.
const maxFile = 16 << 10

// ErrNotKept is wrapped by the error for what was made, and could not be written to
// its file: it is lost with the process.
var ErrNotKept = errors.New("secret: not kept")

// loadOrMake returns the file's text, without the white space at its ends, or
// writes a new one with what invent returns. Of several processes that do so
// at once one writes, and all return what it wrote. What cannot be written is
// returned with an error that wraps ErrNotKept.
func loadOrMake(path string, invent func() string) (text string, made bool, err error) {
	text, err = load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, false, err
	}
	text = invent()
	err = write(path, text+"\n")
	if errors.Is(err, fs.ErrExist) {
		text, err = load(path)
		return text, false, err
	}
	if err != nil {
		return text, true, fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return text, true, nil
}

// load reads a file that is its owner's alone.
func load(path string) (string, error) {
	return read(path, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is not a file", ErrUnusable, path)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return fmt.Errorf("%w: %s may be read or written by others (mode %04o); if nobody has, put it right with: chmod 600 %s",
				ErrUnusable, path, mode, path)
		}
		return nil
	})
}

// read returns the text of a file that passes the check, without the white space at
// its ends.
func read(path string, check func(fs.FileInfo) error) (text string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	if err := check(info); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	if len(b) > maxFile {
		return "", fmt.Errorf("%w: %s has more than %d bytes: it is no file of this server", ErrUnusable, path, maxFile)
	}
	return strings.TrimSpace(string(b)), nil
}

// write makes the file, with its folder, and returns when it is on the disk.
// The file is there whole or not at all. The error wraps fs.ErrExist if it is
// there already.
func write(path, text string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	// CreateTemp makes files of mode 0600.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("secret: %w", errors.Join(err, f.Close()))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	// A link, unlike a rename, does not replace a file that is there.
	if err := os.Link(f.Name(), path); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	return syncDir(dir)
}

// syncDir has the folder's entries written to the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	return nil
}
