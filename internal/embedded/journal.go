package embedded

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	departuresPrefix, spentPrefix, journalSuffix = "departures-", "spent-", ".log"
	// journalEnd ends a record. A line without it was cut short, and is not read.
	journalEnd = "."
	// complainEvery is the least time between two log entries that the journal cannot be written.
	complainEvery = time.Minute
)

// journal has records of what must not happen twice, in the order in which it happened: visitors were admitted or left, keys
// were spent. Each record is with the kernel before anybody is answered, and on the disk within a second. So it survives
// the process, however that ends. A part is deleted when none of its records matters any more.
//
// A record is a line of text that ends with journalEnd.
type journal struct {
	dir, prefix string
	logger      *slog.Logger
	now         func() time.Time

	mu   sync.Mutex
	file *os.File
	// began is when each part was begun, the oldest first. The last one is written to.
	began []int64
	// torn says that the last record may be cut short.
	torn       bool
	complained time.Time
}

// openJournal returns the journal, and the records of all its parts, the oldest first. The
// first record begins a new part.
func openJournal(dir, prefix string, logger *slog.Logger, now func() time.Time) (*journal, []string, error) {
	j := &journal{dir: dir, prefix: prefix, logger: logger, now: now}
	files, err := os.ReadDir(dir)
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
	return filepath.Join(j.dir, j.prefix+strconv.FormatInt(began, 10)+journalSuffix)
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

// add writes a record down. If it cannot, it logs that: if the process ended now, what happened might happen once more.
func (j *journal) add(text string) {
	if j == nil {
		return
	}
	record := []byte(text + " " + journalEnd + "\n")
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.torn {
		record = append([]byte("\n"), record...)
	}
	err := j.begin()
	if err == nil {
		_, err = j.file.Write(record)
		j.torn = err != nil
	}
	j.complain(err)
}

// begin opens a new part, if no part is open. The caller holds mu.
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

// complain logs an error, at most once in complainEvery. The caller holds mu.
func (j *journal) complain(err error) {
	if now := j.now(); err != nil && now.Sub(j.complained) >= complainEvery {
		j.complained = now
		j.logger.Error("cannot write down what was used; after a restart it might be good once more", "journal", j.prefix, "err", err)
	}
}

// rotate makes what was written reach the disk, begins a new part when the last one is
// older than keep, and deletes the parts whose records are all older. keep is how long a
// record matters. No admission waits for the disk meanwhile. One caller at a time.
func (j *journal) rotate(keep time.Duration) {
	if j == nil {
		return
	}
	j.mu.Lock()
	file := j.file
	j.mu.Unlock()
	if file == nil {
		return
	}
	err := file.Sync()

	j.mu.Lock()
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
	j.complain(err)
	j.mu.Unlock()
	if full {
		err = errors.Join(file.Sync(), file.Close())
		j.mu.Lock()
		j.complain(err)
		j.mu.Unlock()
	}
}

// close makes all records reach the disk, and closes the file.
func (j *journal) close() error {
	if j == nil || j.file == nil {
		return nil
	}
	return errors.Join(j.file.Sync(), j.file.Close())
}

// rewrite is how old SeenAtMillis of an empty line may get. Were it always now, a server
// to which nobody comes would write to the disk each second.
const rewrite = time.Minute

// keepFor is how long a departure matters at most, over all zones. After a loss it is
// longer, by the time in which the line did not stand.
func (s *Store) keepFor() (longest time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queues {
		longest = max(longest, window.DepartureMatters(q.read(), q.behind()))
	}
	return longest + rewrite
}

// entryOf is a record of the departures: a departure from a zone. Its text is zone, id in hexadecimal, newest arrival of the
// zone in microseconds, epoch, when the visitor was admitted in milliseconds (0: it left).
type entryOf struct {
	zoneID string
	line.Departure
}

func (e entryOf) record() string {
	p := e.Place
	return fmt.Sprintf("%s %x %d %d %d", e.zoneID, p.ID, p.ArrivedAtMicros, p.Epoch, e.AdmittedAtMillis)
}

// departed returns the departures that records tell of.
func departed(records []string) (all []entryOf) {
	for _, text := range records {
		if e, ok := parseEntry(text); ok {
			all = append(all, e)
		}
	}
	return all
}

func parseEntry(text string) (e entryOf, ok bool) {
	const fields = 5
	f := strings.Split(text, " ")
	if len(f) != fields {
		return entryOf{}, false
	}
	id, err := hex.DecodeString(f[1])
	arrived, err2 := strconv.ParseInt(f[2], 10, 64)
	epoch, err3 := strconv.ParseUint(f[3], 10, 32)
	at, err4 := strconv.ParseInt(f[4], 10, 64)
	if errors.Join(err, err2, err3, err4) != nil || len(id) != len(line.ID{}) {
		return entryOf{}, false
	}
	p := line.Place{ID: line.ID(id), ArrivedAtMicros: arrived, Epoch: uint32(epoch)}
	return entryOf{f[0], line.Departure{Place: p, AdmittedAtMillis: at}}, true
}

// depart writes down that a visitor was admitted or left. The record has the zone's newest
// arrival, so that no place of that id comes back that was given out so far.
func (s *Store) depart(zoneID string, id line.ID, state line.State, admittedAtMillis int64) {
	p := line.Place{ID: id, ArrivedAtMicros: state.LastArrivalMicros, Epoch: state.Epoch}
	s.journal.add(entryOf{zoneID, line.Departure{Place: p, AdmittedAtMillis: admittedAtMillis}}.record())
}
