package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

const (
	// aTurn is how many parts of a list are read or written before it is the turn of the next list. A turn ends after
	// turnLasts, too, if the store is slow.
	aTurn     = 32
	turnLasts = 250 * time.Millisecond
	// leaveOut is for how long a zone is left out after a failure, while other lists are being written.
	leaveOut = 5 * time.Second
	// partBytes is how long each part of a list is, but for the last.
	partBytes = store.DrawnBatch * len(event.Ticket{})
)

// list is what this server knows of the list of a draw. It keeps the tickets, 16 bytes each, so that a store that loses
// the list gets the same one back. The line could not give it back: visitors who were let in are not in it any more.
type list struct {
	// head is the head of the list once that is complete; nil before.
	head    *head
	tickets []byte
	// work is the list while it is being read or written; nil otherwise.
	work *work
	// lookMillis is when to look again whether the store has the list.
	lookMillis int64
}

// work is a list that is being read or written.
type work struct {
	head    head
	tickets []byte
	// parts is how many parts were written, or read of another server's list.
	parts int
	// after is the last place that was read from the line. lostMillis is when the line had been lost last. whole: all
	// places were read.
	after      line.Place
	lostMillis int64
	whole      bool
}

// list returns what is known of the list of the draw with the nonce. Only the goroutine of publishAll uses it.
func (s *Schedule) list(nonce string) *list {
	if s.lists[nonce] == nil {
		s.lists[nonce] = new(list)
	}
	return s.lists[nonce]
}

// remember takes over a list that another server has written. more: there is more to read.
func (s *Schedule) remember(ctx context.Context, zoneID string, l *list, h *head) (more bool, err error) {
	if l.work == nil || l.work.head != *h {
		l.work = &work{head: *h}
	}
	w := l.work
	for began, n := time.Now(), 0; inTurn(began, n); n++ {
		if w.parts == h.Parts {
			l.head, l.tickets, l.work = h, w.tickets, nil
			return false, nil
		}
		part, err := s.Zones.Draw(ctx, zoneID, partName(h), w.parts+1)
		if err != nil || part == nil {
			l.work = nil
			return false, err // nil: it is lost already, and who asks for it is told so
		}
		w.tickets, w.parts = append(w.tickets, part...), w.parts+1
	}
	return true, nil
}

// write goes on with writing a list, from the line or from memory. Its parts have a name that only this server uses, and
// the head says Done last, so half a list never looks complete. The next call tries again what failed. more: there is
// more to write.
func (s *Schedule) write(ctx context.Context, zoneID string, l *list, nowMillis int64) (more bool, err error) {
	w := l.work
	w.head.ClaimedMillis = nowMillis
	if err := s.keepHead(ctx, zoneID, &w.head); err != nil {
		return false, err
	}
	for began, n := time.Now(), 0; inTurn(began, n); n++ {
		if err := s.read(ctx, zoneID, w); err != nil {
			return false, err
		}
		from := w.parts * partBytes
		if upto := min(len(w.tickets), from+partBytes); w.whole && upto > from || upto == from+partBytes {
			if err := s.Zones.KeepDraw(ctx, zoneID, partName(&w.head), w.parts+1, w.tickets[from:upto]); err != nil {
				return false, err
			}
			w.parts++
		}
		if w.whole && w.parts*partBytes >= len(w.tickets) {
			return false, s.finish(ctx, zoneID, l)
		}
	}
	return true, nil
}

// read reads the next tickets from the line.
func (s *Schedule) read(ctx context.Context, zoneID string, w *work) error {
	if w.whole {
		return nil
	}
	some, err := s.Zones.Drawn(ctx, zoneID, w.after, w.head.FromMicros, w.head.UptoMicros)
	if err != nil {
		return err
	}
	for _, one := range some {
		t := event.TicketOf(zoneID, w.head.Event, one.ID)
		w.tickets = append(w.tickets, t[:]...)
		w.after = one
	}
	w.whole = len(some) == 0
	return nil
}

// finish writes the head of a list all parts of which are written.
func (s *Schedule) finish(ctx context.Context, zoneID string, l *list) error {
	h, sum := l.work.head, sha256.Sum256(l.work.tickets)
	h.Done, h.Parts, h.Tickets, h.ListHash = true, l.work.parts, len(l.work.tickets)/len(event.Ticket{}), hex.EncodeToString(sum[:])
	if err := s.keepHead(ctx, zoneID, &h); err != nil {
		return err
	}
	if l.head != nil {
		s.Logger.Warn("the store had lost the list of a draw, and has it again", "zone", zoneID, "event", h.Event, "tickets", h.Tickets)
	} else {
		s.Logger.Info("the list of a draw is published", "zone", zoneID, "event", h.Event, "tickets", h.Tickets, "parts", h.Parts)
	}
	l.head, l.tickets, l.work = &h, l.work.tickets, nil
	return nil
}

// inTurn reports whether a turn that began at that time, and has done n parts, goes on.
func inTurn(began time.Time, n int) bool {
	return n == 0 || n < aTurn && time.Since(began) < turnLasts
}

// partName is the name under which the parts of a list are kept.
func partName(h *head) string { return h.Event + "." + h.By }
