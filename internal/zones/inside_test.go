package zones

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInsideIsRemembered: a store that lost a zone hears how many were inside, and of a loss all sessions that are known; a
// session that is done or revoked is refused.
func TestInsideIsRemembered(t *testing.T) {
	s := settings("a", 60)
	s.MaxInside = 5
	f := newFakeStore(s)
	r, clock := newTest(t, f, Options{})
	now := r.Millis()
	f.do(func() { f.heard = line.State{NowMillis: now, Inside: 3, Epoch: 1, LongestMillis: 90_000} })
	r.ReportInsideOnce(t.Context())
	_, _ = r.Poll(t.Context(), "a", line.Place{})
	f.lose()
	_, _ = r.Poll(t.Context(), "a", line.Place{})
	if m := f.memory["a"]; m.Inside != 5 || m.LongestMillis != 90_000 {
		t.Errorf("restored with %+v, want 3 inside and the two that the limit may have admitted since", m)
	}

	a := line.Admission{ID: line.ID{1}, AtMillis: now}.JTI("a")
	if over, _ := r.Here("a", a, clock.Now().Add(time.Minute)); over || r.Over("a", a) {
		t.Error("a session that was never done is over")
	}
	r.ReportInsideOnce(t.Context())
	if len(f.stays) != 1 || f.stays[0].LeftMillis != time.Minute.Milliseconds() {
		t.Errorf("told %+v, want one who stays for a minute", f.stays)
	}
	r.ReportInsideOnce(t.Context())
	if len(f.stays) != 0 {
		t.Errorf("told %+v again", f.stays)
	}
	f.do(func() {
		f.heard = line.State{NowMillis: now, LostAtMillis: now, Inside: 1, Epoch: 1, LongestMillis: 90_000}
	})
	r.ReportInsideOnce(t.Context()) // hears of the loss
	r.ReportInsideOnce(t.Context())
	if len(f.stays) != 1 || f.lost == 0 {
		t.Errorf("after a loss: told %+v, %d lost", f.stays, f.lost)
	}
	left := line.Place{ID: line.ID{2}, AdmittedAtMillis: now}
	if err := r.Leave(t.Context(), "a", left); err != nil || !r.Over("a", line.Admission{ID: left.ID, AtMillis: now}.JTI("a")) {
		t.Errorf("one who left after being let in is not over: %v", err)
	}
	r.End("a", a)
	if over, _ := r.Here("a", a, clock.Now().Add(time.Minute)); over || !r.Over("a", a) {
		t.Error("a session that is done is refused within its minute, or its pass is good")
	}
	told := f.calls["report"]
	if known, err := r.Done(t.Context(), "a", a, false); !known || err != nil || f.calls["report"] != told {
		t.Errorf("done again: %v, %v, and %d calls to the store", known, err, f.calls["report"]-told)
	}
	clock.Forward(time.Minute)
	if over, _ := r.Here("a", a, clock.Now().Add(time.Minute)); !over {
		t.Error("a session that is done goes on")
	}
}

