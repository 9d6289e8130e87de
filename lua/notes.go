package lua

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// noteAfter is how long Redis may not know of a poll that a server has answered by
	// itself. A lost note must not cost a place, so it is short beside the idle
	// timeout: whoever is answered so is told at least minTouchPeriodMillis, which is at
	// most a third of the timeout, and this is less than a twentieth of that.
	noteAfter = 400 * time.Millisecond
	// noteLife is how old notes get that Redis did not take. It is less than the shortest
	// period that comes with one: a note is never of an earlier time to come back than
	// the poll that follows it, on whichever server.
	noteLife = 2 * time.Second
	// noteBatch is how many notes travel in one call: some 2 ms of Redis.
	noteBatch = 1_000
	// maxNotes is how many notes a zone may have in hand, and of how many visitors it is
	// remembered that they have to ask. While there are more, everybody has to.
	maxNotes = 50_000
)

// note says that a visitor was there, and what period it was told.
type note struct {
	id                     line.ID
	arrivedMicros          int64
	atMillis, periodMillis int64
	taken                  time.Time // by the server's clock
	drawn                  bool      // a draw may have given the place
}

// notes are polls of one zone that this server has answered by itself, and that Redis
// has to hear of: within noteAfter, or when there are noteBatch.
//
// A server that is killed takes its notes with it. Nobody loses a place by that. A poll
// is answered so only before the visitor's token is late, so Redis has it down as due no
// earlier than window.GraceMillis before. The visitor is missed for an idle timeout
// from then on, and comes again within a third of it.
type notes struct {
	mu      sync.Mutex
	pending []note
	epoch   uint32 // of the line in which all of them wait
	// flushing: somebody will send them. full wakes that one before its time.
	flushing bool
	full     chan struct{}
	// sending is held by a call, so that one is under way at a time.
	sending sync.Mutex
}

// add takes a note, unless there are too many. Whoever adds the first is to start
// sending.
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
	if len(n.pending)%noteBatch == 0 {
		select {
		case n.full <- struct{}{}:
		default:
		}
	}
	first, n.flushing = !n.flushing, true
	return true, first
}

// take removes the notes of the next call: at most noteBatch, and none if there are
// fewer than least.
func (n *notes) take(least int) (some []note, epoch uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) < least {
		return nil, 0
	}
	size := min(noteBatch, len(n.pending))
	some, n.pending = n.pending[:size:size], n.pending[size:]
	return some, n.epoch
}

// putBack takes notes again that Redis did not take, but for the oldest.
func (n *notes) putBack(some []note, epoch uint32, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch {
		return
	}
	n.pending = slices.DeleteFunc(slices.Concat(some, n.pending), func(one note) bool {
		return now.Sub(one.taken) >= noteLife
	})
}

// drop forgets all notes.
func (n *notes) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = nil
}

// done reports whether nothing is left. Then whoever adds a note starts sending anew.
func (n *notes) done() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.flushing = len(n.pending) > 0
	return !n.flushing
}

// pollFar answers a poll from far away by what is remembered of the line, if that is
// possible. Redis hears of it later.
func (s *Store) pollFar(b *zoneBatch, p line.Place) (line.Answer, bool) {
	now := s.wall()
	a, ok := b.ranks.answer(now, p)
	if !ok {
		return line.Answer{}, false
	}
	taken, first := b.notes.add(a.Place.Epoch, note{p.ID, p.StandsAtMicros(), a.State.NowMillis, a.PeriodMillis, now, p.ScoreMicros > 0})
	if first {
		s.work.Go(b.keepFlushing)
	}
	return a, taken
}

// keepFlushing sends the zone's notes until there are none: all when they are due, and
// those of full calls before that. When the store closes it sends them once more.
func (b *zoneBatch) keepFlushing() {
	s := b.store
	due := time.NewTicker(s.noteAfter)
	defer due.Stop()
	for {
		least, last := 1, false
		select {
		case <-due.C:
		case <-b.notes.full:
			least = noteBatch
		case <-s.closing:
			last = true
		}
		s.flush(b, least)
		if b.notes.done() || last {
			return
		}
	}
}

// flush sends the notes of a zone in calls of at least so many, until there are fewer or
// Redis does not take them.
func (s *Store) flush(b *zoneBatch, least int) {
	b.notes.sending.Lock()
	defer b.notes.sending.Unlock()
	for some, epoch := b.notes.take(least); len(some) > 0; some, epoch = b.notes.take(least) {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.call)
		known, err := s.touch(ctx, b, some, epoch)
		cancel()
		if err != nil {
			// The next polls ask Redis, and hear how it fares.
			b.ranks.forget(s.wall())
			if known {
				b.notes.drop()
			} else {
				b.notes.putBack(some, epoch, s.wall())
			}
			return
		}
	}
}

// touch makes one call of touch.lua. With an error, known says that Redis answered: notes of
// this zone are of no use then.
func (s *Store) touch(ctx context.Context, b *zoneBatch, some []note, epoch uint32) (known bool, err error) {
	const fixed = 3
	now, start, least := s.wall(), time.Now(), some[0].arrivedMicros
	args := make([]any, fixed, fixed+3*len(some))
	for _, n := range some {
		told := binary.BigEndian.AppendUint64(nil, uint64(n.atMillis)<<16|uint64(n.periodMillis))
		if n.drawn {
			told = append(told, 'd')
		}
		args = append(args, string(n.id[:]), seenBucket(n.id), string(told))
		least = min(least, n.arrivedMicros)
	}
	args[0], args[1], args[2] = s.clock(), epoch, strconv.FormatInt(least, 10)
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

// readTouch reads the reply of touch.lua: which visitors have to ask the next time.
func (s *Store) readTouch(b *zoneBatch, sent time.Time, reply any, some []note) ([]line.ID, error) {
	var state, which, pace []int64
	if err := readParts(reply, &state, &which, &pace); err != nil {
		return nil, err
	}
	st, _, err := readState(state)
	if err != nil {
		return nil, err
	}
	doubted := make([]line.ID, len(which))
	for i, n := range which {
		if n < 1 || n > int64(len(some)) {
			return nil, fmt.Errorf("lua: touch: number %d of %d", n, len(some))
		}
		doubted[i] = some[n-1].id
	}
	return doubted, b.ranks.learn(sent, st, nil, pace)
}
