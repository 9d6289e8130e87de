package zones_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const milli = time.Millisecond

func TestEarlyPoll(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("nothing is known", 0, v)
	a := r.early("2 s of 10", 2*time.Second, v)
	want := line.Told{Early: true, EstimateMillis: 58_000, Answer: line.Answer{
		Place: v, Position: 100, PeriodMillis: 8_000, State: line.State{Waiting: 500, NowMillis: a.State.NowMillis},
	}}
	if ahead := a.State.NowMillis - r.store.says.State.NowMillis; ahead != 2_000 {
		t.Errorf("the store's clock is told as %d ms after the last answer, want 2000", ahead)
	}
	if a != want {
		t.Errorf("got  %+v\nwant %+v", a, want)
	}
	for range 6 {
		r.early("up to 8.9 s", 1150*milli, v)
	}
	r.passes("a tenth early is in time", 101*milli, v)
	r.early("and again", 5*time.Second, v)
}

func TestAnEstimateThatIsADayStaysOne(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.store.says.WaitMillis = 86_400_000
	r.passes("", 0, v)
	if a := r.early("", 3*time.Second, v); a.EstimateMillis != 86_400_000 {
		t.Errorf("%+v", a)
	}
	r.store.says.WaitMillis = 1_000
	r.passes("", 10*time.Second, v)
	if a := r.early("", 3*time.Second, v); a.EstimateMillis != 0 {
		t.Errorf("%+v", a)
	}
}

func TestTheReleasedMayTryOnceASecond(t *testing.T) {
	t.Parallel()
	r, v, other := newRoom(t), visitor(1), visitor(2)
	r.passes("", 0, v)
	r.passes("", 0, other)
	// An answer to somebody else tells that the edge has come past the first.
	r.store.says.State.EdgeMicros = v.ArrivedAtMicros
	r.passes("", 0, visitor(3))
	r.early("0.9 s", 900*milli, v)
	r.passes("1 s", 100*milli, v)
	r.early("1.5 s", 500*milli, v)
	r.early("not released", 500*milli, other)
	r.passes("2 s", 0, v)
}

// TestTheLastPollBeforeItIsLate: a client that polls in its own rhythm would come
// later than the stores expect it.
func TestTheLastPollBeforeItIsLate(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, v)
	r.early("3 s", 3*time.Second, v)
	r.early("6 s", 3*time.Second, v)
	r.passes("9 s, or 12", 3*time.Second, v)
	r.early("4 s", 4*time.Second, v)
	r.passes("8 s, or 12", 4*time.Second, v)
	r.early("5.2 s, or 10.4", 5200*milli, v)
	r.passes("10.4 s", 5200*milli, v)
	// A phone that wakes.
	r.early("1 s", time.Second, v)
	r.passes("7 s, or 13", 6*time.Second, v)
}

func TestAChangeLetsEverybodyTryOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*zone.Settings)
		passes bool
	}{
		"limit":        {func(z *zone.Settings) { z.PerMinute *= 10 }, true},
		"paused":       {func(z *zone.Settings) { z.PerMinute = 0 }, true},
		"window":       {func(z *zone.Settings) { z.WindowSeconds++ }, true},
		"idle timeout": {func(z *zone.Settings) { z.IdleTimeoutSeconds = 20 }, true},
		"open":         {func(z *zone.Settings) { z.Mode = zone.ModeOpen }, true},
		"pass":         {func(z *zone.Settings) { z.PassTTLSeconds = 301 }, false},
		"max waiting":  {func(z *zone.Settings) { z.MaxWaiting = 5 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, v := newRoom(t), visitor(1)
			r.passes("", 0, v)
			r.early("", time.Second, v)
			r.change(tt.change)
			if !tt.passes {
				r.early("it concerns nobody who waits", time.Second, v)
				return
			}
			r.passes("", 50*milli, v)
			if name == "open" {
				r.passes("always, while open", 300*milli, v)
				return
			}
			r.early("once", time.Second, v)
		})
	}
}

