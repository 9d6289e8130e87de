package challenge

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spends is a store of what is spent, which counts its calls.
type spends struct {
	store.Spender

	mu    sync.Mutex
	spent map[string]bool
	calls int
}

func (s *spends) Spend(_ context.Context, key, _ string, life time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	first := !s.spent[key]
	if life > 0 {
		s.spent[key] = true
	}
	return first, nil
}

// meter counts outcomes.
type meter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (m *meter) Challenge(_, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[outcome]++
}

func (m *meter) told() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	m.seen = map[string]int{}
	return seen
}

// room is a desk and what it is made of.
type room struct {
	*Checker
	store   *spends
	meter   *meter
	zone    zone.Settings
	now     time.Time
	network string
	level   int
	press   int64
}

func newRoom(tb testing.TB, provider *Provider) *room {
	tb.Helper()
	keys, err := token.NewKeys(bytes.Repeat([]byte{'n'}, 32), bytes.Repeat([]byte{'o'}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	r := &room{
		store: &spends{spent: map[string]bool{}}, meter: &meter{seen: map[string]int{}}, zone: zone.Defaults("Z"), now: time.UnixMilli(1_795_223_373_123),
	}
	r.zone.Challenge = zone.ChallengeWork
	r.Checker = New(Options{Keys: keys, Spends: r.store, Provider: provider, Meter: r.meter, Now: func() time.Time { return r.now }})
	return r
}

func (r *room) join(clientID, shown string) Join {
	return Join{Zone: &r.zone, ClientID: clientID, Shown: shown, Network: r.network, Level: r.level, CountAttempt: func(cost int64) bool {
		r.press += cost
		return false
	}}
}

// required is the error of a join, which must be for the reason.
func (r *room) required(tb testing.TB, j Join, reason string) *RequiredError {
	tb.Helper()
	_, err := r.Check(tb.Context(), j)
	var required *RequiredError
	if !errors.As(err, &required) || required.Reason != reason || !errors.Is(err, ErrRequired) {
		tb.Fatalf("got %v, want the reason %s", err, reason)
	}
	return required
}

func (r *room) refused(tb testing.TB, j Join, reason string) {
	tb.Helper()
	if e := r.required(tb, j, reason); e.Work == nil && j.Zone.Challenge == zone.ChallengeWork {
		tb.Errorf("%s: without a new challenge", reason)
	}
}

// easy is a challenge of a few derivations for a client.
func (r *room) easy(tb testing.TB, clientID string) Work {
	tb.Helper()
	w := *r.required(tb, r.join(clientID, ""), ReasonRequired).Work
	w.Parameters.KeyPrefix = "0"
	return r.sign(w)
}

func (r *room) sign(w Work) Work {
	w.Signature = r.Keys.SignChallenge(w.Parameters.Data.Zone, w.Parameters.text())
	return w
}

func solved(tb testing.TB, w Work) string {
	tb.Helper()
	shown, err := Solve(tb.Context(), w)
	if err != nil {
		tb.Fatal(err)
	}
	return shown
}

// TestWork: what a solution is refused for, with the word for it, and that neither the store nor a derivation is needed for that.
func TestWork(t *testing.T) {
	t.Parallel()
	r, other := newRoom(t, &Provider{}), newRoom(t, &Provider{})
	foreign, err := token.NewKeys(bytes.Repeat([]byte{'f'}, 32))
	if err != nil {
		t.Fatal(err)
	}
	old, err := token.NewKeys(bytes.Repeat([]byte{'o'}, 32))
	if err != nil {
		t.Fatal(err)
	}
	w := r.easy(t, "c")
	good := solved(t, w)
	unsigned, changed, elsewhere, former := w, w, w, w
	unsigned.Signature = ""
	changed.Parameters.KeyPrefix = ""
	elsewhere.Parameters.Data.Zone = "OTHER"
	elsewhere = r.sign(elsewhere)
	other.Keys = foreign
	theirs := other.sign(w)
	former.Signature = old.SignChallenge("Z", w.Parameters.text())
	for name, tt := range map[string]struct{ client, shown, reason string }{
		"nothing":            {"c", "", ReasonRequired},
		"no base64":          {"c", "{}", ReasonMalformed},
		"no JSON":            {"c", base64.StdEncoding.EncodeToString([]byte("{")), ReasonMalformed},
		"nested":             {"c", base64.StdEncoding.EncodeToString([]byte(strings.Repeat(`{"a":`, 500))), ReasonMalformed},
		"a member twice":     {"c", base64.StdEncoding.EncodeToString([]byte(`{"challenge":{},"challenge":{}}`)), ReasonMalformed},
		"far too long":       {"c", strings.Repeat("A", MaxSolution), ReasonMalformed},
		"a v1 payload":       {"c", base64.StdEncoding.EncodeToString([]byte(`{"algorithm":"SHA-256","challenge":"ab","number":1}`)), ReasonMalformed},
		"unsigned":           {"c", solved(t, unsigned), ReasonUnknownKey},
		"made easier":        {"c", solved(t, changed), ReasonUnknownKey},
		"of another secret":  {"c", solved(t, theirs), ReasonUnknownKey},
		"of another zone":    {"c", solved(t, elsewhere), ReasonWrongZone},
		"of another visitor": {"d", good, ReasonWrongVisitor},
	} {
		before := r.press
		required := r.required(t, r.join(tt.client, tt.shown), tt.reason)
		if required.Work == nil || required.RetryAfterSeconds() != 0 || r.press != before {
			t.Errorf("%s: %+v, %d", name, required, r.press-before)
		}
	}
	if r.store.calls > 0 {
		t.Errorf("the store was asked %d times", r.store.calls)
	}
	r.meter.told()
	proof, err := r.Check(t.Context(), r.join("c", good))
	if err != nil || proof.ID != r.Keys.VisitorID("Z", "c") || proof.spent {
		t.Fatalf("%+v, %v", proof, err)
	}
	r.Spend(t.Context(), r.join("c", good), proof)
	if again, err := r.Check(t.Context(), r.join("c", good)); err != nil || !again.spent || again.ID != proof.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := r.Check(t.Context(), r.join("c", solved(t, r.resigned(t, old)))); err != nil {
		t.Errorf("of the secret before: %v", err)
	}
	if got := r.meter.told(); !maps.Equal(got, map[string]int{outSolved: 2, outRepeated: 1, ReasonRequired: 1}) {
		t.Errorf("metered %v", got)
	}
	r.now = r.now.Add(Life)
	r.refused(t, r.join("c", good), ReasonExpired)

	// A server that began anew, with the same secrets, takes what was made before, and knows what was spent.
	anew := newRoom(t, &Provider{})
	anew.Spends = r.store
	if p, err := anew.Check(t.Context(), anew.join("c", good)); err != nil || p.spent {
		t.Errorf("after a restart: %+v, %v", p, err)
	} else if used, err := anew.Used(t.Context(), anew.join("c", good), p); !used || err != nil {
		t.Errorf("after a restart, used is %t, %v", used, err)
	}
}

// resigned is a challenge that was signed before the secret was replaced.
func (r *room) resigned(tb testing.TB, keys *token.Keys) Work {
	tb.Helper()
	w := r.easy(tb, "c")
	w.Signature = keys.SignChallenge("Z", w.Parameters.text())
	return w
}

func must(tb testing.TB) func(string, error) string {
	tb.Helper()
	return func(s string, err error) string {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
}

// TestOneDerivationASolution: a wrong solution is checked once, and ends its challenge; who repeats it costs no derivation.
func TestOneDerivationASolution(t *testing.T) {
	t.Parallel()
	r := newRoom(t, &Provider{})
	w := r.easy(t, "c")
	w.Parameters.KeyPrefix = "0000000000000000" // that nobody finds
	w = r.sign(w)
	shown := must(t)(encode(payload{Challenge: w, Solution: &solution{Counter: 1}}))
	r.refused(t, r.join("c", shown), ReasonWrong)
	if r.press < wrongCost {
		t.Errorf("a wrong solution cost its address %d", r.press)
	}
	w.Parameters.Cost = 129 // no scrypt has that: a derivation would fail
	if r.seen.get(w.Parameters.Nonce, r.now) != wrong {
		t.Error("it is not known to be wrong")
	}
	r.refused(t, r.join("c", must(t)(encode(payload{Challenge: r.sign(w), Solution: &solution{Counter: 2}}))), ReasonWrong)
}

// TestLevels: the more an address asks for, the more its visitors have to work.
func TestLevels(t *testing.T) {
	t.Parallel()
	r := newRoom(t, &Provider{})
	for level, cost := range []int{128, 256, 512} {
		r.level = level
		if p := r.required(t, r.join("c", ""), ReasonRequired).Parameters; p.Cost != cost || p.MemoryCost != 11 {
			t.Errorf("level %d: %+v", level, p)
		}
	}
	for millis, blocks := range map[int64]int{zone.MinChallengeMillis: 6, zone.MaxChallengeMillis: 55} {
		r.zone.ChallengeMillis = millis
		if p := r.required(t, r.join("c", ""), ReasonRequired).Parameters; p.MemoryCost != blocks {
			t.Errorf("%d ms: %+v", millis, p)
		}
	}
}

// TestTooSlow: in a zone that gives browsers without scripts no place, a few that are too slow for the work take one without, where
// the network has taken little: always slowFloor in all, and then one in slowShare of the solutions; slowOfNetwork of a network.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	r := newRoom(t, &Provider{})
	r.zone.ChallengeWithoutScript = zone.WithoutScriptRefuse
	clients := 0
	// takes reports whether a new client takes a place without a solution. It was told whether it may.
	takes := func() bool {
		t.Helper()
		clients++
		client := strconv.Itoa(clients)
		asked := r.required(t, r.join(client, ""), ReasonRequired)
		shown := must(t)(Unsolved(*asked.Work))
		r.now = r.now.Add(SlowWait)
		for range 2 {
			if _, err := r.Check(t.Context(), r.join(client, shown)); (err == nil) != (asked.UnsolvedAfter == 45) {
				t.Fatalf("%+v: %v", asked, err)
			}
		}
		r.now = r.now.Add(-SlowWait)
		return asked.UnsolvedAfter > 0
	}
	take := func(most int) (n int) {
		for n < most && takes() {
			n++
		}
		return n
	}
	if n := take(100); n != slowOfNetwork {
		t.Errorf("%d of one network, want %d", n, slowOfNetwork)
	}
	in := func(from, upto int) (n int) {
		for i := from; i < upto; i++ {
			r.network = "192.0." + strconv.Itoa(i) + ".0/24"
			n += take(slowOfNetwork)
		}
		return n
	}
	if n := in(0, 50); n != slowFloor-slowOfNetwork {
		t.Errorf("%d of 50 other networks, want %d", n, slowFloor-slowOfNetwork)
	}
	const solutions = 30 * slowShare
	for i := range solutions {
		r.slow.solved("Z", r.now.Add(time.Duration(i)))
	}
	if n := in(50, 100); n != solutions/slowShare-slowFloor {
		t.Errorf("%d after %d solutions", n, solutions)
	}
	r.now = r.now.Add(slowSpan)
	if r.network, r.level = "198.51.100.0/24", 1; takes() {
		t.Error("a network that takes many places")
	}
	r.level = 0
	asked := r.required(t, r.join("soon", ""), ReasonRequired)
	r.now = r.now.Add(SlowWait - 20*time.Second)
	if again := r.required(t, r.join("soon", must(t)(Unsolved(*asked.Work))), ReasonRequired); *again.Work != *asked.Work || again.RetryAfterSeconds() != 20 {
		t.Errorf("too soon: %+v", again)
	}
}

// TestSolvedInAdvance: challenges that were asked for while the network had taken little are no good once it has taken much.
func TestSolvedInAdvance(t *testing.T) {
	t.Parallel()
	r := newRoom(t, &Provider{})
	shown := solved(t, r.easy(t, "c"))
	for level, want := range []string{"", "", ReasonExpired} {
		r.level = level
		_, err := r.Check(t.Context(), r.join("c", shown))
		if required := new(RequiredError); want != "" && (!errors.As(err, &required) || required.Reason != want) || want == "" && err != nil {
			t.Errorf("level %d: %v, want %q", level, err, want)
		}
	}
}

// TestQueue: who comes when the queue is full is told to come again, those who ask for much earlier than others; one who gives up
// leaves it.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue{slots: make(chan struct{}, 1)}
		q.slots <- struct{}{} // one is under way
		w := Parameters{Cost: 2, MemoryCost: 1, Parallelism: 1, KeyLength: 8}
		var all sync.WaitGroup
		ended, end := context.WithCancel(t.Context())
		fill := func(n int) {
			for range n {
				all.Go(func() {
					if right, err := q.check(ended, &w, 1, false); !right && !errors.Is(err, context.Canceled) {
						t.Errorf("%t, %v", right, err)
					}
				})
			}
			synctest.Wait()
		}
		busy := func(what string, othersFirst bool) {
			if _, err := q.check(ended, &w, 1, othersFirst); !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %v", what, err)
			}
		}
		fill(maxQueued / 8)
		busy("an eighth", true)
		fill(maxQueued - maxQueued/8)
		busy("full", false)
		end()
		all.Wait()
		<-q.slots
		if right, err := q.check(t.Context(), &w, 1, true); !right || err != nil {
			t.Errorf("an empty queue: %t, %v", right, err)
		}
	})
}

