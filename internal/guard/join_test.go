package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// asked is a limiter that allows everything and notes what it was asked.
type asked struct{ keys []string }

func (a *asked) Check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	return a.CheckAll(ctx, q)
}

func (a *asked) CheckAll(_ context.Context, questions ...limiter.Question) (limiter.Answer, error) {
	for _, q := range questions {
		a.keys = append(a.keys, q.Policy+" "+q.Key)
	}
	return limiter.Answer{Verdict: limit.Verdict{Allowed: true}}, nil
}

// ip is an address, or the zero value for a text that is none.
func ip(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// byAddress are the questions about one who is a part of the test's zone.
func byAddress(line, network string) []string {
	return []string{"joins-zone zone:" + zoneID + "/ip:" + line, "joins-address ip:" + network}
}

func TestWhoIsCounted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from  guard.Newcomer
		asked []string
		seen  string
		warns bool
	}{
		"a subscriber": {guard.Newcomer{Address: ip("203.0.113.9")}, byAddress("203.0.113.9", "203.0.113.9"), "", false},
		"what the body says is nobody's proof": {
			guard.Newcomer{Address: ip("203.0.113.9"), ClientIP: ip("192.0.2.1")}, byAddress("203.0.113.9", "203.0.113.9"), "", false,
		},
		"a network of IPv6": {guard.Newcomer{Address: ip("2001:db8:1:2:3:4:5:6")}, byAddress("2001:db8:1::/56", "2001:db8:1:2::/64"), "", false},
		"IPv4 within IPv6":  {guard.Newcomer{Address: ip("::ffff:203.0.113.9")}, byAddress("203.0.113.9", "203.0.113.9"), "", false},
		"with a clientId": {
			guard.Newcomer{ClientID: "c", Address: ip("203.0.113.9")},
			append([]string{"joins-client client:" + zoneID + "/c"}, byAddress("203.0.113.9", "203.0.113.9")...), "", false,
		},
		"this machine":       {guard.Newcomer{Address: ip("127.0.0.1")}, nil, "unlimited private", false},
		"a proxy here":       {guard.Newcomer{Address: ip("127.0.0.1"), Forwarded: true}, nil, "unlimited private", true},
		"a private network":  {guard.Newcomer{Address: ip("10.1.2.3")}, nil, "unlimited private", true},
		"a unique local one": {guard.Newcomer{Address: ip("fd00::1")}, nil, "unlimited private", true},
		"a link":             {guard.Newcomer{Address: ip("fe80::1%eth0")}, nil, "unlimited private", true},
		"a shared space":     {guard.Newcomer{Address: ip("100.64.3.4")}, nil, "unlimited private", true},
		"no address":         {guard.Newcomer{Address: ip("@")}, nil, "unlimited private", true},
		"a proxy of ours":    {guard.Newcomer{Address: ip("198.51.100.1"), Forwarded: true}, nil, "unlimited trusted", true},
		"a proxy that passes on what a visitor writes": {guard.Newcomer{Address: ip("198.51.100.1"), ClientIP: ip("203.0.113.9")}, nil, "unlimited trusted", true},
		"a backend of ours":                            {guard.Newcomer{Address: ip("192.0.2.200"), ClientIP: ip("203.0.113.9")}, byAddress("203.0.113.9", "203.0.113.9"), "", false},
		"it says a private one":                        {guard.Newcomer{Address: ip("192.0.2.200"), ClientIP: ip("10.0.0.1")}, nil, "unlimited trusted", true},
		"it says nothing":                              {guard.Newcomer{Address: ip("192.0.2.200")}, nil, "unlimited trusted", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom()
			var a asked
			r.guard = r.behind(&a)
			for range 2 {
				parts.Must(t, r.admits(t.Context(), tt.from))
			}
			if want := append(slices.Clone(tt.asked), tt.asked...); !slices.Equal(a.keys, want) {
				t.Errorf("asked %q, want %q", a.keys, want)
			}
			seen := strings.Join(slices.Compact(r.meter.seen), ", ")
			if n := strings.Count(r.logs.String(), "X-Forwarded-For"); seen != tt.seen || n != map[bool]int{true: 1}[tt.warns] {
				t.Errorf("counted %q, want %q; warned %d times:\n%s", seen, tt.seen, n, r.logs)
			}
		})
	}
}

func TestALongClientID(t *testing.T) {
	t.Parallel()
	r := newRoom()
	var a asked
	r.guard = r.behind(&a)
	r.zone.ZoneID = strings.Repeat("z", 64)
	for _, id := range []string{strings.Repeat("x", 256), strings.Repeat("x", 255) + "y"} {
		parts.Must(t, r.admits(t.Context(), guard.Newcomer{ClientID: id, Address: ip("127.0.0.1")}))
	}
	if len(a.keys) != 2 || a.keys[0] == a.keys[1] || len(a.keys[0]) > limiter.MaxKey {
		t.Errorf("%q", a.keys)
	}
}

