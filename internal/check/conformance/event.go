package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventName is that of the zone's event.
const eventName = "sale"

// seedOf is a draw's: any will do, as long as it is the draw's own.
func seedOf(nonce string) (s event.Seed) {
	copy(s[:], nonce)
	return s
}

func (w *fixture) score(d *event.Draw, id line.ID) int64 {
	return d.Score(seedOf(d.Nonce), event.TicketOf(w.zoneID, d.Event, id))
}

// drawnNow is what a server hands over for one who joins.
func (w *fixture) drawnNow(id line.ID) event.Drawn {
	if d := w.model.settings.EventState.Draw(); d != nil {
		return d.Drawn(seedOf(d.Nonce), event.TicketOf(w.zoneID, d.Event, id))
	}
	return event.Drawn{}
}

// scoreOf is what a server hands over with a token.
func (w *fixture) scoreOf(p line.Place) int64 {
	if g := w.model.settings.Gate(); g.DrawOpenAt(w.now().UnixMilli()) && p.ArrivedAtMicros/1000 < g.GatherAtMillis {
		return w.drawnNow(p.ID).ScoreMicros
	}
	for _, d := range w.draws {
		if d.Holds(p.ArrivedAtMicros) {
			return w.score(&d, p.ID)
		}
	}
	return 0
}

// now is the zone's time.
func (w *fixture) now() time.Time { return time.UnixMilli(max(w.model.now, w.raw()/1000)) }

// due has the zone's events make every step that is due.
func (w *fixture) due() {
	w.t.Helper()
	for n := 0; ; n++ {
		if n > 10 {
			w.t.Fatalf("there is always another step due: %+v", w.model.settings.EventState)
		}
		next, _, ok := w.model.settings.Due(w.now(), w.commit)
		if !ok {
			return
		}
		w.put(next)
	}
}

func (w *fixture) commit(string) (nonce, commitment string) {
	w.nonces++
	nonce = fmt.Sprintf("%032x", w.nonces)
	return nonce, seedOf(nonce).Commitment()
}

// schedule has the zone list one event, with these times from now on; 0 for none.
func (w *fixture) schedule(e event.Event, gathers, opens, closes, ends time.Duration) {
	w.t.Helper()
	at := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return w.now().Add(d).UTC().Format(time.RFC3339Nano)
	}
	e.Name, e.PreQueueAt, e.OpensAt, e.ClosesAt, e.EndsAt = eventName, at(gathers), at(opens), at(closes), at(ends)
	s := w.model.settings
	s.Events = []event.Event{e}
	w.put(s)
	w.due()
}

// act has an operator hold or move a step, or open or cancel the event.
func (w *fixture) act(how string, step event.Step, in time.Duration) (fault string) {
	w.t.Helper()
	s, next := w.model.settings, w.model.settings
	switch how {
	case "hold":
		next.EventState, fault = s.EventState.Hold(step, w.now())
	case "move":
		next.EventState, fault = s.EventState.Move(step, w.now().Add(in), w.now())
	case "open":
		next.EventState, fault = s.EventState.Open(w.now())
	default:
		next, fault = s.Cancel(w.now())
	}
	if fault == "" {
		w.put(next)
		w.due()
	}
	return fault
}

// ranked are those in the line, as the draw has them.
func (s *story) ranked(who []string) []string {
	draws := s.model.settings.EventState.Draws
	d := &draws[len(draws)-1]
	who = slices.Clone(who)
	slices.SortFunc(who, func(a, b string) int { return int(s.score(d, visitorID(a)) - s.score(d, visitorID(b))) })
	return who
}

// event does a step of a script about events, and reports whether it is one.
func (s *story) event(verb string, words []string) bool {
	s.t.Helper()
	switch verb {
	case "event": // gathers=10s opens=1m closes=2m ends=3m order=draw perMinute=20
		var e event.Event
		times := map[string]time.Duration{}
		for _, w := range words {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "gathers", "opens", "closes", "ends":
				times[name] = s.duration(value)
			case "order":
				e.Order = event.Order(value)
			default:
				e.Settings = event.Values{name: value}
			}
		}
		s.schedule(e, times["gathers"], times["opens"], times["closes"], times["ends"])
	case "due":
		s.due()
	case "opened", "cancel":
		s.equal(verb, s.act(strings.TrimSuffix(verb, "ed"), "", 0), "")
	case "hold":
		s.equal(verb, s.act(verb, event.Step(words[0]), 0), "")
	case "move": // opens to 1m
		s.equal(verb, s.act(verb, event.Step(words[0]), s.duration(words[2])), "")
	case "phase":
		is := "none"
		if p := s.model.settings.EventState.Now; p != nil {
			is = string(p.Phase)
		}
		s.equal("phase", is, words[0])
	case "setting": // perMinute=20
		name, value, _ := strings.Cut(words[0], "=")
		s.equal(name, zone.Table.Find(name).Text(s.model.settings), value)
	case "undrawn": // a: joins by servers that know of no draw, and of another
		for _, who := range s.names(words) {
			earlier := s.drawnNow(visitorID(who))
			earlier.FromMicros--
			for _, knows := range []event.Drawn{{}, earlier} {
				if a := s.joinAs(knows, visitorID(who)); a.Status != line.Undrawn {
					s.t.Fatalf("%s, by a server that knows of %+v: %+v", who, knows, a)
				}
			}
		}
	case "drawn": // v*12: polls, and stands as the draw says, from a position on
		from, err := strconv.Atoi(words[0])
		s.fails("drawn", err, nil)
		for i, who := range s.ranked(s.names(words[1:])) {
			s.poll(who).waits(int64(from + i))
		}
	case "list": // v*12: the store has them in the order of the draw
		s.listed(s.ranked(s.names(words)))
	case "listAside": // v*12: those who take part in the draw and are set aside
		s.listedAside(s.ranked(s.names(words)))
	default:
		return false
	}
	return true
}

