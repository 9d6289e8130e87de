package embedded

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// The name of a part of a journal begins with what the journal has, and then has when the part was begun, in Unix
	// milliseconds.
	departuresPrefix, staysPrefix, asidePrefix, spentPrefix, journalSuffix = "departures-", "stays-", "aside-", "spent-", ".log"
	// journalEnd ends a record. A line without it was cut short, and is not read.
	journalEnd = "."
	// journalTimeout bounds the wait for a record to be written: less than half of what a visitor's
	// call may take, and longer than a busy disk that works keeps a write.
	journalTimeout = 200 * time.Millisecond
	// maxUnwritten is how many bytes of records wait for a disk that does not write: some 900,000 admissions. Later
	// records are not written: after a restart the places of those visitors may come back.
	maxUnwritten = 64 << 20
)

// journal has records of what a restart must not forget, in the order in which it happened: visitors were admitted or left, places
// were set aside, keys were spent. Each record is with the kernel before anybody is answered, and on the disk within a second. So it survives
// the process, however that ends. A part is deleted when none of its records matters any more.
//
// While the disk does not write, nobody waits for it: records wait in memory, and disk.trouble says that what happened
// might happen once more after a restart.
//
// A record is a line of text that ends with journalEnd.
type journal struct {
	disk   *disk
	prefix string
	now    func() time.Time
	// write is the function (*os.File).Write, except in tests.
	write func(*os.File, []byte) (int, error)

	mu sync.Mutex
	// pending are the records that are not written, and written is closed when they are: nil if nobody waits.
	pending []byte
	written chan struct{}
	// driving: a goroutine writes, or is about to. late: the disk does not write, so nobody waits for it.
	driving, late bool
	// work is held by that goroutine, so that close can wait for it.
	work sync.WaitGroup

	// writing is held while the disk is written to. It guards what follows, and is never taken within mu.
	writing sync.Mutex
	file    *os.File
	// began is when each part was begun, the oldest first. The last one is written to.
	began []int64
	// torn says that the last record may be cut short.
	torn bool
}

// openJournal returns the journal, and the records of all its parts, the oldest first. The
// first record begins a new part.
func openJournal(d *disk, prefix string, now func() time.Time) (*journal, []string, error) {
	j := &journal{disk: d, prefix: prefix, now: now, write: (*os.File).Write}
	files, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // openDisk may not have been able to make it
		return nil, nil, fmt.Errorf("embedded: journal: %w", err)
	}
	for _, file := range files {
		text, isPart := strings.CutPrefix(file.Name(), prefix)
		text, isLog := strings.CutSuffix(text, journalSuffix)
		if began, err := strconv.ParseInt(text, 10, 64); err == nil && isPart && isLog {
			j.began = append(j.began, began)
		}
	}
	slices.Sort(j.began)
	var all []string
	for _, began := range j.began {
		part, err := readPart(j.name(began))
		if err != nil {
			return nil, nil, fmt.Errorf("embedded: journal: %w", err)
		}
		all = append(all, part...)
	}
	return j, all, nil
}

func (j *journal) name(began int64) string {
	return filepath.Join(j.disk.dir, j.prefix+strconv.FormatInt(began, 10)+journalSuffix)
}

