package writer

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// rotate ends the file, compresses it beside what is written next, and deletes files that are too old.
func (l *Log) rotate() {
	_, name := l.out.Close(), l.name // it was synced
	l.out = nil
	l.runs.Go(func() {
		if err := compress(name); err != nil {
			l.Logger.Warn("a file of the log of admissions is not compressed", "file", name, "error", err)
		}
		all, _ := filepath.Glob(filepath.Join(l.Dir, "admissions-*.jsonl*"))
		for _, one := range all {
			if about, err := os.Stat(one); err == nil && l.Now().Sub(about.ModTime()) > l.Keep {
				_ = os.Remove(one) // else the next time
			}
		}
	})
}

// compress replaces a file by its compressed form.
func compress(name string) (err error) {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	err = errors.Join(err, z.Close(), out.Sync(), out.Close())
	if err == nil {
		err = os.Rename(name+".tmp", name+".gz")
	}
	if err != nil {
		_ = os.Remove(name + ".tmp")
		return err
	}
	return os.Remove(name)
}