func TestAZoneThatIsGone(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, v)
	r.store.set(func(s *scripted) { s.gone = true })
	r.lines.RunOnce(t.Context())
	if _, err := r.Poll(t.Context(), v); !errors.Is(err, line.ErrZoneUnknown) {
		t.Errorf("a zone that is not there: %v", err)
	}
	r.store.set(func(s *scripted) { s.gone = false })
	r.lines.RunOnce(t.Context())
	r.passes("made anew", time.Second, v)
	r.early("", time.Second, v)
	r.store.set(func(s *scripted) { s.err = line.ErrZoneDeleted })
	if _, err := r.Poll(t.Context(), visitor(2)); !errors.Is(err, line.ErrZoneDeleted) {
		t.Fatal(err)
	}
	r.store.set(func(s *scripted) { s.err = nil })
	r.lines.RunOnce(t.Context())
	r.passes("deleted, as the store says", time.Second, v)
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, v)
	for range 3 {
		if err := r.Leave(t.Context(), v); err != nil || r.store.left != 1 {
			t.Fatalf("left %d times, %v", r.store.left, err)
		}
	}
	r.clock.Forward(time.Second)
	if err := r.Leave(t.Context(), v); err != nil || r.store.left != 2 {
		t.Fatalf("left %d times, %v", r.store.left, err)
	}
	if a := r.early("known to be gone", 0, v); a.Status != line.Gone {
		t.Errorf("%+v", a)
	}
	anew := v
	anew.ArrivedAtMicros++
	r.passes("the place that it has by now", 0, anew)
	r.early("", time.Second, anew)
	r.early("by the old token, as the stores have it", time.Second, v)
	parts.Must(t, r.Leave(t.Context(), v))
	r.early("after a late leave from the old place", 0, anew)
}

// TestAPollThatWasUnderWayWhenItLeft does not bring the place back.
func TestAPollThatWasUnderWayWhenItLeft(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, visitor(2)) // the zone is known
	hold := make(chan struct{})
	r.store.set(func(s *scripted) { s.hold = hold })
	var polling sync.WaitGroup
	polling.Go(func() { _, _ = r.Poll(t.Context(), v) })
	for r.store.count() < 2 {
		runtime.Gosched()
	}
	r.store.set(func(s *scripted) { s.hold = nil })
	parts.Must(t, r.Leave(t.Context(), v))
	close(hold)
	polling.Wait()
	r.passes("", 2*time.Second, v)
}

func TestThoseWhoAreInAskOnceASecond(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	in := line.Answer{
		Status: line.Admitted, AdmittedAtMillis: 1_795_223_373_000, ExpiresAtMillis: 1_795_223_673_000,
		State: line.State{NowMillis: 1_795_223_373_000},
	}
	r.store.says = in
	r.passes("", 0, v)
	a := r.early("", 500*milli, v)
	if a.Status != line.AdmittedBefore || a.AdmittedAtMillis != in.AdmittedAtMillis || a.ExpiresAtMillis != in.ExpiresAtMillis || a.Place != v {
		t.Errorf("%+v", a)
	}
	r.passes("", 500*milli, v)
	other := visitor(2)
	r.store.says.ExpiresAtMillis = r.store.says.State.NowMillis + 1_500
	r.passes("", 0, other)
	r.passes("a pass that is about to expire is not vouched for", 300*milli, other)
	local := visitor(3)
	r.store.says.State = line.State{}
	r.passes("", 0, local)
	r.passes("nor one that the store does not know", 300*milli, local)
}

func TestAFloodAsksOnce(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, v)
	r.clock.Forward(10 * time.Second)
	hold := make(chan struct{})
	r.store.set(func(s *scripted) { s.hold, s.asked = hold, 0 })
	var first, others sync.WaitGroup
	poll := func() {
		if _, err := r.Poll(t.Context(), v); err != nil {
			t.Error(err)
		}
	}
	first.Go(func() {
		for range 100 {
			others.Go(poll)
		}
	})
	first.Wait()
	close(hold)
	others.Wait()
	if n := r.store.count(); n != 1 {
		t.Errorf("the store was asked %d times", n)
	}
}

// TestVouching: for a token that is older than what its visitor was told, by when the
// store told it to come. That it asked a store that did not answer says nothing.
func TestVouching(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.store.says.State.Epoch = 9
	due := r.clock.Now().UnixMilli() + 10_000
	r.passes("told to come after 10 s", 0, v)
	r.store.err = line.ErrStoreUnavailable
	for _, when := range []string{"at the first poll", "at the second"} {
		r.clock.Forward(100 * time.Second)
		if _, err := r.Poll(t.Context(), v); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Fatal(err)
		}
		if p := r.store.shown; p.DueMillis != due || p.Epoch != 9 {
			t.Errorf("%s: due %d ms off, epoch %d", when, p.DueMillis-due, p.Epoch)
		}
	}
}

