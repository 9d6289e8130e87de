package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// mostPlaces is how many places a call names.
	mostPlaces = 1_000
	// mostLooked is how many places one look tells; what is more is lost, and counted.
	mostLooked = 500_000
	// mostText is how many bytes of a changed setting are told.
	mostText = 500
)

// message is the body of a call.
type message struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

type placesData struct {
	ZoneID string   `json:"zoneId"`
	Places []string `json:"places"`
}

type changeData struct {
	ZoneID string      `json:"zoneId"`
	By     string      `json:"by"`
	Proof  audit.Proof `json:"proof,omitempty"`
	Via    audit.Via   `json:"via,omitempty"`
	What   []string    `json:"what"`
}

// newCall returns a call. Its id is the same for the same data, after the same progress.
func (w *worker) newCall(event string, atMillis int64, data any, of int, after any) call {
	what, err := json.Marshal([]any{w.hook.Name, event, data, after})
	if err != nil {
		panic(err) // texts and numbers
	}
	sum := sha256.Sum256(what)
	body, err := json.Marshal(message{event, time.UnixMilli(atMillis).UTC().Format(time.RFC3339Nano), data})
	if err != nil {
		panic(err)
	}
	return call{id: "msg_" + base32.StdEncoding.EncodeToString(sum[:15]), body: body, of: of}
}

// look finds what of a zone is to be told.
func (w *worker) look(ctx context.Context, s zone.Settings, stats line.Stats) {
	now, k, m := w.Now(), w.known[s.ZoneID], w.progress.Zones[s.ZoneID]
	if m == nil {
		m = &marked{}
		w.progress.Zones[s.ZoneID], w.dirty = m, true
	}
	if k == nil {
		k = &known{}
		w.known[s.ZoneID] = k
	}
	k.gone = false
	if !k.settings.Equal(s) || now.Sub(k.changes) >= changesEvery {
		if w.lookAtChanges(ctx, s.ZoneID, k) {
			k.settings, k.changes = s, now
		}
	}
	w.begin(&m.Turn, PlaceTurn, stats.State.EdgeMicros, stats.State.NowMillis)
	w.begin(&m.Soon, PlaceSoon, stats.State.EdgeMicros, stats.State.NowMillis)
	if stats.Aside > 0 && !now.Before(k.look) && w.bytes < maxPending && (m.Turn != nil || m.Soon != nil) {
		k.look = now.Add(lookEvery)
		if err := w.lookAtPlaces(ctx, &s, &stats.State, m); err != nil {
			w.Logger.Debug("places set aside cannot be read", "zone", s.ZoneID, "err", err)
		}
		k.look = w.Now().Add(max(lookEvery, lookShare*w.Now().Sub(now)))
	}
}

// begin sets a mark before the first look: what was before is not told.
func (w *worker) begin(m **mark, event string, upto, millis int64) {
	if *m == nil && w.hook.wants(event) {
		*m, w.dirty = &mark{upto, millis}, true
	}
}

// lookAtChanges finds changes of a zone that are not told. It reports whether they could be read.
func (w *worker) lookAtChanges(ctx context.Context, zoneID string, _ *known) bool {
	at, m := key{zoneID, ZoneChanged}, w.progress.Zones[zoneID]
	if !w.hook.wants(ZoneChanged) || m == nil {
		return true
	}
	if w.pending[at] != nil || w.bytes >= maxPending {
		return false
	}
	all, err := w.Changes(ctx, zoneID)
	if err != nil {
		return false
	}
	slices.Reverse(all)
	if m.Changed == nil { // what was before the webhook is not told
		m.Changed, w.dirty = &changed{Millis: w.Now().Add(-time.Minute).UnixMilli()}, true
		if w.version > 1 { // the zone is new
			m.Changed.Millis = 0
		} else if n := len(all); n > 0 {
			m.Changed.Millis, m.Changed.Count = all[n-1].AtMillis, n
		}
	}
	next, same := *m.Changed, 0
	var calls []call
	for i := range all {
		c := &all[i]
		if c.AtMillis == m.Changed.Millis {
			same++
		}
		if c.AtMillis < m.Changed.Millis || c.AtMillis == m.Changed.Millis && same <= m.Changed.Count {
			continue
		}
		if c.AtMillis > next.Millis {
			next = changed{Millis: c.AtMillis}
		}
		next.Count++
		what := change.Recorded(*c)
		for i, text := range what {
			if len(text) > mostText {
				what[i] = text[:mostText] + "..."
			}
		}
		calls = append(calls, w.newCall(ZoneChanged, c.AtMillis, changeData{zoneID, c.Who(), c.Proof, c.Via, what}, 1, next))
	}
	if len(calls) > 0 {
		w.add(at, calls, func() { m.Changed = &next })
	}
	return true
}

