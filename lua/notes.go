package lua

import (
	"cmp"
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
	// itself. The longer, the more notes of one seen bucket travel in one command. The
	// bound is noteLife.
	noteAfter = 2 * time.Second
	// noteLife is how old notes get that Redis did not take. It is less than
	// minTouchPeriodMillis, the shortest period that comes with one: a note is never of an
	// earlier time to come back than the poll that follows it, on whichever server, and who
	// is gone is known to be so before the next poll.
	noteLife = 2 * noteAfter
	// noteBatch is how many notes travel in one call: some 2 ms of Redis.
	noteBatch = 2_000
	// manyNotes are sent before their time: six for each seen bucket.
	manyNotes = 100_000
	// maxNotes is how many notes a zone may have in hand, 24 bytes each. While there are
	// more, everybody has to ask.
	maxNotes = 3 * manyNotes
)

// note says that a visitor was there, and what period it was told: the id, what lies in
// its seen bucket (see keys.lua), both big-endian, and the arrival.
type note struct {
	id, told      uint64
	arrivedMicros int64
}

// notes are polls of one zone that this server has answered by itself, and that Redis
// has to hear of: within noteAfter, or when there are manyNotes.
//
// A server that is killed takes its notes with it. Nobody loses a place by that. A poll
// is answered so only before the visitor's token is late, so Redis has it down as due no
// earlier than window.GraceMillis before. The visitor is missed for an idle timeout
// from then on, and comes again within a third of it.
type notes struct {
	mu      sync.Mutex
	pending []note
	since   time.Time // when the first of them was taken, by the server's clock
	epoch   uint32    // of the line in which all of them wait
	// flushing: somebody will send them. full wakes that one before its time.
	flushing bool
	full     chan struct{}
	// sending is held while they are sent, so that one call is under way at a time.
	sending sync.Mutex
}

// add takes a note, unless there are too many. Whoever adds the first is to start
// sending.
func (n *notes) add(now time.Time, epoch uint32, one note) (taken, first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch != n.epoch {
		n.epoch, n.pending = epoch, nil // those of a line that is no more
	}
	if len(n.pending) >= maxNotes {
		return false, false
	}
	if len(n.pending) == 0 {
		n.since = now
	}
	n.pending = append(n.pending, one)
	if len(n.pending)%manyNotes == 0 {
		select {
		case n.full <- struct{}{}:
		default:
		}
	}
	first, n.flushing = !n.flushing, true
	return true, first
}

// take removes all notes, and returns since when they are there.
func (n *notes) take() (all []note, epoch uint32, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, n.pending = n.pending, make([]note, 0, len(n.pending))
	return all, n.epoch, n.since
}

// putBack takes notes again that Redis did not take.
func (n *notes) putBack(some []note, epoch uint32, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if epoch == n.epoch {
		n.pending, n.since = append(some, n.pending...), since
	}
}

// drop forgets all notes.
func (n *notes) drop() { _, _, _ = n.take() }

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
	taken, first := b.notes.add(now, a.Place.Epoch, note{
		id: binary.BigEndian.Uint64(p.ID[:]), told: uint64(a.State.NowMillis)<<16 | uint64(a.PeriodMillis), arrivedMicros: p.StandsAtMicros(),
	})
	if first {
		s.work.Go(b.keepFlushing)
	}
	return a, taken
}

// keepFlushing sends the zone's notes until there are none: when they are due, and when
// there are many. When the store closes it sends them once more.
func (b *zoneBatch) keepFlushing() {
	s := b.store
	due := time.NewTicker(s.noteAfter)
	defer due.Stop()
	for last := false; !last; {
		select {
		case <-due.C:
		case <-b.notes.full:
		case <-s.closing:
			last = true
		}
		s.flush(b)
		if b.notes.done() {
			return
		}
	}
}

// flush sends the notes of a zone, until Redis does not take them.
func (s *Store) flush(b *zoneBatch) {
	b.notes.sending.Lock()
	defer b.notes.sending.Unlock()
	all, epoch, since := b.notes.take()
	// Those of one seen bucket lie together, and those of one visitor in their order.
	slices.SortFunc(all, func(a, b note) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.told, b.told)) })
	for len(all) > 0 {
		n := min(noteBatch, len(all))
		ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.call)
		known, err := s.touch(ctx, b, all[:n], epoch)
		cancel()
		if err != nil {
			// The next polls ask Redis, and hear how it fares.
			b.ranks.forget(s.wall())
			if !known && s.wall().Sub(since) < noteLife {
				b.notes.putBack(all, epoch, since)
			}
			return
		}
		all = all[n:]
	}
}

// touch makes one call of touch.lua. With an error, known says that Redis answered: notes of
// this zone are of no use then.
func (s *Store) touch(ctx context.Context, b *zoneBatch, some []note, epoch uint32) (known bool, err error) {
	const fixed = 3
	now, start, least := s.wall(), time.Now(), some[0].arrivedMicros
	args := make([]any, fixed, fixed+3*len(some))
	text := make([]byte, 0, 16*len(some))
	for _, n := range some {
		text = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(text, n.id), n.told)
		least = min(least, n.arrivedMicros)
	}
	for i, rest := 0, string(text); i < len(some); i, rest = i+1, rest[16:] {
		if bucket := bucketOf(some[i].id); i == 0 || bucket != bucketOf(some[i-1].id) {
			args = append(args, strconv.Itoa(bucket))
		}
		args = append(args, rest[:8], rest[8:16])
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
		binary.BigEndian.PutUint64(doubted[i][:], some[n-1].id)
	}
	return doubted, b.ranks.learn(sent, st, nil, pace)
}