// TestAStoreThatIsBehind: who waits gets the last answer, and when to come back, from a store that answered others lately
// but not this visitor. It is asked again. Newcomers, and those who wait for a store that is away or for whom the settings
// changed, are refused.
func TestAStoreThatIsBehind(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	refused := func(what string) {
		t.Helper()
		if a, err := r.Poll(t.Context(), v); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("%s: %+v, %v, want it refused", what, a, err)
		}
	}
	told := r.passes("", 0, v)
	r.clock.Forward(10 * time.Second)
	r.store.err = line.ErrStoreUnavailable
	for _, what := range []string{"at first", "again"} {
		a, asked := r.poll(v)
		if !asked || !a.Early || a.Status != line.Waiting || a.Position != told.Position || a.EstimateMillis > told.EstimateMillis-10_000 ||
			a.PeriodMillis < 1_000 || a.PeriodMillis > 20_000 || a.Place.DueMillis != v.DueMillis {
			t.Errorf("%s: asked %t, %+v, want what was told before: %+v", what, asked, a, told)
		}
		r.early("before its time", 300*milli, v)
		r.clock.Forward(time.Duration(a.PeriodMillis) * milli)
		r.store.err = nil
		r.passes("another, who is answered", 0, visitor(2))
		r.store.err = line.ErrStoreUnavailable
	}
	if _, err := r.Join(t.Context(), visitor(3).ID); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("a newcomer: %v", err)
	}
	r.clock.Forward(zones.AwayAfter)
	refused("the store is away")
	r.store.err = nil
	r.passes("the store is back", time.Second, v)
	r.store.err = line.ErrStoreUnavailable
	r.change(func(s *zone.Settings) { s.PerMinute = 7 })
	refused("the settings changed")
	r.store.err = nil
	r.passes("in the end", time.Second, v)
	r.clock.Forward(time.Minute)
	r.store.err = line.ErrStoreUnavailable
	refused("the last answer is old")
}

func TestAFloodIsRefused(t *testing.T) {
	t.Parallel()
	policies := guard.Policies()
	r, v := newRoom(t, policies...), visitor(1)
	r.store.says.PeriodMillis = 20_000
	r.passes("", 0, v)
	var burst int
	var refusal *guard.RefusedError
	for range 100 {
		r.clock.Forward(10 * milli)
		_, err := r.Poll(t.Context(), v)
		if errors.As(err, &refusal) {
			break
		}
		burst++
	}
	// The bucket holds 30, and 0.6 come back meanwhile.
	if burst != 30 || refusal.RetryMillis != 20_000-310 || refusal.RetryAfterSeconds() != 20 || !errors.Is(refusal, guard.ErrRefused) {
		t.Errorf("%d, then %+v", burst, refusal)
	}
	r.early("another has its own", time.Second, v)
	r.use()
	for range 100 {
		r.early("without the policy", milli, v)
	}
	r.use(limit.Policy{Name: guard.PollsToken, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 60}}})
	r.early("changed live", milli, v)
	if _, err := r.Poll(t.Context(), v); !errors.Is(err, guard.ErrRefused) {
		t.Error(err)
	}
}

// TestAFloodWithTwoPlacesIsRefused: whoever has given up two places must not reach the store with each poll by showing
// their tokens in turn.
func TestAFloodWithTwoPlacesIsRefused(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t, guard.Policies()...), visitor(1)
	anew := v
	anew.ArrivedAtMicros++
	r.store.says.Status = line.Gone
	r.passes("", 0, v)
	refused := 0
	for i := range 200 {
		r.clock.Forward(5 * milli)
		if _, err := r.Poll(t.Context(), []line.Place{anew, v}[i%2]); errors.Is(err, guard.ErrRefused) {
			refused++
		}
	}
	// The bucket holds 30, and 2 come back meanwhile.
	if asked := r.store.count(); asked > 33 || refused < 167 {
		t.Errorf("the store was asked %d times, and %d polls refused", asked, refused)
	}
	for i := range 200 {
		_ = r.Leave(t.Context(), []line.Place{anew, v}[i%2])
	}
	if r.store.left > 1 {
		t.Errorf("the store was told %d times that the visitor leaves", r.store.left)
	}
}

// TestFoundByTheID: one who repeats a join and knows the id alone is told the place that is remembered, whenever it asks.
func TestFoundByTheID(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	r.passes("", 0, v)
	by := line.Place{ID: v.ID, ArrivedAtMicros: line.AnyArrival}
	for _, after := range []time.Duration{0, 50 * milli, 2 * time.Second} {
		if a := r.early("by the id", after, by); a.Place.ArrivedAtMicros != v.ArrivedAtMicros || a.Place.DueMillis == 0 || a.Position != 100 {
			t.Errorf("%+v", a)
		}
	}
}