// TestRevokedEverywhere: what an operator revokes, every server refuses within a second, also one that was away meanwhile; and
// a server lists the sessions that asked it, the newest first.
func TestRevokedEverywhere(t *testing.T) {
	s := settings(testZone, 600)
	s.MaxInside = 5
	r := newRoom(t, 2, s)
	var names []jti
	for range 3 {
		r.pass(time.Second)
		a, err := r.servers[0].Join(t.Context(), testZone, r.newID())
		if err != nil || a.Status != line.Admitted {
			t.Fatalf("join: %+v, %v", a, err)
		}
		names = append(names, line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}.JTI(testZone))
	}
	until := r.clock.Now().Add(time.Hour)
	refused := func(server int, j jti, want bool) {
		t.Helper()
		if over, _ := r.servers[server].Here(testZone, j, until); over != want {
			t.Errorf("server %d refuses: %t, want %t", server, over, want)
		}
	}
	for _, j := range names {
		refused(0, j, false)
	}
	refused(1, names[1], false)
	for range tidyEvery { // the counts are up to 9 s old
		r.servers[0].ReportInsideOnce(t.Context())
	}
	if sessions, idle := r.servers[0].Idle(testZone, 3*time.Minute); sessions != 3 || idle != 0 {
		t.Errorf("%d sessions, %d idle", sessions, idle)
	}
	r.clock.Forward(4 * time.Minute)
	refused(0, names[0], false)
	for range tidyEvery {
		r.servers[0].ReportInsideOnce(t.Context())
	}
	if sessions, idle := r.servers[0].Idle(testZone, 3*time.Minute); sessions != 3 || idle != 2 {
		t.Errorf("after four minutes: %d sessions, %d idle, want the two that asked for nothing", sessions, idle)
	}
	listed := r.servers[0].Sessions(testZone, 2)
	if len(listed) != 2 || listed[0].JTI != uuid.UUID(names[2]).String() || listed[1].JTI != uuid.UUID(names[1]).String() || listed[0].Renewed {
		t.Errorf("listed %+v", listed)
	}
	if listed = r.servers[1].Sessions(testZone, 2); len(listed) != 1 {
		t.Errorf("the other server lists %+v", listed)
	}
	revoke := func(change func(*zone.Settings)) {
		t.Helper()
		r.servers[1].wire.down.Store(true)
		change(&s)
		if _, err := r.store.PutZone(t.Context(), s, nil, audit.By{}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.servers[0].ReportInsideOnce(t.Context())
	}
	back := func() {
		r.servers[1].wire.down.Store(false)
		r.pass(time.Second)
		r.servers[1].ReportInsideOnce(t.Context())
	}
	revoke(func(s *zone.Settings) { s.InsideState = s.InsideState.Revoke(uuid.UUID(names[1]).String()) })
	refused(0, names[1], true)
	back()
	refused(1, names[1], true)
	refused(0, names[0], false)
	revoke(func(s *zone.Settings) { s.InsideState.RevokedUpToMillis = r.clock.Now().UnixMilli() })
	refused(0, names[0], true)
	back()
	refused(1, names[2], true)
	if listed = r.servers[0].Sessions(testZone, 9); len(listed) != 0 {
		t.Errorf("after all were revoked, it lists %+v", listed)
	}
}

// TestTwoGates: a session that began at one gate goes on when another renews it, also if that gate dies before it told of it, and
// gives its slot back when it is done at the first.
func TestTwoGates(t *testing.T) {
	s := settings(testZone, 600)
	s.MaxInside, s.SessionSeconds, s.PassTTLSeconds = 1, 60, 30
	r := newRoom(t, 2, s)
	join := func(want line.Status) line.Told {
		t.Helper()
		a, err := r.servers[1].Join(t.Context(), testZone, r.newID())
		if err != nil || a.Status != want {
			t.Fatalf("join: %+v, %v; want %v", a, err, want)
		}
		return a
	}
	pass := func(seconds int) {
		for range seconds {
			r.pass(time.Second)
			r.servers[0].ReportInsideOnce(t.Context())
			r.servers[1].ReportInsideOnce(t.Context())
		}
	}
	inside := func(want int64) {
		t.Helper()
		if st, err := r.store.Observe(t.Context(), testZone, 0); err != nil || st.State.Inside != want {
			t.Fatalf("%d are inside, want %d; %v", st.State.Inside, want, err)
		}
	}
	pass(3)
	first := join(line.Admitted)
	name := line.Admission{ID: first.Place.ID, AtMillis: first.AdmittedAtMillis}.JTI(testZone)
	here := func(server int, until time.Time, want bool) {
		t.Helper()
		if over, _ := r.servers[server].Here(testZone, name, until); over != want {
			t.Fatalf("server %d refuses: %t, want %t", server, over, want)
		}
	}
	minute := func() time.Time { return r.clock.Now().Add(time.Minute) }

	here(0, minute(), false)
	pass(40)
	here(1, minute(), false)
	pass(50)
	inside(1)
	next := join(line.Waiting)

	// The second gate renews it, and dies before it has told of that. The visitor comes again, through the first.
	until := minute()
	r.servers[1].wire.down.Store(true)
	here(1, until, false)
	r.servers[1].Zones = New(Options{Store: r.servers[1].wire, Meter: r.servers[1].meter, Servers: 2, Now: r.clock.Now})
	r.servers[1].wire.down.Store(false)
	pass(5)
	here(0, until, false)
	pass(50)
	inside(1)

	if known, err := r.servers[0].Done(t.Context(), testZone, name, false); err != nil || !known {
		t.Fatalf("done: %t, %v", known, err)
	}
	inside(0)
	pass(2)
	if a, err := r.servers[1].Poll(t.Context(), testZone, next.Place); err != nil || a.Status != line.Admitted {
		t.Fatalf("the next: %+v, %v", a, err)
	}
	pass(60)
	here(1, minute(), true)
	inside(0) // the next never came

	// A renewal of which nobody told in time: the visitor stays, beside one who has entered since, and nobody else enters.
	first = join(line.Admitted)
	name = line.Admission{ID: first.Place.ID, AtMillis: first.AdmittedAtMillis}.JTI(testZone)
	pass(31)
	join(line.Admitted)
	here(0, minute(), false)
	pass(1)
	inside(2)
	join(line.Waiting)
}

