package lua

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// shortestIdle is the shortest idle timeout with which anybody is answered from memory:
// the longest period is a third of it.
const shortestIdle = 3 * minTouchPeriodMillis / 1000

// noted is a paused zone, seen by two servers that send notes when the test says so. Who
// waits there is taken to be far from the front, but for the first few.
type noted struct {
	*testing.T
	clock   *conformance.Clock
	servers [2]*Store
	zone    zone.Settings
	front   []line.Place
	places  []line.Place
}

func newNoted(t *testing.T, idleSeconds int64) *noted {
	t.Helper()
	n := &noted{T: t, clock: conformance.NewClock(), zone: zone.Defaults("Z")}
	for i := range n.servers {
		n.servers[i] = openStore(t, n.clock.Now)
		n.servers[i].noteAfter = time.Hour
	}
	n.servers[1].prefix = n.servers[0].prefix
	n.zone.PerMinute, n.zone.IdleTimeoutSeconds = 0, idleSeconds
	put(t, n.servers[0], n.zone)
	for letter := range byte(20) {
		a, err := n.servers[0].Join(t.Context(), "Z", visitor('a'+letter))
		if err != nil || a.Status != line.Waiting {
			t.Fatalf("join: %+v, %v", a, err)
		}
		a.Place.Told = 0 // the span of far has them stand further back than they were told
		n.places = append(n.places, a.Place)
	}
	// While the front is there, the edge does not reach the others.
	n.front, n.places = n.places[:10], n.places[10:]
	// Newcomers are told to come back too soon for notes.
	n.clock.Add(4 * time.Second)
	n.frontPolls()
	for who := range n.places {
		n.poll(n.servers[0], who, false)
	}
	return n
}

// allKnow has both servers know the line, and answer polls of these visitors from memory.
func (n *noted) allKnow(visitors ...int) {
	n.Helper()
	for _, s := range n.servers {
		n.knows(s)
		for _, who := range visitors {
			n.poll(s, who, true)
		}
	}
}

// knows has a server know the zone as it is now, and that all are far from the front.
func (n *noted) knows(s *Store) {
	n.Helper()
	n.frontPolls()
	stats(n.T, s)
	ranks := &s.batch("Z").ranks
	ranks.mu.Lock()
	defer ranks.mu.Unlock()
	upto := n.places[len(n.places)-1].ArrivedAtMicros
	ranks.remember(span{after: n.places[0].ArrivedAtMicros - 1, upto: upto, position: exactUpTo + markEvery, at: n.clock.Now()})
}

// poll has one poll, who must be told to wait: from memory or by Redis.
func (n *noted) poll(s *Store, who int, fromMemory bool) line.Answer {
	n.Helper()
	a, err := s.Poll(n.Context(), "Z", n.places[who])
	if err != nil || a.Status != line.Waiting || a.Remembered != fromMemory {
		n.Fatalf("%d: %+v, %v, want waiting, from memory %t", who, a, err, fromMemory)
	}
	n.places[who] = a.Place
	n.places[who].Told = 0
	return a
}

// polls has one poll who is not told to wait, or not by what a server remembers.
func (n *noted) polls(s *Store, who int, want line.Status) {
	n.Helper()
	if a, err := s.Poll(n.Context(), "Z", n.places[who]); err != nil || a.Status != want || a.Remembered {
		n.Fatalf("%d: %+v, %v, want status %d", who, a, err, want)
	}
}

// inHand is how many notes a server has.
func inHand(s *Store) int {
	notes := &s.batch("Z").notes
	notes.mu.Lock()
	defer notes.mu.Unlock()
	return len(notes.pending)
}

// flushed sends a server's notes.
func (n *noted) flushed(s *Store) {
	n.Helper()
	s.flush(s.batch("Z"))
	if left := inHand(s); left > 0 {
		n.Fatalf("%d notes are left", left)
	}
}

