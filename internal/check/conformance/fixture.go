package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// fixture is one zone in the model and in the stores under test. Every call goes
// to all of them; the test fails where an answer is not the model's.
type fixture struct {
	t      TB
	zoneID string
	clock  *Clock
	model  *model // nil while the stores have no such zone
	stores []*Harness
	record []zone.Change // of the zone, the newest first
	// ended is the zone that was deleted; nil if there was none.
	ended *model
	// departed are those that servers saw depart.
	departed []line.Departure
	// draws are all that there were, as they are by now, by nonce, of which so many were given out.
	draws  map[string]event.Draw
	nonces int
}

func newFixture(t TB, open ...Open) *fixture {
	w := &fixture{t: t, zoneID: "TEST_ZONE", clock: NewClock()}
	for _, o := range open {
		h := o(t, w.clock.Now)
		w.stores = append(w.stores, &h)
	}
	return w
}

func (w *fixture) raw() int64 { return w.clock.Now().UnixMicro() }

// join returns the answer that all agree on.
func (w *fixture) join(id line.ID) line.Answer {
	w.t.Helper()
	return w.joinAs(w.drawnNow(id), id)
}

// joinAs is join by a server that knows of a draw, or of none.
func (w *fixture) joinAs(drawn event.Drawn, id line.ID) line.Answer {
	w.t.Helper()
	w.model.begin(w.raw())
	return w.told("join "+name(id), w.model.join(drawn, id), func(s store.Store) (line.Answer, error) {
		return s.JoinDrawn(w.t.Context(), w.zoneID, drawn, id)
	})
}

func (w *fixture) poll(p line.Place) line.Answer {
	w.t.Helper()
	if w.hasDeparted(p) {
		p.DueMillis = 0
	}
	p.ScoreMicros = w.scoreOf(p)
	w.model.begin(w.raw())
	call := fmt.Sprintf("poll %s, arrived at %d", name(p.ID), p.ArrivedAtMicros)
	return w.told(call, w.model.polled(w.model.poll(p)), func(s store.Store) (line.Answer, error) {
		return s.Poll(w.t.Context(), w.zoneID, p)
	})
}

// told asks the stores, compares their answers with the model's, and returns that.
func (w *fixture) told(call string, want line.Answer, ask func(store.Store) (line.Answer, error)) line.Answer {
	w.t.Helper()
	want.State = w.model.state()
	want.Renew()
	for _, h := range w.stores {
		got, err := ask(h.Store)
		w.same(call, got, want, err)
	}
	w.saw(want)
	return want
}

// saw is what a server makes of an answer: see package registry.
func (w *fixture) saw(a line.Answer) {
	switch a.Status {
	case line.Admitted, line.AdmittedBefore:
		w.sawDepart(a)
	case line.Waiting:
		for i, d := range w.departed {
			if d.Place.ID == a.Place.ID {
				w.departed[i].Place.ArrivedAtMicros = min(d.Place.ArrivedAtMicros, a.Place.ArrivedAtMicros-1)
			}
		}
	default:
	}
}

func (w *fixture) hasDeparted(p line.Place) bool {
	return slices.ContainsFunc(w.departed, func(d line.Departure) bool {
		return d.Place.ID == p.ID && d.Place.ArrivedAtMicros >= p.ArrivedAtMicros
	})
}

// sawDepart: as a server notes it, which knows the newest arrival but not whether the
// token that it was shown is the visitor's newest.
func (w *fixture) sawDepart(a line.Answer) {
	p := line.Place{ID: a.Place.ID, ArrivedAtMicros: w.model.last, Epoch: w.model.epoch}
	w.departed = append(w.departed, line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis})
}

func (w *fixture) leave(p line.Place) {
	w.t.Helper()
	w.model.begin(w.raw())
	w.model.leave(p)
	w.departed = append(w.departed, line.Departure{Place: line.Place{ID: p.ID, ArrivedAtMicros: p.ArrivedAtMicros, Epoch: w.model.epoch}})
	w.all("leave", func(s store.Store) error { return s.Leave(w.t.Context(), w.zoneID, p) })
}