// TestSeenIsBounded: a crowd of challenges fills no memory, and the newest are known.
func TestSeenIsBounded(t *testing.T) {
	t.Parallel()
	var s seen
	now := time.UnixMilli(1_795_223_373_123)
	key := func(n int) string { return string([]byte{byte(n >> 16), byte(n >> 8), byte(n)}) }
	for n := range 3 * maxSeen {
		s.set(key(n), right, now)
	}
	if len(s.states) > maxSeen || s.get(key(3*maxSeen-1), now) != right || s.get(key(0), now) != unseen {
		t.Errorf("%d are remembered", len(s.states))
	}
	if s.set("a", right, now.Add(2*Life)); s.get("a", now.Add(2*Life)) != right {
		t.Error("the newest is not known")
	}
}

// TestSolveStops: with its context.
func TestSolveStops(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := Solve(ctx, Work{Parameters: newParameters("Z", line.ID{}, 5_000, 2, time.Now())}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Solve(t.Context(), Work{Parameters: Parameters{Nonce: "x"}}); err == nil {
		t.Error("what cannot be read was solved")
	}
}

func BenchmarkCheck(b *testing.B) {
	r := newRoom(b, &Provider{})
	w := r.easy(b, "c")
	good := solved(b, w)
	changed := w
	changed.Parameters.Salt = strings.Repeat("0", 32)
	late := newRoom(b, &Provider{})
	late.now = r.now.Add(Life)
	for name, bench := range map[string]struct {
		r     *room
		shown string
	}{
		"asked": {r, ""}, "forged": {r, must(b)(encode(payload{Challenge: changed, Solution: &solution{}}))},
		"expired": {late, good}, "again": {r, good}, "longest": {r, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(`{"a":`, 300)))},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = bench.r.Check(b.Context(), bench.r.join("c", bench.shown))
			}
		})
	}
}

func BenchmarkDerive(b *testing.B) {
	for _, millis := range []int64{zone.MinChallengeMillis, zone.DefaultChallengeMillis, zone.MaxChallengeMillis} {
		p := newParameters("Z", line.ID{}, millis, 0, time.Now())
		b.Run(time.Duration(millis*int64(time.Millisecond)).String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.derives(1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(4096*b.Elapsed().Seconds()/float64(b.N), "s/solution")
		})
	}
}