// frontPolls keeps the front where it is.
func (n *noted) frontPolls() {
	n.Helper()
	for i, p := range n.front {
		a, err := n.servers[1].Poll(n.Context(), "Z", p)
		if err != nil || a.Status != line.Waiting {
			n.Fatalf("the front: %+v, %v", a, err)
		}
		n.front[i] = a.Place
	}
}

// due goes on to when one was told to poll.
func (n *noted) due(a line.Answer) {
	n.Helper()
	for at := time.UnixMilli(a.Place.DueMillis); n.clock.Now().Before(at); n.frontPolls() {
		n.clock.Add(min(at.Sub(n.clock.Now()), 3*time.Second))
	}
}

// polled is how many polls Redis has counted.
func (n *noted) polled() int64 {
	n.Helper()
	return stats(n.T, n.servers[1]).Totals.Polls
}

// waits reports whether one is in the line.
func (n *noted) waits(who int) bool {
	n.Helper()
	s, id := n.servers[0], n.places[who].ID
	err := s.client.ZScore(n.Context(), s.keys("Z")[1], string(id[:])).Err()
	return err == nil
}

// TestNotesComeLater: a poll from far away is answered at once, with all that there is to
// tell. Redis hears of it with the next notes, and has the line as if it had been asked.
func TestNotesComeLater(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, asked := n.servers[0], n.servers[1]
	n.clock.Add(time.Second / 4)
	n.knows(s)
	polled, before := n.polled(), s.snapshot(t)
	a := n.poll(s, 0, true)
	if keys := changed(before, s.snapshot(t)); len(keys) > 0 {
		t.Fatalf("changed before the note was sent: %v", keys)
	}
	if st := stats(t, asked).State; a.State != st || a.Place.Epoch != st.Epoch || a.PeriodMillis < minTouchPeriodMillis ||
		a.Position != exactUpTo+markEvery || a.WaitMillis == 0 || a.Place.DueMillis != st.NowMillis+a.PeriodMillis {
		t.Errorf("%+v, want it of the zone %+v", a, st)
	}
	n.flushed(s)
	keys := changed(before, s.snapshot(t))
	if want := fmt.Sprint(s.keys("Z")[seenKey], seenBucket(a.Place.StandsAtMicros())); len(keys) != 2 || keys[0] != want {
		t.Errorf("changed: %v, want %s and the zone", keys, want)
	}
	if n.polled() != polled+1 || testutil.ToFloat64(s.metrics.touches) != 1 {
		t.Errorf("%d polls after %d, want one more", n.polled(), polled)
	}

	// The zone's clock goes on in between; the answer says so.
	n.clock.Add(spanAge)
	if a = n.poll(s, 1, true); a.State.NowMillis != n.clock.Now().UnixMilli() {
		t.Errorf("it is %d, want %v", a.State.NowMillis, n.clock.Now())
	}
	n.clock.Add(time.Millisecond)
	n.poll(s, 2, false) // the position is too old
}

// TestNotesAreSentSoon: within their time, and when the server ends.
func TestNotesAreSentSoon(t *testing.T) {
	t.Parallel()
	// Whoever is as late as is believed, and whose next note is as late as can be, is not idle by then.
	if late := shortestIdle*time.Second/4 + noteLife; noteLife >= minTouchPeriodMillis*time.Millisecond || minTouchPeriodMillis*time.Millisecond+late >= shortestIdle*time.Second {
		t.Errorf("notes come after %v, and up to %v: too long for an idle timeout of %d s", noteAfter, noteLife, shortestIdle)
	}
	n := newNoted(t, 60)
	s := n.servers[0]
	sent := func(want float64, why string) {
		t.Helper()
		s.work.Wait() // whoever sends them ends when all are sent
		if got := testutil.ToFloat64(s.metrics.touches); got != want {
			t.Fatalf("%s: %v notes were sent, want %v", why, got, want)
		}
	}
	s.noteAfter = time.Millisecond
	n.knows(s)
	n.poll(s, 0, true)
	sent(1, "in time")
	s.noteAfter = time.Hour
	n.poll(s, 2, true)
	if got := inHand(s); got != 1 {
		t.Errorf("%d in hand, want 1", got)
	}
	close(s.closing)
	sent(2, "the server ends")
	s.closing = make(chan struct{}) // which the test's end closes
}