// report is what a server reports of those inside.
func (w *fixture) report(t line.SessionReport) line.SessionReply {
	w.t.Helper()
	inOrder := func(h line.SessionReply) line.SessionReply {
		slices.SortFunc(h.Over, func(a, b line.Admission) int {
			return cmp.Or(cmp.Compare(a.AtMillis, b.AtMillis), bytes.Compare(a.ID[:], b.ID[:]))
		})
		return h
	}
	w.model.begin(w.raw())
	want := inOrder(w.model.report(t))
	want.State = w.model.state()
	for _, h := range w.stores {
		got, err := h.Store.Report(w.t.Context(), w.zoneID, t)
		w.same("report", inOrder(got), want, err)
	}
	return want
}

// all has each store do something.
func (w *fixture) all(what string, do func(store.Store) error) {
	w.t.Helper()
	for _, h := range w.stores {
		if err := do(h.Store); err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (w *fixture) stats() line.Stats {
	w.t.Helper()
	w.model.begin(w.raw())
	want := w.model.observe(sampled)
	for _, h := range w.stores {
		got, err := h.Store.Observe(w.t.Context(), w.zoneID, sampled)
		w.same("observe", got, want, err)
	}
	return want.Stats
}

// sweep goes through the whole line, in as many calls as it takes, and returns
// how many were removed.
func (w *fixture) sweep() (removed int64) {
	w.t.Helper()
	want := w.model.sweep(w.raw())
	for _, h := range w.stores {
		calls := w.sweepOf(h)
		got := int64(0)
		for _, s := range calls {
			got += s.Removed
		}
		if got != want {
			w.t.Fatalf("sweep: removed %d, want %d", got, want)
		}
	}
	return want
}

// maxSweepCalls is more than any line in these tests needs.
const maxSweepCalls = 1000

// sweepOf sweeps one store and returns what each call said.
func (w *fixture) sweepOf(h *Harness) (calls []line.Sweep) {
	w.t.Helper()
	cursor := uint64(0)
	for range maxSweepCalls {
		s, err := h.Store.Sweep(w.t.Context(), w.zoneID, "one", cursor)
		if err != nil {
			w.t.Fatalf("sweep from %d: %v", cursor, err)
		}
		calls = append(calls, s)
		if cursor = s.Next; cursor == 0 {
			return calls
		}
	}
	w.t.Fatalf("sweep: not done after %d calls", maxSweepCalls)
	return nil
}

// put makes the zone or changes it.
func (w *fixture) put(s zone.Settings) {
	w.t.Helper()
	created := w.model == nil
	by := fmt.Sprintf("operator %d", len(w.record))
	var was *zone.Settings
	if !created {
		was = new(w.model.settings)
	}
	if created || !was.Equal(s) {
		w.note(by, was, &s)
	}
	if w.draws == nil {
		w.draws = map[string]event.Draw{}
	}
	// One that is called off before people gather never was.
	maps.DeleteFunc(w.draws, func(_ string, d event.Draw) bool { return !created && w.now().UnixMilli() < d.GathersAtMillis })
	for _, d := range s.EventState.Draws {
		w.draws[d.Nonce] = d
	}
	for _, h := range w.stores {
		got, err := h.Store.PutZone(w.t.Context(), s, nil, who(by))
		if err != nil || got != created {
			w.t.Fatalf("put %+v: created %t, %v; want %t", s, got, err, created)
		}
	}
	if created {
		w.model = fresh(s, w.raw())
		w.model.changeCap(zone.Settings{})
		if w.ended != nil {
			w.model = anew(s, w.ended, w.raw())
		}
		return
	}
	w.model.change(s, w.raw())
}

// lose empties the stores and puts the zone back with what is remembered of it.
func (w *fixture) lose(m line.Memory) {
	w.t.Helper()
	s := w.model.settings
	w.record, w.ended = nil, nil
	for _, h := range w.stores {
		h.Store = h.Lose(w.t)
	}
	w.all("restore", func(store store.Store) error { return store.RestoreZone(w.t.Context(), s, m) })
	w.model = restored(s, m, w.raw())
}

// delete removes the zone.
func (w *fixture) delete(by string) {
	w.t.Helper()
	w.all("delete", func(s store.Store) error { return s.DeleteZone(w.t.Context(), w.zoneID, who(by)) })
	w.note(by, &w.model.settings, nil)
	w.model.end(w.raw())
	w.model, w.ended = nil, w.model
}

// who makes changes under that name.
func who(name string) audit.By {
	switch name {
	case "":
		return audit.By{}
	case zone.ByConfig:
		return audit.By{Name: name, Via: audit.ViaFile}
	}
	return audit.By{Name: name, Proof: audit.Token, ProofID: "4f1c09ae52", Address: "203.0.113.9", Via: audit.ViaAPI}
}

// note writes down a change.
func (w *fixture) note(by string, was, now *zone.Settings) {
	c := zone.Change{AtMillis: w.raw() / 1000, ZoneID: w.zoneID, By: who(by), Was: was, Now: now}
	w.record = append([]zone.Change{c}, w.record[:min(len(w.record), zone.MaxChanges-1)]...)
}

// changes compares the record of changes.
func (w *fixture) changes() {
	w.t.Helper()
	for _, h := range w.stores {
		for _, zoneID := range []string{w.zoneID, ""} {
			got, err := h.Store.Changes(w.t.Context(), zoneID)
			if len(got)+len(w.record) > 0 {
				w.same("the changes of "+zoneID, got, w.record, err)
			}
		}
	}
}

// memory is what a server remembers that saw the last answer. Of those inside it supposes that the limit has let in all it could since.
func (w *fixture) memory() line.Memory {
	m := w.model
	inside := window.MayBeInside(m.c.inside, m.rates.Admits(w.raw()/1000-m.now, m.settings.Burst), m.settings.MaxInside, m.mode == zone.ModeOpen)
	return line.Memory{
		Epoch: w.model.epoch, SeenAtMillis: w.model.now,
		EdgeMicros: w.model.edge, LastArrivalMicros: w.model.last, Inside: inside, LongestMillis: w.model.longest(),
	}
}

// recall has the stores take in who departed, as servers remember it.
func (w *fixture) recall(departed ...line.Departure) {
	w.t.Helper()
	w.model.begin(w.raw())
	for _, d := range departed {
		w.model.recall(d)
	}
	w.all("recall", func(s store.Store) error { return s.Recall(w.t.Context(), w.zoneID, departed) })
}

func (w *fixture) same(call string, got, want any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", call, err)
	}
	if !reflect.DeepEqual(got, want) {
		w.t.Fatalf("%s:\n got %+v\nwant %+v", call, got, want)
	}
	w.t.Logf("%s: %s", call, brief(got))
}

// place is what names the place of a token.
func place(token line.Place) line.Place {
	return line.Place{ID: token.ID, ArrivedAtMicros: token.ArrivedAtMicros}
}

// token is what the visitor gets, when the answer has one.
func token(a line.Answer) (line.Place, bool) {
	switch a.Status {
	case line.Waiting, line.Admitted, line.AdmittedBefore:
		return a.Place, true
	default:
		return line.Place{}, false
	}
}

// brief is for a failure's log: what led to it.
func brief(got any) string {
	a, ok := got.(line.Answer)
	if !ok {
		return fmt.Sprintf("%+v", got)
	}
	status := a.Status.String()
	if a.Restored {
		status += ", restored"
	}
	st := a.State
	return fmt.Sprintf("%s; position %d, %d ms to go, polls in %d ms; at %d: %d waiting, %d released, %d live, %d/%d in the window, %d in the minute",
		status, a.Position, a.WaitMillis, a.PeriodMillis,
		st.NowMillis, st.Waiting, st.Released, st.Live, st.InWindow, st.WindowLimit, st.InMinute)
}

// visitorID is the id of one with that name, of at most seven letters.
func visitorID(name string) (id line.ID) {
	copy(id[:7], name)
	id[7] = name[len(name)-1] // spreads the jitter
	return id
}

func name(id line.ID) string { return strings.TrimRight(string(id[:7]), "\x00") }

// second is for reading: 6.001 s is 6*second + 1*milli.
const (
	milli  = time.Millisecond
	second = time.Second
	minute = time.Minute
)