// soonUpto is up to where turns are expected within the zone's soonSeconds; 0 if none are.
func (w *worker) soonUpto(ctx context.Context, s *zone.Settings, is *line.State) (int64, error) {
	pace, span := s.InForce().PerMinute, s.SoonSeconds-max(0, is.OpensAtMillis-is.NowMillis)/1000
	if is.Full {
		pace = min(pace, is.InMinute) // as many as leave
	}
	if pace*span <= 0 || is.Gathers() {
		return 0, nil
	}
	ahead := is.Released + max(0, pace*span/60-is.Live)
	micros, more, err := w.Store.StandsAt(ctx, s.ZoneID, ahead)
	if !more {
		micros = is.NowMillis * 1000 // all who wait
	}
	return micros, err
}

// lookAtPlaces finds places set aside that are to be told.
func (w *worker) lookAtPlaces(ctx context.Context, s *zone.Settings, is *line.State, m *marked) error {
	upto, err := w.soonUpto(ctx, s, is)
	if err != nil {
		return err
	}
	soon := w.newLook(key{s.ZoneID, PlaceSoon}, m.Soon, mark{upto, is.NowMillis})
	if upto == 0 {
		soon = nil
	}
	turn := w.newLook(key{s.ZoneID, PlaceTurn}, m.Turn, mark{is.EdgeMicros, is.NowMillis})
	if soon == nil && turn == nil {
		return nil
	}
	kept := is.NowMillis - s.KeepPlace().Milliseconds()
	err = w.Store.Aside(ctx, s.ZoneID, func(p store.Silent) {
		if p.AtMillis >= is.NowMillis || p.AtMillis < kept {
			return
		}
		turn.take(p)
		if p.StandsMicros > is.EdgeMicros {
			soon.take(p)
		}
	})
	if err != nil {
		return err
	}
	w.tell(soon)
	w.tell(turn)
	return nil
}

// look is what a look at places finds for one event. A nil look finds nothing.
type look struct {
	key
	mark  *mark
	next  mark
	found []store.Silent
	lost  int
}

// newLook returns nil if the event is not told, or calls of it wait.
func (w *worker) newLook(at key, m *mark, next mark) *look {
	if m == nil || w.pending[at] != nil {
		return nil
	}
	next.Upto = max(next.Upto, m.Upto)
	return &look{key: at, mark: m, next: next}
}

func (l *look) take(p store.Silent) {
	switch {
	case l == nil || p.StandsMicros > l.next.Upto || p.StandsMicros <= l.mark.Upto && p.AtMillis < l.mark.Millis:
	case len(l.found) < mostLooked:
		l.found = append(l.found, p)
	default:
		l.lost++
	}
}

// tell has the places told that a look has found. Without any the mark stays: a later look finds the same from there.
func (w *worker) tell(l *look) {
	if l == nil || len(l.found) == 0 {
		return
	}
	if l.lost > 0 {
		w.lost[l.event].Add(float64(l.lost))
		w.Logger.Error("a webhook is not told of places: they are too many at once", "webhook", w.hook.Name, "zone", l.zoneID, "event", l.event, "lost", l.lost)
	}
	slices.SortFunc(l.found, func(a, b store.Silent) int {
		return cmp.Or(cmp.Compare(a.StandsMicros, b.StandsMicros), slices.Compare(a.ID[:], b.ID[:]))
	})
	l.found = slices.CompactFunc(l.found, func(a, b store.Silent) bool { return a.ID == b.ID })
	var calls []call
	for some := range slices.Chunk(l.found, mostPlaces) {
		data := placesData{ZoneID: l.zoneID}
		for i := range some {
			data.Places = append(data.Places, some[i].ID.PlaceID())
		}
		calls = append(calls, w.newCall(l.event, l.next.Millis, data, len(some), *l.mark))
	}
	w.add(l.key, calls, func() { *l.mark = l.next })
}
