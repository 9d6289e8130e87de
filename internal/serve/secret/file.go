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

// maxFile is the most bytes that a file may have: some hundred secrets. A larger file is
// not one of this server.
const maxFile = 16 << 10

// ErrNotKept is wrapped by the error for a secret or token that was made, but could not
// be written to its file: it is lost when the process ends.
var ErrNotKept = errors.New("secret: not kept")

// loadOrMake returns the text of a file, without the white space at its ends. If there is
// no file, it writes one with what invent returns. If several processes do so at
// once, one writes, and all return what that one wrote. A text that cannot be written
// is returned with an error that wraps ErrNotKept.
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

// load reads a file that only its owner may read or write. For any other file it returns an
// error that wraps ErrUnusable.
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

// write makes a file, with its folder, and returns when it is on the disk. The file is
// there as a whole or not at all. The error wraps fs.ErrExist if there is a file
// already.
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

// syncDir writes the entries of a folder to the disk.
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
