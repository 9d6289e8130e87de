package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// ErrInUse: another process has the data directory.
var ErrInUse = errors.New("embedded: data directory is in use by another server")

// errLate: the disk neither wrote nor refused within diskTimeout.
var errLate = errors.New("the disk does not answer")

const (
	lockName = "lock"
	// unfinished ends the name of a file that is being written. Nothing reads it, and the next writing begins it anew.
	unfinished = ".new"
)

// disk is the data directory, under a lock, and why files of it could not be written.
// Its methods may be called from any goroutine; put by one at a time for each file.
type disk struct {
	dir    string
	logger *slog.Logger
	// replace is the function replace, except in tests.
	replace func(path string, b []byte) error

	claiming sync.Mutex
	// lock is held until close. It is nil as long as its file cannot be made. It is guarded by claiming.
	lock *os.File

	mu sync.Mutex
	// failed is why the latest writing of a file failed, by the file's name, or a journal's prefix; nil if it did
	// not. Under the name "" it is errLate while the disk does not answer.
	failed map[string]error
}

// openDisk locks a directory, and makes it if there is none. If nothing can be written
// now, it returns a disk without a lock: put then makes and locks the directory.
func openDisk(dir string, logger *slog.Logger) (*disk, error) {
	d := &disk{dir: dir, logger: logger, replace: replace, failed: make(map[string]error)}
	if err := d.claim(); err != nil && !unwritable(err) {
		return nil, err
	}
	return d, nil
}

// unwritable reports whether err says that nothing can be written now, rather than
// that the path can never be a directory.
func unwritable(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EIO,
	}, func(one error) bool { return errors.Is(err, one) })
}

// claim locks the file lockName of the directory, for this process alone, unless it has the lock. The kernel drops the lock
// when the process ends, however it ends.
func (d *disk) claim() error {
	d.claiming.Lock()
	defer d.claiming.Unlock()
	if d.lock != nil {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("embedded: data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(d.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("embedded: data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		d.lock = f
		return nil
	}
	err = errors.Join(err, f.Close())
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s", ErrInUse, d.dir)
	}
	return fmt.Errorf("embedded: data directory: %w", err)
}

// close gives the lock back.
func (d *disk) close() error {
	d.claiming.Lock()
	defer d.claiming.Unlock()
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// put replaces a file of the directory, as a whole or not at all.
func (d *disk) put(name string, b []byte) error {
	err := d.claim()
	if err == nil {
		err = d.replace(filepath.Join(d.dir, name), b)
	}
	if err != nil {
		err = fmt.Errorf("embedded: %w", err)
	}
	d.note(name, err)
	return err
}

// note remembers how the writing of a file went, or under the name "" whether the disk
// answers. It logs when that begins to fail, and when it works again.
func (d *disk) note(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.failed[name]
	switch d.failed[name] = err; {
	case err != nil && before == nil:
		d.logger.Error("what is in force is not kept, and would be lost with this process: it cannot be written; that is tried again every second",
			"folder", d.dir, "file", name, "error", err)
	case err == nil && before != nil:
		d.logger.Info("what is in force is kept again", "folder", d.dir, "file", name)
	}
}

// trouble says why what is in force, or what was used, is not on the disk; nil if it is.
func (d *disk) trouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := make([]error, 0, len(d.failed))
	for _, name := range slices.Sorted(maps.Keys(d.failed)) {
		errs = append(errs, d.failed[name])
	}
	return errors.Join(errs...)
}

// replace writes a file, so that a crash at any moment leaves the old or the new
// one, and returns when the new one is on the disk.
func replace(path string, b []byte) error {
	tmp, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