// TestAKilledServer takes its notes with it. Who polls as told, at other servers, keeps the
// place; with the shortest idle timeout, too.
func TestAKilledServer(t *testing.T) {
	t.Parallel()
	for _, idle := range []int64{shortestIdle, 60} {
		n := newNoted(t, idle)
		killed, other := n.servers[0], n.servers[1]
		for round := range 12 {
			// As late as is believed, so that Redis has missed them for as long as can be.
			n.clock.Add(time.Second)
			var told line.Answer
			for who := range n.places {
				s := other
				if who%2 == round%2 {
					s = killed
				}
				n.knows(s)
				if a := n.poll(s, who, true); a.Place.DueMillis > told.Place.DueMillis {
					told = a
				}
			}
			killed.batch("Z").notes.take()
			n.flushed(other)
			n.due(told)
			sweepAll(t, other)
			for who := range n.places {
				if !n.waits(who) {
					t.Fatalf("idle timeout %d s, round %d: %d lost the place", idle, round, who)
				}
				n.poll(other, who, false) // nothing is remembered by now
			}
		}
		n.clock.Add(n.zone.IdleTimeout() + 25*time.Second)
		sweepAll(t, other)
		if n.waits(0) {
			t.Error("one who fell silent was not swept")
		}
	}
	n := newNoted(t, zone.MinIdleTimeoutSeconds)
	n.knows(n.servers[0])
	n.poll(n.servers[0], 0, false) // so short a timeout does without notes
}

// TestWhoIsGoneIsToldSo: at the next poll, whoever took the place out of the line.
func TestWhoIsGoneIsToldSo(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s := n.servers[0]
	must(t, n.servers[1].Leave(t.Context(), "Z", n.places[3]))
	n.knows(s)
	a := n.poll(s, 3, true) // by a server that did not hear of it
	n.poll(s, 4, true)
	polled := n.polled()
	n.flushed(s)
	if n.polled() != polled+1 || n.waits(3) {
		t.Errorf("one who left is noted: %d polls after %d", n.polled(), polled)
	}
	n.due(a)
	n.knows(s)
	n.polls(s, 3, line.Gone)
	n.poll(s, 4, true)

	// A token of an earlier line is not one of this.
	n.places[5].Epoch--
	n.poll(s, 5, false)
}

// TestMemoryKeepsNobodyFromEntering: when a zone is opened, on the server that made the change at once, on another with the
// next reply.
func TestMemoryKeepsNobodyFromEntering(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, other := n.servers[0], n.servers[1]
	n.allKnow(0)
	n.zone.Mode = zone.ModeOpen
	put(t, s, n.zone)
	n.polls(s, 1, line.Admitted)
	stats(t, other)
	n.polls(other, 2, line.Admitted)
}

// TestNotesOfAnEarlierPlace: whoever left and joined again, and polls with the token from before, is not noted where the
// visitor stood then. Redis is asked the next time, and says where the visitor stands.
func TestNotesOfAnEarlierPlace(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, former := n.servers[0], n.places[3]
	must(t, n.servers[1].Leave(t.Context(), "Z", former))
	n.clock.Add(time.Second)
	again, err := n.servers[1].Join(t.Context(), "Z", former.ID)
	if err != nil || again.Place.ArrivedAtMicros == former.ArrivedAtMicros {
		t.Fatalf("%+v, %v", again, err)
	}
	n.knows(s)
	polled := n.polled()
	a := n.poll(s, 3, true)
	n.flushed(s)
	if n.polled() != polled || !n.waits(3) {
		t.Errorf("%d polls after %d, and it waits: %t", n.polled(), polled, n.waits(3))
	}
	s.checkSeen(t)
	n.due(a)
	n.knows(s)
	n.clock.Add(2 * window.GraceMillis * time.Millisecond) // the token is late
	if a := n.poll(s, 3, false); a.Place.ArrivedAtMicros != again.Place.ArrivedAtMicros || a.Restored {
		t.Errorf("%+v, want the place of %+v", a, again.Place)
	}
	s.checkSeen(t)
}

