package webhook

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// mostPlaces is how many places a call names.
	mostPlaces = 1_000
	// mostCalls is how many calls a look makes at most for an event. The next look goes on behind them.
	mostCalls = 20
	// lookEvery is how often the places of a zone are looked at, at most; where that takes long, it takes a lookShare-th of the time.
	lookEvery, lookShare = 5 * time.Second, 30
)

// mark: places that stand at Upto or before are told if they were set aside before Millis. Round is what is being told.
type mark struct {
	Upto   int64  `json:"upto"`
	Millis int64  `json:"millis"`
	Round  *round `json:"round,omitempty"`
}

// round moves a mark to Upto and Millis. The places up to the one that stands at After, and has the id, are told.
type round struct {
	Upto   int64   `json:"upto"`
	Millis int64   `json:"millis"`
	After  int64   `json:"after"`
	ID     line.ID `json:"id"`
}

type placesData struct {
	ZoneID string   `json:"zoneId"`
	Places []string `json:"places"`
}

// lookAtPlaces finds places set aside that are to be told.
func (w *worker) lookAtPlaces(ctx context.Context, s zone.Settings, stats *line.Stats, k *known) {
	is, began, gate, inForce := &stats.State, w.Now(), s.Gate(), s.InForce()
	// Whoever comes back is told to wait, or that all is sold out.
	stands := gate.Holds(is.NowMillis) || inForce.PerMinute == 0 && inForce.Mode != zone.ModeOpen
	turn, soon := is.EdgeMicros, w.Zones.Upto(s.ZoneID, is.NowMillis+1000*s.SoonSeconds)
	if is.Waiting == is.Released && !stands {
		turn = math.MaxInt64 // nobody stands before those who are set aside
	}
	if s.SoonSeconds == 0 {
		soon = 0
	}
	for _, e := range []struct {
		event string
		mark  **mark
		upto  int64
	}{{PlaceSoon, &k.marks.Soon, max(turn, soon)}, {PlaceTurn, &k.marks.Turn, turn}} {
		if *e.mark == nil && w.hook.wants(e.event) { // what was before is not told
			*e.mark, w.dirty = &mark{Upto: min(e.upto, is.NowMillis*1000), Millis: is.NowMillis}, true
		}
	}
	under := k.marks.Soon != nil && k.marks.Soon.Round != nil || k.marks.Turn != nil && k.marks.Turn.Round != nil
	same := !under && k.turn == turn && k.soon == soon && k.aside == stats.Totals.SetAside
	if stands || stats.Aside == 0 && !under || same || began.Before(k.look) || w.bytes >= maxPending {
		return
	}
	var looks []*look
	if l := w.newLook(k, PlaceSoon, k.marks.Soon, soon, is.NowMillis); l != nil && (soon > 0 || l.Round != nil) {
		l.above = turn
		looks = append(looks, l)
	}
	if l := w.newLook(k, PlaceTurn, k.marks.Turn, turn, is.NowMillis); l != nil {
		looks = append(looks, l)
	}
	if len(looks) == 0 {
		return
	}
	kept := is.NowMillis - s.KeepPlace().Milliseconds()
	err := w.Store.Aside(ctx, s.ZoneID, func(p store.Silent) {
		if p.AtMillis >= kept && !gate.Outdates(p.StandsMicros, is.NowMillis) { // a draw gives another place to those who come back to these
			for _, l := range looks {
				l.take(p)
			}
		}
	})
	k.look = w.Now().Add(max(lookEvery, lookShare*w.Now().Sub(began)))
	if err != nil {
		w.Logger.Debug("places set aside cannot be read", "zone", s.ZoneID, "err", err)
		return
	}
	if len(k.calls) == 0 { // all events were looked for
		k.turn, k.soon, k.aside = turn, soon, stats.Totals.SetAside
	}
	for _, l := range looks {
		w.tellPlaces(k, s.ZoneID, l)
	}
}

// look is a look at the places for one event.
type look struct {
	*mark
	event string
	next  round
	// above: places that stand there or before are left out.
	above int64
	found []store.Silent
	// more: so many were found that some are left for the next look.
	more bool
}

// newLook returns nil if the event is not told, or calls of it wait.
func (w *worker) newLook(k *known, event string, m *mark, upto, millis int64) *look {
	if m == nil || k.calls[event] != nil {
		return nil
	}
	l := &look{mark: m, event: event, next: round{Upto: max(min(upto, millis*1000), m.Upto), Millis: millis}}
	if m.Round != nil {
		l.next = *m.Round
	}
	return l
}

func (l *look) take(p store.Silent) {
	if p.StandsMicros > l.next.Upto || p.AtMillis >= l.next.Millis || p.StandsMicros <= l.above ||
		p.StandsMicros <= l.Upto && p.AtMillis < l.Millis || byStand(p, store.Silent{StandsMicros: l.next.After, ID: l.next.ID}) <= 0 {
		return
	}
	if l.found = append(l.found, p); len(l.found) == 2*mostCalls*mostPlaces {
		l.first()
	}
}

// first leaves the first of those that were found, each once, in the order of the line.
func (l *look) first() {
	slices.SortFunc(l.found, byStand)
	l.found = slices.CompactFunc(l.found, func(a, b store.Silent) bool { return a.ID == b.ID })
	if len(l.found) > mostCalls*mostPlaces {
		l.found, l.more = l.found[:mostCalls*mostPlaces], true
	}
}

func byStand(a, b store.Silent) int {
	return cmp.Or(cmp.Compare(a.StandsMicros, b.StandsMicros), bytes.Compare(a.ID[:], b.ID[:]))
}

// tellPlaces has the places told that a look has found. Without any the mark stays, unless a round ends: a later look finds the same from
// there.
func (w *worker) tellPlaces(k *known, zoneID string, l *look) {
	l.first()
	end := func() { *l.mark = mark{Upto: l.next.Upto, Millis: l.next.Millis} }
	if len(l.found) == 0 {
		if l.Round != nil {
			end()
			w.dirty = true
		}
		return
	}
	for some := range slices.Chunk(l.found, mostPlaces) {
		data := placesData{ZoneID: zoneID}
		for i := range some {
			data.Places = append(data.Places, some[i].ID.PlaceID())
		}
		last := some[len(some)-1]
		w.add(k, newCall(w.hook.Name, l.event, l.next.Millis, data, len(some), func() {
			told := l.next
			told.After, told.ID = last.StandsMicros, last.ID
			l.Round = &told
			if !l.more && last == l.found[len(l.found)-1] {
				end()
			}
		}))
	}
}