// capped is a zone of which one may be inside.
func capped(most int64) zone.Settings {
	s := settings(testZone, 600)
	s.MaxInside, s.SessionSeconds, s.PassTTLSeconds = most, 60, 600
	return s
}

// admitted lets a newcomer in, through a server.
func (r *room) admitted(server int) (a line.Told, name jti) {
	r.t.Helper()
	a, err := r.servers[server].Join(r.t.Context(), testZone, r.newID())
	if err != nil || a.Status != line.Admitted {
		r.t.Fatalf("join: %+v, %v", a, err)
	}
	return a, line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}.JTI(testZone)
}

// asked has seconds pass, in which all servers tell the store.
func (r *room) asked(seconds int) {
	for range seconds {
		r.pass(time.Second)
		for _, s := range r.servers {
			s.ReportInsideOnce(r.t.Context())
		}
	}
}

// TestPassOfOneWhoLeft: a server that starts later takes no pass of a visitor who gave the slot back, for as long as the pass lives.
func TestPassOfOneWhoLeft(t *testing.T) {
	r := newRoom(t, 1, capped(1))
	r.asked(3)
	a, name := r.admitted(0)
	parts.Must(t, r.servers[0].Leave(t.Context(), testZone, a.Place))
	for range 190 {
		r.asked(1)
		for cursor := uint64(0); ; {
			out, err := r.store.Sweep(t.Context(), testZone, "one", cursor)
			parts.Must(t, err)
			if cursor = out.Next; cursor == 0 {
				break
			}
		}
	}
	later := New(Options{Store: r.store, Now: r.clock.Now})
	later.Start(t.Context())
	defer later.Stop()
	if !later.Over(testZone, name) {
		t.Error("a server that starts later takes the pass")
	}
}

// TestBeginTellsFirst: no session begins of which the store was not told, nor one that another server has told to be done.
func TestBeginTellsFirst(t *testing.T) {
	r := newRoom(t, 2, capped(2))
	r.asked(3)
	_, name := r.admitted(0)
	_, other := r.admitted(0)
	until := r.clock.Now().Add(time.Hour)
	r.servers[0].wire.down.Store(true)
	if _, err := r.servers[0].Known(testZone).Begin(t.Context(), name, until); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("while the store is away: %v", err)
	}
	r.servers[0].wire.down.Store(false)
	if over, err := r.servers[0].Known(testZone).Begin(t.Context(), name, until); over || err != nil {
		t.Errorf("over %t, %v", over, err)
	}
	r.servers[0].Zones = New(Options{Store: r.servers[0].wire, Now: r.clock.Now}) // dies at once
	for range 11 * 60 {
		r.clock.Forward(time.Second)
		_, _ = r.store.Observe(t.Context(), testZone, 0)
	}
	if st, err := r.store.Observe(t.Context(), testZone, 0); err != nil || st.State.Inside != 1 {
		t.Errorf("%d are inside, want the one whose session has begun: %v", st.State.Inside, err)
	}
	if _, err := r.servers[1].Done(t.Context(), testZone, other, false); err != nil {
		t.Fatal(err)
	}
	r.servers[0].RunOnce(t.Context())
	if over, err := r.servers[0].Known(testZone).Begin(t.Context(), other, until); !over || err != nil {
		t.Errorf("one who is done: over %t, %v", over, err)
	}
}

