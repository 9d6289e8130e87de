package lua

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// noteAfter is how long a server keeps notes before it sends them. The longer, the more notes of one seen bucket
	// travel in one command. noteLife bounds it.
	noteAfter = 2 * time.Second
	// noteLife is how old a note gets that Redis did not take. It is less than minTouchPeriodMillis, the shortest
	// period that a visitor is told with a note. So a note always arrives, if at all, before its visitor's next poll,
	// on whichever server: two notes of one visitor cannot do harm in the wrong order, and a visitor who is gone is known
	// to be so by the next poll.
	noteLife = 2 * noteAfter
	// noteBatch is how many notes travel in one call. It takes Redis some 1 ms, and 2 ms where ten million wait.
	noteBatch = 1_000
	// maxNotes is how many notes of a zone a server keeps, 24 bytes each: more than it makes within noteLife. While
	// there are as many, Redis is asked for everybody.
	maxNotes = 1_500_000
)

// note says that a visitor polled, and what period it was told: the id and what is written into its seen bucket (see
// keys.lua), both big-endian, and the score of its place.
type note struct {
	id, told     uint64
	standsMicros int64
}

// notes are polls of one zone of which Redis has to hear within noteAfter: those that this
// server has answered by itself, and those that Redis did not answer.
//
// A server that is killed loses its notes, and no visitor loses a place by it. A server answers a poll by itself only
// within a quarter of the idle timeout after the token was due. The longest period that it tells is a third of the idle
// timeout. A visitor is swept a whole idle timeout after the token was due. With 60 s: a token was due at 12:00:00; the
// visitor polls by 12:00:15 at the latest, is told to poll again by 12:00:35, and would be swept at 12:01:00.
type notes struct {
	mu      sync.Mutex
	pending []note
	epoch   uint32 // of the line in which all of them wait
	// flushing: somebody will send them.
	flushing bool
	// sending is held while notes are sent, so that one call is under way at a time. It guards mark, the mark from which
	// on to look up; 0 for the first.
	sending sync.Mutex
	mark    int64
}

// add takes a note, unless there are too many. first: the caller has to start sending.
func (n *notes) add(epoch uint32, one note) (taken, first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch {
		n.epoch, n.pending = epoch, nil // those of a line that is no more
	}
	if len(n.pending) >= maxNotes {
		return false, false
	}
	n.pending = append(n.pending, one)
	first, n.flushing = !n.flushing, true
	return true, first
}

// take removes all notes.
func (n *notes) take() (all []note, epoch uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, n.pending = n.pending, make([]note, 0, len(n.pending))
	return all, n.epoch
}

// putBack takes notes again that Redis did not take, as far as their polls were after a time.
func (n *notes) putBack(some []note, epoch uint32, afterMillis int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch == n.epoch {
		n.pending = append(slices.DeleteFunc(some, func(one note) bool { return int64(one.told>>16) <= afterMillis }), n.pending...)
	}
}

// done reports whether no note is left. Then the next add says first again.
func (n *notes) done() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.flushing = len(n.pending) > 0
	return !n.flushing
}

// pollFar answers a poll from far away by what is remembered of the line; false if Redis has to be asked. Redis hears
// of the poll later.
func (s *Store) pollFar(b *zoneBatch, p line.Place) (line.Answer, bool) {
	now := s.wall()
	a, ok := b.ranks.answer(now, p)
	if !ok {
		return line.Answer{}, false
	}
	return a, b.note(p, uint64(a.State.NowMillis)<<16|uint64(a.PeriodMillis))
}

// note has Redis hear later that a visitor polled; false if there are too many notes.
func (b *zoneBatch) note(p line.Place, told uint64) bool {
	taken, first := b.notes.add(p.Epoch, note{id: binary.BigEndian.Uint64(p.ID[:]), told: told, standsMicros: p.StandsAtMicros()})
	if first {
		b.store.work.Go(b.keepFlushing)
	}
	return taken
}

// missed has Redis hear later of a visitor whose poll it did not answer: a visitor who tries keeps the place.
func (b *zoneBatch) missed(p line.Place) {
	if told, ok := b.ranks.tried(b.store.wall(), p); ok {
		b.note(p, told)
	}
}