// listed compares what the store says of the draw.
func (s *story) listed(want []string) {
	s.t.Helper()
	d := s.model.settings.EventState.Draw()
	for _, h := range s.stores {
		all, err := h.Store.Drawn(s.t.Context(), s.zoneID, line.Place{}, d.FromMicros, d.UptoMicros)
		s.fails("drawn", err, nil)
		var got []string
		for i, p := range all {
			got = append(got, name(p.ID))
			rest, err := h.Store.Drawn(s.t.Context(), s.zoneID, p, d.FromMicros, d.UptoMicros)
			s.fails("drawn", err, nil)
			s.equal("the rest of the list", len(rest), len(all)-i-1)
		}
		if !slices.Equal(got, want) {
			s.t.Fatalf("the draw is %v, want %v", got, want)
		}
		s.keepsLists(h.Store)
	}
}

// listedAside compares what the store says of those who take part in the draw and are set aside.
func (s *story) listedAside(want []string) {
	s.t.Helper()
	d := s.model.settings.EventState.Draw()
	for _, h := range s.stores {
		since := s.model.now - s.model.settings.KeepPlace().Milliseconds()
		all, err := h.Store.DrawnAside(s.t.Context(), s.zoneID, since, d.FromMicros, d.UptoMicros)
		s.fails("drawn aside", err, nil)
		slices.SortFunc(all, func(a, b line.Place) int { return int(a.ScoreMicros - b.ScoreMicros) })
		var got []string
		for _, p := range all {
			got = append(got, name(p.ID))
		}
		if !slices.Equal(got, want) {
			s.t.Fatalf("of the draw %v are set aside, want %v", got, want)
		}
	}
}

// keepsLists: the first list of a draw stays, however long it is.
func (s *story) keepsLists(d store.Drawer) {
	s.t.Helper()
	for _, tickets := range []int{0, 1, 1 << 14, 50_000} {
		nonce, list := fmt.Sprintf("%032x", tickets), make([]byte, 16*tickets)
		for i := range list {
			list[i] = byte(i >> 8 * i)
		}
		for _, first := range []bool{true, false} {
			if !first {
				list = append(slices.Clone(list), 1)
			}
			before, err := d.Draw(s.t.Context(), s.zoneID, nonce)
			s.fails("draw", err, nil)
			s.equal("there is no list", before == nil, first)
			written, err := d.KeepDraw(s.t.Context(), s.zoneID, nonce, list)
			s.fails("keep draw", err, nil)
			s.equal("it is written", written, first)
		}
		kept, err := d.Draw(s.t.Context(), s.zoneID, nonce)
		s.fails("draw", err, nil)
		if !slices.Equal(kept, list[:16*tickets]) || kept == nil {
			s.t.Fatalf("%d bytes are kept of a list of %d", len(kept), 16*tickets)
		}
	}
}

// an event is listed, or what is there goes on.
func (c *crowd) event(t *rapid.T) {
	at := func(name string, least time.Duration) time.Duration {
		return least + time.Duration(rapid.Int64Range(1, 40_000).Draw(t, name))*milli
	}
	e := event.Event{Order: rapid.SampledFrom([]event.Order{event.OrderDraw, event.OrderDraw, event.OrderArrival}).Draw(t, "order")}
	if p := c.model.settings.EventState.Now; p != nil {
		how := rapid.SampledFrom([]string{"hold", "move", "move", "move", "open", "cancel"}).Draw(t, "how")
		c.act(how, rapid.SampledFrom(event.Steps).Draw(t, "step"), at("to", 0))
		c.invariants.changed()
		return
	}
	e.DrawClosesSeconds = event.MinDrawClosesSeconds
	e.Settings = event.Values{"perMinute": strconv.FormatInt(limits.Draw(t, "per minute"), 10)}
	gathers := at("gathers", 0)
	opens := at("opens", gathers+26*second)
	closes := at("closes", opens)
	c.schedule(e, gathers, opens, closes, at("ends", closes))
	c.invariants.changed()
}

// steps are made when they are due.
func (c *crowd) steps(*rapid.T) {
	c.due()
	c.invariants.changed()
}