// TestRevokedForGood: what was revoked is refused when nobody is counted any more, and when the zone was deleted and made again.
func TestRevokedForGood(t *testing.T) {
	s := capped(5)
	r := newRoom(t, 2, s)
	r.asked(3)
	_, one := r.admitted(0)
	_, other := r.admitted(0)
	refused := func(when string) {
		t.Helper()
		for i, server := range r.servers {
			for _, j := range []jti{one, other} {
				if over, _ := server.Here(testZone, j, r.clock.Now().Add(time.Minute)); !over || !server.Over(testZone, j) {
					t.Errorf("%s, server %d takes a session that was revoked", when, i)
				}
			}
		}
	}
	put := func(change func(*zone.Settings)) {
		t.Helper()
		s = *r.servers[0].Settings(testZone)
		change(&s)
		if _, err := r.servers[0].PutZone(t.Context(), s, nil, audit.By{Name: "Ada"}); err != nil {
			t.Fatal(err)
		}
		r.asked(1)
	}
	put(func(s *zone.Settings) { s.InsideState = s.InsideState.Revoke(uuid.UUID(other).String()) })
	put(func(s *zone.Settings) {
		s.InsideState.RevokedUpToMillis = admittedAt(one)
	})
	refused("at first")
	put(func(s *zone.Settings) { s.MaxInside = 0 })
	refused("without a cap")
	parts.Must(t, r.servers[1].DeleteZone(t.Context(), testZone, audit.By{Name: "Ada"}))
	r.asked(1)
	if _, err := r.servers[0].PutZone(t.Context(), capped(5), nil, audit.By{Name: "Ada"}); err != nil {
		t.Fatal(err)
	}
	r.asked(1)
	refused("in the zone that was made again")
}

// TestMadeAgain: passes and sessions of a zone that was deleted are no good in the zone of that name that is made afterwards, with and
// without a cap, also once the store has lost that. Those who are admitted by the new zone are let in.
func TestMadeAgain(t *testing.T) {
	for _, most := range []int64{0, 5} {
		r := newRoom(t, 2, capped(5))
		r.asked(3)
		_, old := r.admitted(0)
		refused := func(when string, j jti, want bool) {
			t.Helper()
			for i, server := range r.servers {
				here, _ := server.Here(testZone, j, r.clock.Now().Add(time.Minute))
				if over := server.Over(testZone, j); here != want || over != want {
					t.Errorf("maxInside %d, %s, server %d: refused %t, its pass %t, want %t", most, when, i, here, over, want)
				}
			}
		}
		refused("in its zone", old, false)
		parts.Must(t, r.servers[1].DeleteZone(t.Context(), testZone, audit.By{Name: "Ada"}))
		r.asked(1)
		s := capped(5)
		s.MaxInside = most
		_, err := r.servers[0].PutZone(t.Context(), s, nil, audit.By{Name: "Ada"})
		parts.Must(t, err)
		r.asked(62) // the minute and the window of the deleted zone count
		refused("made again", old, true)
		_, young := r.admitted(0)
		refused("of the new zone", young, false)
		r.store = parts.OpenStore(t, r.clock.Now, nil).Store
		for _, server := range r.servers {
			server.wire.Store = r.store
		}
		r.asked(4)
		refused("after a loss", old, true)
		refused("of the new zone, after a loss", young, false)
	}
}

// TestRevokeWhileTheStoreIsAway: the brake works on the server that is asked, and the store has it when it answers again.
func TestRevokeWhileTheStoreIsAway(t *testing.T) {
	r := newRoom(t, 2, capped(5))
	r.asked(3)
	_, name := r.admitted(0)
	here := func(server int) bool {
		over, _ := r.servers[server].Here(testZone, name, r.clock.Now().Add(time.Minute))
		return over
	}
	if here(0) {
		t.Fatal("a session is refused")
	}
	r.cut(true)
	heard := r.servers[0].KnownInside(testZone)
	if heard.Inside != 1 || heard.NowMillis != r.clock.Now().UnixMilli() {
		t.Errorf("what the server knows: %+v", heard)
	}
	was := *r.servers[0].Settings(testZone)
	s := was
	s.InsideState.RevokedUpToMillis = heard.NowMillis + 1_000
	if _, err := r.servers[0].PutZone(t.Context(), s, &was, audit.By{Name: "Ada"}); err != nil || !here(0) {
		t.Fatalf("revoked while the store is away: %v, refused %t", err, here(0))
	}
	for _, server := range r.servers {
		server.wire.down.Store(false)
	}
	z := r.servers[0].Known(testZone)
	parts.Must(t, r.servers[0].send(t.Context(), z, z.brake.Load()))
	r.asked(1)
	if !here(0) || !here(1) {
		t.Errorf("afterwards the servers refuse: %t, %t", here(0), here(1))
	}
}

