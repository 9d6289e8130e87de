package embedded

import (
	"errors"
	"fmt"
	"log/slog"
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
	// unfinished ends the name of a file that is being written. Nothing reads it.
	unfinished = ".new"
)

// disk is the data directory, under a lock, and what cannot be written to it. Its
// methods may be called from any goroutine, put for each file by one at a time.
type disk struct {
	dir    string
	logger *slog.Logger
	// replace is the function of that name, but for tests.
	replace func(path string, b []byte) error

	mu sync.Mutex
	// locks are held until close. None where there is no directory yet.
	locks []*os.File
	// failed is why the latest writing of a file did, by the file's name. That of no
	// file is errLate: the disk has not answered in time, nor since.
	failed map[string]error
}

// openDisk locks a directory, and makes it where there is none. It goes on without
// where nothing can be written: that is made up for with the first file that can be.
func openDisk(dir string, logger *slog.Logger) (*disk, error) {
	d := &disk{dir: dir, logger: logger, replace: replace, failed: make(map[string]error)}
	if err := d.claim(); err != nil && !unwritable(err) {
		return nil, err
	}
	for _, name := range []string{zonesName, recordName, policiesName} {
		// What cannot be removed stands in the way of the next writing, which says so.
		_ = os.Remove(filepath.Join(dir, name+unfinished))
	}
	return d, nil
}

// unwritable reports whether err says that nothing can be written now, rather than
// that dir can be no directory.
func unwritable(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EIO,
	}, func(one error) bool { return errors.Is(err, one) })
}

// claim locks the directory, unless that is done. Two locks are taken, and one is
// enough: that of a file, which a full disk may not let be made, and that of the
// directory itself, which some network file systems do not have.
func (d *disk) claim() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.locks) > 0 {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("embedded: data directory: %w", err)
	}
	folder, errFolder := locked(os.Open(d.dir))
	file, errFile := locked(os.OpenFile(filepath.Join(d.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600))
	for _, f := range []*os.File{folder, file} {
		if f != nil {
			d.locks = append(d.locks, f)
		}
	}
	err := errors.Join(errFolder, errFile)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		d.unlock()
		return fmt.Errorf("%w: %s", ErrInUse, d.dir)
	}
	if len(d.locks) == 0 {
		return fmt.Errorf("embedded: data directory: %w", err)
	}
	return nil
}

// locked locks what was opened, for this process alone. The kernel drops the lock
// with the process, however that ends.
func locked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlock gives the locks back. The caller holds mu.
func (d *disk) unlock() {
	for _, f := range d.locks {
		_ = f.Close() // nothing was written to it
	}
	d.locks = nil
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlock()
	return nil
}

// put replaces a file of the directory whole, or not at all.
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

// note takes in how the writing of a file went; for no file, whether the disk answers.
// The log says when that begins to fail and when it ends to.
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

// trouble says why what is in force is not on the disk; nil if it is.
func (d *disk) trouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.failed[""], d.failed[zonesName], d.failed[recordName], d.failed[policiesName])
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