// TestASchoolJoins: a thousand at once and more soon, of whom none is turned away
// for longer than the policy says.
func TestASchoolJoins(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	r.zone.PerMinute = 20_000 // of 6,000 or fewer, the school gets its share
	joined, refused := 0, 0
	var worst int64
	for i := range 1200 {
		err := r.admits(t.Context(), guard.Newcomer{ClientID: fmt.Sprint(i), Address: ip("203.0.113.9")})
		var refusal *guard.RefusedError
		switch {
		case err == nil:
			joined++
		case errors.As(err, &refusal):
			refused++
			worst = max(worst, refusal.RetryMillis)
		default:
			t.Fatal(err)
		}
	}
	// 100 ms to the next permit, and up to 3 s so that not all come in that moment.
	if joined != 1000 || refused != 200 || worst < 1000 || worst >= 3100 {
		t.Errorf("%d joined, %d refused for up to %d ms", joined, refused, worst)
	}
	r.clock.Forward(20 * time.Second)
	for i := range 200 {
		if err := r.admits(t.Context(), guard.Newcomer{ClientID: fmt.Sprint(1000 + i), Address: ip("203.0.113.9")}); err != nil {
			t.Fatalf("the %dth of the others: %v", i, err)
		}
	}
	if err := r.admits(t.Context(), guard.Newcomer{Address: ip("203.0.113.10")}); err != nil {
		t.Error("an address beside it:", err)
	}
}

func TestARepeatedJoin(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	n := guard.Newcomer{ClientID: "c", Address: ip("127.0.0.1")}
	for range 10 {
		parts.Must(t, r.admits(t.Context(), n))
	}
	var refusal *guard.RefusedError
	if err := r.admits(t.Context(), n); !errors.As(err, &refusal) || refusal.RetryMillis != 3_000 {
		t.Errorf("%v", err)
	}
	r.zone.ZoneID = "OTHER"
	if err := r.admits(t.Context(), n); err != nil {
		t.Error("in another zone:", err)
	}
}

// TestForwardedJoinsThatAreRefused may be a crowd behind a CDN that nobody named.
func TestForwardedJoinsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRoom(limit.Policy{Name: guard.JoinsAddress, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 60}}})
	join := func(n guard.Newcomer) { _ = r.admits(t.Context(), n) }
	for range 3 {
		join(guard.Newcomer{Address: ip("203.0.113.9")})
	}
	if len(r.meter.seen) > 0 || r.logs.Len() > 0 {
		t.Errorf("not forwarded: %q, %s", r.meter.seen, r.logs)
	}
	for range 3 {
		join(guard.Newcomer{Address: ip("203.0.113.10"), Forwarded: true})
	}
	if n := strings.Count(r.logs.String(), "203.0.113.10"); n != 1 || len(r.meter.seen) != 2 {
		t.Errorf("%q, warned %d times:\n%s", r.meter.seen, n, r.logs)
	}
}

// failing is a limiter that cannot say.
type failing struct{ err error }

func (f failing) Check(context.Context, limiter.Question) (limiter.Answer, error) {
	return limiter.Answer{}, f.err
}

func (f failing) CheckAll(context.Context, ...limiter.Question) (limiter.Answer, error) {
	return limiter.Answer{}, f.err
}

func TestALimiterThatFails(t *testing.T) {
	t.Parallel()
	r := newRoom()
	r.guard = r.behind(failing{errors.New("out of order")})
	n := guard.Newcomer{ClientID: "c", Address: ip("203.0.113.9")}
	if err := r.admits(t.Context(), n); err != nil || !strings.Contains(r.logs.String(), "out of order") {
		t.Errorf("%v, %s", err, r.logs)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.admits(ended, n); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	var b limit.PolicySet
	for _, p := range guard.Policies() {
		b = b.Put(p)
	}
	if err := b.Validate(); err != nil || len(b.Policies) != 5 {
		t.Errorf("%d policies, %v", len(b.Policies), err)
	}
}

// TestAnAddressThatShowsMuch: others go first when an address shows more than 200 solutions at once, of which a wrong one counts as
// many, until a while later. Where there is no address, nobody goes first.
func TestAnAddressThatShowsMuch(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	n := guard.Newcomer{Address: ip("203.0.113.9")}
	press := func(times int, cost int64) (othersFirst bool) {
		for range times {
			othersFirst = r.guard.CountAttempt(t.Context(), n, cost)
		}
		return othersFirst
	}
	for i, step := range []struct {
		times int
		cost  int64
		after time.Duration
		want  bool
	}{{200, 1, 0, false}, {1, 1, 0, true}, {1, 1, 2 * time.Minute, false}, {20, 20, 0, true}} {
		r.clock.Forward(step.after)
		if got := press(step.times, step.cost); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	n.Address = ip("203.0.113.10")
	if press(1, 1) {
		t.Error("others go before a neighbour")
	}
	n.Address = ip("10.1.2.3")
	if press(1_000, 1) || len(r.meter.seen) > 0 {
		t.Errorf("a private address: others go first, %q", r.meter.seen)
	}
	r.use() // an operator has deleted the policy
	n.Address = ip("203.0.113.9")
	if press(1_000, 1) {
		t.Error("without a policy, others go first")
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	r := newRoom()
	for n, want := range map[guard.Newcomer]bool{
		{Address: ip("192.0.2.200"), ClientID: "member-4711"}:        true,
		{Address: ip("::ffff:192.0.2.200"), ClientID: "member-4711"}: true,
		{Address: ip("192.0.2.200")}:                                 false,
		{Address: ip("198.51.100.1"), ClientID: "c"}:                 false,
		{Address: ip("203.0.113.9"), ClientID: "c", Forwarded: true}: false,
		{ClientID: "c", ClientIP: ip("192.0.2.200")}:                 false,
	} {
		if got := r.guard.Named(n); got != want {
			t.Errorf("%+v: %t", n, got)
		}
	}
}

// TestExchange: a pass is shown to the store thirty times at once, and each pass for itself.
func TestExchange(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	for i := range 31 {
		if err := r.guard.Exchange(t.Context(), [16]byte{1}); errors.Is(err, guard.ErrRefused) != (i == 30) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := r.guard.Exchange(t.Context(), [16]byte{2}); err != nil {
		t.Error(err)
	}
}
