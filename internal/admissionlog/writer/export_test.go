package writer

import (
	"context"
	"io"
)

// Bound has the log hold so many events in memory, and files be full at so many bytes.
func (l *Log) Bound(most int, full int64) { l.most, l.full = most, full }

// Close ends a log that was not started.
func (l *Log) Close(ctx context.Context) { l.close(ctx); l.runs.Stop() }

// Keys are how many keys of pseudonyms the log remembers.
func (l *Log) Keys() int { return len(l.keys.keys) }

// Disk has each write go through do first.
func (l *Log) Disk(do func() error) {
	create := l.create
	l.create = func(name string) (file, error) {
		f, err := create(name)
		return disk{f, do}, err
	}
}

type disk struct {
	file
	do func() error
}

// Write writes half of the text if the disk fails.
func (d disk) Write(b []byte) (int, error) {
	if err := d.do(); err != nil {
		_, _ = d.file.Write(b[:len(b)/2])
		return 0, err
	}
	return d.file.Write(b)
}

var _ io.Writer = disk{}