// keepFlushing sends the zone's notes every noteAfter until none are left. When the store closes, it sends them a last
// time.
func (b *zoneBatch) keepFlushing() {
	s := b.store
	due := time.NewTicker(s.noteAfter)
	defer due.Stop()
	for last := false; !last; {
		select {
		case <-due.C:
		case <-s.closing:
			last = true
		}
		s.flush(b)
		if b.notes.done() {
			return
		}
	}
}

// flush sends the notes of a zone, until Redis does not take them, and looks up all marks with them, if the notes are
// enough for that: with few it is cheaper to look up a mark when a visitor's poll needs it.
func (s *Store) flush(b *zoneBatch) {
	b.notes.sending.Lock()
	defer b.notes.sending.Unlock()
	all, epoch := b.notes.take()
	old := b.ranks.tooOld(s.wall())
	// Notes of one seen bucket lie together then, and notes of one visitor lie in the order of time.
	slices.SortFunc(all, func(a, b note) int {
		return cmp.Or(cmp.Compare(seenBucket(a.standsMicros), seenBucket(b.standsMicros)), cmp.Compare(a.told, b.told))
	})
	for looks := true; len(all) > 0; looks = looks && b.notes.mark > 0 {
		n, marks := min(noteBatch, len(all)), 0
		if looks {
			marks = n / 4
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.batch)
		known, err := s.touch(ctx, b, all[:n], epoch, marks)
		cancel()
		if err != nil {
			if !known {
				b.notes.putBack(all, epoch, old)
			}
			return
		}
		all = all[n:]
	}
}

// touch makes one call of touch.lua, which also looks up so many marks. If there is an error, and known is true, Redis
// has answered: the notes are of no use then.
func (s *Store) touch(ctx context.Context, b *zoneBatch, some []note, epoch uint32, marks int) (known bool, err error) {
	const fixed = 5
	now, start, least := s.wall(), time.Now(), some[0].standsMicros
	args := make([]any, fixed, fixed+3*len(some))
	text := make([]byte, 0, 16*len(some))
	for _, n := range some {
		text = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(text, n.id), n.told)
		least = min(least, n.standsMicros)
	}
	for i, rest := 0, string(text); i < len(some); i, rest = i+1, rest[16:] {
		if bucket := seenBucket(some[i].standsMicros); i == 0 || bucket != seenBucket(some[i-1].standsMicros) {
			args = append(args, strconv.Itoa(bucket))
		}
		args = append(args, rest[:8], rest[8:16])
	}
	args[0], args[1], args[2], args[3], args[4] = s.clock(), epoch, strconv.FormatInt(least, 10), b.notes.mark, marks
	reply, err := s.run(ctx, touchScript, b.keys, args...)
	s.metrics.seconds.WithLabelValues(touchScript.name).Observe(time.Since(start).Seconds())
	if err != nil {
		return false, err
	}
	doubted, err := s.readTouch(b, now, reply, some)
	if err != nil {
		s.forget(b)
		return true, err
	}
	b.ranks.doubt(now, doubted)
	s.metrics.touches.Add(float64(len(some)))
	return true, nil
}

// readTouch reads the reply of touch.lua. It returns the visitors for whom Redis has to be asked the next time.
func (s *Store) readTouch(b *zoneBatch, sent time.Time, reply any, some []note) ([]line.ID, error) {
	var state, which, pace, rounded []int64
	if err := readParts(reply, &state, &which, &pace, &rounded); err != nil {
		return nil, err
	}
	st, _, err := readState(state)
	if err != nil {
		return nil, err
	}
	doubted := make([]line.ID, len(which))
	for i, n := range which {
		if n < 1 || n > int64(len(some)) {
			return nil, fmt.Errorf("lua: touch: the reply names note %d of %d", n, len(some))
		}
		binary.BigEndian.PutUint64(doubted[i][:], some[n-1].id)
	}
	last := len(rounded) - 1
	if last < 0 {
		return nil, errors.New("lua: touch: the reply does not say with which mark to go on")
	}
	b.notes.mark = rounded[last]
	return doubted, b.ranks.learn(sent, st, rounded[:last], pace)
}