// TestSessionsWhenTheClockIsSet: the store is told for how long sessions last by the clock by which they are signed, also when that is
// set while the server runs; and not again and again while it is corrected.
func TestSessionsWhenTheClockIsSet(t *testing.T) {
	s := settings("a", 60)
	s.MaxInside = 5
	f := newFakeStore(s)
	r, clock := newTest(t, f, Options{})
	set := time.Duration(0)
	r.wall = func() time.Time { return clock.Now().Add(set) }
	r.ReportInsideOnce(t.Context())
	here := func(id byte, until time.Time, want ...int64) {
		t.Helper()
		a := line.Admission{ID: line.ID{id}, AtMillis: r.Millis()}.JTI("a")
		if over, _ := r.Here("a", a, until); over || !r.Known("a").MayRenew(a, until) {
			t.Error("over, or not to be renewed")
		}
		r.ReportInsideOnce(t.Context())
		var told []int64
		for _, stay := range f.stays {
			told = append(told, stay.LeftMillis)
		}
		if !slices.Equal(told, want) {
			t.Errorf("told that they stay for %d, want %d", told, want)
		}
	}
	until := r.wall().Add(time.Minute)
	here(1, until, 60_000)
	set = -10 * time.Minute
	here(2, r.wall().Add(time.Minute), 60_000)
	here(1, until, 660_000)
	set -= 5 * time.Millisecond
	here(1, until)
	set = 10 * time.Minute
	here(3, r.wall().Add(time.Minute), 60_000)
}

// TestOpenConnection: whoever has a connection open counts as inside until it is closed, as far as the zone renews sessions. Where it does
// not, the connection ends with the session.
func TestOpenConnection(t *testing.T) {
	s := capped(1)
	s.PassTTLSeconds = 30
	r := newRoom(t, 1, s)
	r.asked(3)
	begin := func() (*Zone, jti) {
		t.Helper()
		_, name := r.admitted(0)
		z := r.servers[0].Known(testZone)
		if _, err := z.Begin(t.Context(), name, r.clock.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return z, name
	}
	inside := func(want int64) {
		t.Helper()
		if st, err := r.store.Observe(t.Context(), testZone, 0); err != nil || st.State.Inside != want {
			t.Fatalf("%d are inside, want %d; %v", st.State.Inside, want, err)
		}
	}
	z, name := begin()
	for range 200 {
		r.asked(1)
		if !z.Keep(name) {
			t.Fatal("the connection is closed")
		}
		inside(1)
	}
	r.asked(61)
	inside(0)
	if z.Keep(name) {
		t.Error("a connection goes on whose session is over")
	}
	s.InsideBy = zone.InsideByAdmission
	if _, err := r.servers[0].PutZone(t.Context(), s, nil, audit.By{Name: "Ada"}); err != nil {
		t.Fatal(err)
	}
	for z, name = begin(); z.Keep(name); r.asked(1) {
		inside(1)
	}
	inside(0)
}

// TestCapSetAgain: sessions that a server knows from before count as soon as the zone has a cap again.
func TestCapSetAgain(t *testing.T) {
	s := capped(1)
	s.SessionSeconds, s.PassTTLSeconds = 600, 30
	r := newRoom(t, 1, s)
	r.asked(3)
	_, name := r.admitted(0)
	until := r.clock.Now().Add(10 * time.Minute)
	if _, err := r.servers[0].Known(testZone).Begin(t.Context(), name, until); err != nil {
		t.Fatal(err)
	}
	r.asked(90)
	for _, s.MaxInside = range []int64{0, 1} {
		if _, err := r.servers[0].PutZone(t.Context(), s, nil, audit.By{Name: "Ada"}); err != nil {
			t.Fatal(err)
		}
		r.asked(4)
		r.servers[0].Here(testZone, name, until)
	}
	if a, err := r.servers[0].Join(t.Context(), testZone, r.newID()); err != nil || a.Status != line.Waiting {
		t.Errorf("beside one whose session goes on: %v, %v", a.Status, err)
	}
}