// TestNotesOutOfOrder: the note of an earlier poll comes after that of a later one at
// another server. The visitor is missed from no earlier than the later poll.
func TestNotesOutOfOrder(t *testing.T) {
	t.Parallel()
	n := newNoted(t, shortestIdle)
	first, second := n.servers[0], n.servers[1]
	n.knows(first)
	n.poll(first, 0, true)
	n.clock.Add(noteLife)
	n.knows(second)
	n.poll(second, 0, true)
	later := n.clock.Now()
	n.flushed(second)
	n.flushed(first)
	n.clock.Add(n.zone.IdleTimeout())
	sweepAll(t, first)
	if !n.waits(0) {
		t.Fatalf("swept %v after a poll", n.clock.Now().Sub(later))
	}
}

// TestNotesOfALostLine are dropped, whether the zone is gone, or put back, or another one.
// The visitors' polls heal it as ever.
func TestNotesOfALostLine(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, other := n.servers[0], n.servers[1]
	n.allKnow(0, 1)
	st := stats(t, s).State
	other.batch("Z").ranks.doubt(n.clock.Now(), nil)
	s.forgetAll(t)
	n.flushed(s)
	if keys := s.allKeys(t, ""); len(keys) > 0 {
		t.Fatalf("there is again: %v", keys)
	}
	if _, err := s.Poll(t.Context(), "Z", n.places[0]); !errors.Is(err, line.ErrZoneUnknown) {
		t.Fatalf("after the loss: %v", err)
	}
	memory := line.Memory{
		Epoch: st.Epoch, SeenAtMillis: st.NowMillis, EdgeMicros: st.EdgeMicros, LastArrivalMicros: st.LastArrivalMicros,
	}
	must(t, s.RestoreZone(t.Context(), n.zone, memory))
	n.flushed(other) // into the line that was put back: nobody is there
	if got := stats(t, s); got.State.Waiting != 0 || got.Totals.Polls != 0 {
		t.Errorf("%+v", got)
	}
	for _, server := range []*Store{s, other} {
		n.knows(server)
		for who := range n.places {
			a := n.poll(server, who, false) // everybody asks, until all have
			if a.Restored != (server == s) {
				t.Errorf("%d: %+v", who, a)
			}
		}
	}

	// Of a zone that was made anew nothing is noted, either.
	n.clock.Add((window.FarPeriodMillis + lossMillis) * time.Millisecond)
	n.knows(s)
	n.poll(s, 0, false) // late
	n.poll(s, 0, true)
	must(t, other.DeleteZone(t.Context(), "Z", audit.By{}))
	n.clock.Add(time.Second)
	put(t, other, n.zone)
	n.flushed(s)
	n.front = nil
	n.clock.Add(time.Second)
	n.knows(s)
	n.polls(s, 0, line.Gone)
	if keys := s.allKeys(t, "{Z}:seen"); len(keys) > 0 {
		t.Errorf("noted in another line: %v", keys)
	}
}

// away makes a client fail when it says so.
type away struct{ is func() bool }

func (away) DialHook(next redis.DialHook) redis.DialHook { return next }

func (away) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a away) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if a.is() {
			return errors.New("away")
		}
		return next(ctx, cmd)
	}
}