func readPart(name string) (all []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for lines := bufio.NewReader(f); ; {
		text, err := lines.ReadString('\n')
		if record, whole := strings.CutSuffix(strings.TrimSuffix(text, "\n"), " "+journalEnd); whole {
			all = append(all, record)
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// add has a record written, and waits for that for journalTimeout at most, or not at all while the disk does not write.
func (j *journal) add(text string) {
	j.wait(j.enqueue(text))
}

// wait waits for what enqueue returned, as add does.
func (j *journal) wait(written <-chan struct{}) {
	if written == nil {
		return
	}
	late := time.NewTimer(journalTimeout)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.late = j.driving; j.late {
			j.disk.note(j.prefix, errLate)
		}
	}
}

// enqueue has a record written, or several with journalEnd and a line feed between them; "" is none. It returns what is
// closed then; nil while the disk does not write, or if there is nothing to write.
func (j *journal) enqueue(text string) <-chan struct{} {
	if j == nil || text == "" {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) < maxUnwritten {
		j.pending = append(append(j.pending, text...), " "+journalEnd+"\n"...)
	}
	if j.late {
		return nil
	}
	if j.written == nil {
		j.written = make(chan struct{})
	}
	j.drive()
	return j.written
}

// drive has a goroutine write what is pending. The caller holds mu.
func (j *journal) drive() {
	if !j.driving && len(j.pending) > 0 {
		j.driving = true
		j.work.Go(func() {
			for j.writeOnce() {
			}
		})
	}
}

// writeOnce writes what is pending. It reports whether there is more to write; if the disk refused it, that waits for
// the next rotate.
func (j *journal) writeOnce() (more bool) {
	j.mu.Lock()
	records, written := j.pending, j.written
	j.pending, j.written = nil, nil
	j.mu.Unlock()
	left, err := j.append(records)

	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.pending = append(left, j.pending...)
	}
	j.disk.note(j.prefix, err)
	j.late = err != nil
	if written != nil {
		close(written)
	}
	j.driving = err == nil && len(j.pending) > 0
	return j.driving
}

// append writes records to the last part. With an error it returns those that are not written.
func (j *journal) append(records []byte) (left []byte, err error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.begin(); err != nil {
		return records, err
	}
	if j.torn {
		if _, err := j.write(j.file, []byte("\n")); err != nil {
			return records, err
		}
	}
	n, err := j.write(j.file, records)
	j.torn = err != nil
	return records[bytes.LastIndexByte(records[:n], '\n')+1:], err
}

// begin opens a new part, if no part is open. The caller holds writing.
func (j *journal) begin() error {
	if j.file != nil {
		return nil
	}
	began := j.now().UnixMilli()
	if n := len(j.began); n > 0 {
		began = max(began, j.began[n-1]+1)
	}
	f, err := os.OpenFile(j.name(began), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	j.file, j.torn = f, false
	j.began = append(j.began, began)
	return nil
}

// rotate makes what was written reach the disk, begins a new part when the last one is
// older than keep, and deletes the parts whose records are all older. keep is how long a
// record matters. Records that the disk refused are tried again. No admission waits for the
// disk meanwhile. One caller at a time.
func (j *journal) rotate(keep time.Duration) {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.drive()
	j.mu.Unlock()
	j.writing.Lock()
	file := j.file
	j.writing.Unlock()
	if file == nil {
		return
	}
	err := file.Sync()

	j.writing.Lock()
	oldest := j.now().Add(-keep).UnixMilli()
	full := j.began[len(j.began)-1] <= oldest
	if full {
		j.file = nil
		err = errors.Join(err, j.begin())
	}
	for len(j.began) > 1 && j.began[1] <= oldest {
		if e := os.Remove(j.name(j.began[0])); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
			break
		}
		j.began = j.began[1:]
	}
	j.writing.Unlock()
	if full {
		err = errors.Join(err, file.Sync(), file.Close())
	}
	j.disk.note(j.prefix+"*"+journalSuffix, err)
}

// beginAnew deletes all parts.
func (j *journal) beginAnew() (err error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.file != nil {
		err = j.file.Close()
		j.file = nil
	}
	for len(j.began) > 0 && err == nil {
		if err = os.Remove(j.name(j.began[0])); err == nil || errors.Is(err, os.ErrNotExist) {
			j.began, err = j.began[1:], nil
		}
	}
	return err
}

// close makes all records reach the disk, and closes the file.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	j.drive()
	j.mu.Unlock()
	j.work.Wait()
	var err error
	if len(j.pending) > 0 {
		err = fmt.Errorf("embedded: %d bytes of %s*%s are not written", len(j.pending), j.prefix, journalSuffix)
	}
	if j.file == nil {
		return err
	}
	return errors.Join(err, j.file.Sync(), j.file.Close())
}

// rewrite is how old SeenAtMillis of an empty line may get. Were it always now, a server
// to which nobody comes would write to the disk each second.
const rewrite = time.Minute

// keepFor is how long a departure matters at most, over all zones: as long as a token of the place may pass for fresh,
// and as long as its pass is good. After a loss it is longer, by the time in which the line did not stand.
func (s *Store) keepFor() (longest time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queues {
		longest = max(longest, window.DepartureMatters(q.read(), q.behind()), q.oldestPass())
	}
	return longest + rewrite
}

// entry is a record of a visitor in a zone, with four numbers. Of a departure they are the newest arrival of the zone in
// microseconds, the epoch, and when the visitor was admitted and when the pass expires in milliseconds (0: it left). Of a
// stay see inside.note, of a place that is set aside zoneQueue.entryOf.
type entry struct {
	zoneID  string
	id      line.ID
	numbers [4]int64
}

// record returns the text: zone, id in hexadecimal, numbers.
func (e entry) record() string {
	text := append(hex.AppendEncode(append([]byte(e.zoneID), ' '), e.id[:]), ' ')
	for _, n := range e.numbers {
		text = append(strconv.AppendInt(text, n, 10), ' ')
	}
	return string(text[:len(text)-1])
}

// notes are records that wait until the zone's lock is free.
type notes []string

func (n *notes) add(e entry) { *n = append(*n, e.record()) }

// take returns what was noted, as journal.enqueue takes it.
func (n *notes) take() (text string) {
	if len(*n) > 0 {
		text, *n = strings.Join(*n, " "+journalEnd+"\n"), nil
	}
	return text
}

// entriesOf returns what records have, without those that are damaged.
func entriesOf(records []string) (all []entry) {
	for _, text := range records {
		if e, ok := parseEntry(text); ok {
			all = append(all, e)
		}
	}
	return all
}

func parseEntry(text string) (e entry, ok bool) {
	fields := strings.Split(text, " ")
	if len(fields) != 2+len(e.numbers) {
		return entry{}, false
	}
	id, err := hex.DecodeString(fields[1])
	if err != nil || len(id) != len(e.id) {
		return entry{}, false
	}
	e.zoneID, e.id = fields[0], line.ID(id)
	for i := range e.numbers {
		if e.numbers[i], err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return entry{}, false
		}
	}
	return e, true
}

// depart writes down that the visitor of an answer was admitted, or left if the answer has no admission. The record has
// the zone's newest arrival, so that no place of that id comes back that was given out so far.
func (s *Store) depart(zoneID string, a *line.Answer) {
	numbers := [4]int64{a.State.LastArrivalMicros, int64(a.State.Epoch), a.AdmittedAtMillis, a.ExpiresAtMillis}
	s.journal.add(entry{zoneID, a.Place.ID, numbers}.record())
}