// TestNotesWhileRedisIsAway: nobody is answered by what is too old. The notes wait for a while, and
// no longer; those whose polls failed have some, too.
func TestNotesWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, gone := n.servers[0], false
	s.client.AddHook(away{func() bool { return gone }})
	fails := func(who int) {
		t.Helper()
		if _, err := s.Poll(t.Context(), "Z", n.places[who]); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Fatalf("while Redis is away: %v", err)
		}
	}
	ages := func() { // what the server knows of the zone
		ranks := &s.batch("Z").ranks
		ranks.mu.Lock()
		defer ranks.mu.Unlock()
		ranks.at = n.clock.Now().Add(-stateAge)
	}
	n.knows(s)
	gone = true
	n.poll(s, 0, true)
	n.clock.Add(spanAge + time.Millisecond)
	fails(1)
	s.flush(s.batch("Z"))
	if got := inHand(s); got != 2 {
		t.Fatalf("%d notes in hand, want 2", got)
	}
	gone = false
	polled := n.polled()
	n.flushed(s)
	if n.polled() != polled+2 {
		t.Errorf("%d polls after %d, want two more", n.polled(), polled)
	}

	n.knows(s)
	n.poll(s, 2, true)
	gone = true
	s.flush(s.batch("Z"))
	n.clock.Add(noteLife)
	ages()
	n.clock.Add(time.Millisecond)
	fails(3)
	s.flush(s.batch("Z"))
	if got := inHand(s); got != 1 {
		t.Errorf("%d notes in hand, want that of the latest poll", got)
	}
	gone = false
	n.knows(s)
	n.poll(s, 4, true)

	gone = true
	ages()
	n.poll(s, 5, true)
	n.clock.Add(time.Millisecond)
	fails(5)
	gone = false
}

// TestNotesAreBounded: who comes on top asks Redis.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s := n.servers[0]
	n.knows(s)
	b := s.batch("Z")
	b.notes.sending.Lock() // as while Redis does not answer
	n.poll(s, 0, true)
	b.notes.pending = append(make([]note, maxNotes-2), b.notes.pending...)
	n.poll(s, 0, true)
	n.poll(s, 0, false)
	if got := inHand(s); got != maxNotes {
		t.Errorf("%d notes in hand, want %d", got, maxNotes)
	}
	b.notes.take()
	b.notes.sending.Unlock()

	n.knows(s)
	ids := make([]line.ID, maxDoubted)
	for i := range ids {
		ids[i] = farID(i)
	}
	b.ranks.doubt(n.clock.Now(), ids)
	n.poll(s, 1, false)
	n.clock.Add(spanLife + time.Second)
	n.knows(s)
	n.poll(s, 1, false) // late
	n.poll(s, 1, true)
}

// TestTheEdgeReachesTheNoted: who was there in time counts as live as soon as the note
// is there, and asks the next time.
func TestTheEdgeReachesTheNoted(t *testing.T) {
	t.Parallel()
	n := newNoted(t, 60)
	s, other := n.servers[0], n.servers[1]
	n.clock.Add(4 * time.Second)
	n.knows(s)
	a := n.poll(s, 0, true)
	n.poll(s, 9, true)
	n.clock.Add(time.Second)
	before := stats(t, other).State
	// The edge passes the first while it is late, as far as Redis knows.
	at := n.places[0].ArrivedAtMicros
	must(t, other.client.HSet(t.Context(), other.keys("Z")[0], "edge_micros", at).Err())
	if st := stats(t, other).State; st.Live != before.Live || st.Released <= before.Released {
		t.Fatalf("%+v, then %+v", before, st)
	}
	for range 2 { // a note that is sent twice counts once
		n.servers[0].batch("Z").notes.mu.Lock()
		again := append([]note(nil), n.servers[0].batch("Z").notes.pending...)
		n.servers[0].batch("Z").notes.mu.Unlock()
		n.flushed(s)
		s.batch("Z").notes.putBack(again, a.Place.Epoch, 0)
		if st := stats(t, other).State; st.Live != before.Live+1 {
			t.Errorf("%d live, want one more than %d", st.Live, before.Live)
		}
	}
	s.batch("Z").notes.take()
	due, err := other.client.ZScore(t.Context(), other.keys("Z")[3], string(a.Place.ID[:])).Result()
	if err != nil || int64(due) != a.Place.DueMillis {
		t.Errorf("due at %v, %v, want %d", due, err, a.Place.DueMillis)
	}
	n.knows(s)
	n.poll(s, 0, false)
	n.poll(s, 9, true)
}
