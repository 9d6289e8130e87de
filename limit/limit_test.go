package limit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func open(tb testing.TB, o limit.Options) *limit.Limiter {
	tb.Helper()
	l, err := limit.Open(tb.Context(), o)
	must(tb, err)
	tb.Cleanup(func() { must(tb, l.Close()) })
	return l
}

// fiveASecond has tiers, and is exact.
var fiveASecond = limit.Policy{
	Name:  "api",
	Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 5, WindowSeconds: 1}},
	Tiers: map[string][]limit.Rule{"pro": {{Algorithm: limit.TokenBucket, Limit: 50, WindowSeconds: 1, Burst: 10}}},
}

func TestAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, limit.Options{Policies: []limit.Policy{fiveASecond}})
		ask := func(key, tier string, cost int64) limit.Decision {
			t.Helper()
			d, err := l.Allow(t.Context(), limit.Request{Policy: "api", Key: key, Tier: tier, Cost: cost})
			must(t, err)
			return d
		}
		for i := range int64(5) {
			if d := ask("a", "", 0); !d.Allowed || d.Remaining != 4-i || d.Source != limit.SourceStore || d.RetryAfter != 0 {
				t.Errorf("%d: %+v", i, d)
			}
		}
		<-time.After(300 * time.Millisecond)
		if d := ask("a", "", 1); d.Allowed || d.RetryAfter != 700*time.Millisecond || d.Remaining != 0 {
			t.Errorf("the sixth: %+v", d)
		}
		if d := ask("a", "", 2); d.Allowed || d.RetryAfter != 700*time.Millisecond || d.Source != limit.SourceMemory || d.Remaining != 0 {
			t.Errorf("the seventh, from memory: %+v", d)
		}
		if d := ask("a", "pro", 10); !d.Allowed || d.Remaining != 0 {
			t.Errorf("another tier: %+v", d)
		}
		long := strings.Repeat("k", 10_000)
		if a, b := ask(long+"a", "", 5), ask(long+"b", "", 5); !a.Allowed || !b.Allowed {
			t.Errorf("long keys: %+v %+v", a, b)
		}
		<-time.After(700 * time.Millisecond)
		if d := ask("a", "", 5); !d.Allowed {
			t.Errorf("at the moment that was told: %+v", d)
		}
		for _, tt := range []struct {
			request limit.Request
			want    error
		}{
			{limit.Request{Policy: "none", Key: "a"}, limit.ErrPolicyUnknown},
			{limit.Request{Policy: "api"}, limit.ErrKey},
			{limit.Request{Policy: "api", Key: "a", Cost: 6}, limit.ErrCost},
			{limit.Request{Policy: "api", Key: "a", Cost: -1}, limit.ErrCost},
			{limit.Request{Policy: "api", Key: "a", Cost: math.MinInt64}, limit.ErrCost},
		} {
			if _, err := l.Allow(t.Context(), tt.request); !errors.Is(err, tt.want) {
				t.Errorf("%+v: %v, want %v", tt.request, err, tt.want)
			}
		}
	})
}

func TestPoliciesThatAreWrong(t *testing.T) {
	t.Parallel()
	change := func(f func(*limit.Policy)) []limit.Policy {
		p := limit.Policy{Name: "api", Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 5, WindowSeconds: 1}}}
		f(&p)
		return []limit.Policy{p}
	}
	for name, policies := range map[string][]limit.Policy{
		"no name":          change(func(p *limit.Policy) { p.Name = "" }),
		"no rules":         change(func(p *limit.Policy) { p.Rules = nil }),
		"no algorithm":     change(func(p *limit.Policy) { p.Rules[0].Algorithm = "" }),
		"no window":        change(func(p *limit.Policy) { p.Rules[0].WindowSeconds = 0 }),
		"an empty tier":    change(func(p *limit.Policy) { p.Tiers = map[string][]limit.Rule{"a": nil} }),
		"a failure policy": change(func(p *limit.Policy) { p.OnStoreFailure = "maybe" }),
		"twice":            append(change(func(*limit.Policy) {}), change(func(*limit.Policy) {})...),
	} {
		if _, err := limit.Open(t.Context(), limit.Options{Policies: policies}); !errors.Is(err, limit.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := open(t, limit.Options{Policies: []limit.Policy{fiveASecond}})
	if err := l.SetPolicies(change(func(p *limit.Policy) { p.Rules = nil })...); !errors.Is(err, limit.ErrInvalid) {
		t.Errorf("set: %v", err)
	}
	if _, err := l.Allow(t.Context(), limit.Request{Policy: "api", Key: "a"}); err != nil {
		t.Errorf("a change that failed changed something: %v", err)
	}
	must(t, l.SetPolicies())
	if _, err := l.Allow(t.Context(), limit.Request{Policy: "api", Key: "a"}); !errors.Is(err, limit.ErrPolicyUnknown) {
		t.Errorf("a policy that is no more: %v", err)
	}
}

// serve asks a handler, as from address 192.0.2.1.
func serve(h http.Handler, method string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/orders", http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

func TestMiddleware(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(t, limit.Options{Policies: []limit.Policy{fiveASecond}})
		trusted := netip.MustParsePrefix("192.0.2.0/24")
		h := l.Middleware("api", limit.ByIP(trusted))(ok)
		for range 5 {
			w := serve(h, http.MethodGet, "X-Forwarded-For", "203.0.113.9")
			if w.Code != http.StatusNoContent || w.Header().Get("RateLimit-Policy") != `"api";q=5;w=1` {
				t.Errorf("%d %v", w.Code, w.Header())
			}
		}
		// The client writes what it likes, and the proxy adds who it is.
		w := serve(h, http.MethodGet, "X-Forwarded-For", "1.2.3.4, 203.0.113.9")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" ||
			w.Header().Get("RateLimit") != `"api";r=0;t=1` || w.Header().Get("X-RateLimit-Remaining") != "0" ||
			w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), `"code":"rate_limited"`) {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if w := serve(h, http.MethodHead, "X-Forwarded-For", "203.0.113.9"); w.Code != http.StatusTooManyRequests || w.Body.Len() != 0 {
			t.Errorf("HEAD: %d %q", w.Code, w.Body)
		}
		if w := serve(h, http.MethodGet, "X-Forwarded-For", "203.0.113.10"); w.Code != http.StatusNoContent {
			t.Errorf("another client: %d", w.Code)
		}
		// Nobody's word is taken where nobody is trusted.
		h = l.Middleware("api", limit.ByIP())(ok)
		for i := range 6 {
			if w := serve(h, http.MethodGet, "X-Forwarded-For", string(rune('1'+i))+".1.1.1"); (w.Code == http.StatusNoContent) != (i < 5) {
				t.Errorf("%d: %d", i, w.Code)
			}
		}
	})
}

func TestMiddlewareByAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	l := open(t, limit.Options{Policies: []limit.Policy{fiveASecond}})
	key := func(r *http.Request) (key, tier string) { return r.Header.Get("Key"), r.Header.Get("Tier") }
	cost := func(r *http.Request) int64 { return int64(len(r.Header.Get("Cost"))) }
	h := l.Middleware("api", key, limit.Cost(cost))(ok)
	for i, tt := range []struct {
		key, tier, cost string
		status          int
	}{
		{"a", "", "xxxxx", 204},
		{"a", "", "x", 429},
		{"a", "pro", "xxxxxxxxxx", 204},
		{"", "", "xxxxxxxxxxxxxxxxx", 204}, // not limited
		{"b", "", "xxxxxx", 500},           // what can never be allowed
	} {
		if w := serve(h, http.MethodGet, "Key", tt.key, "Tier", tt.tier, "Cost", tt.cost); w.Code != tt.status {
			t.Errorf("%d: %d", i, w.Code)
		}
	}
}

// TestMaxWait: a leaky bucket's requests leave one by one, and none waits longer than
// is allowed.
func TestMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(t, limit.Options{Policies: []limit.Policy{{
			Name: "even", Rules: []limit.Rule{{Algorithm: limit.LeakyBucket, Limit: 10, WindowSeconds: 1, Burst: 9}},
		}}})
		h := l.Middleware("even", limit.ByIP(), limit.MaxWait(350*time.Millisecond))(ok)
		for i := range 11 {
			begun := time.Now()
			w := serve(h, http.MethodGet)
			waited, status := time.Since(begun), w.Code
			// Each waits for those before it, which is at most 100 ms after the last.
			if want := 100 * time.Millisecond; i > 0 && (status != http.StatusNoContent || waited != want) || i == 0 && waited != 0 {
				t.Errorf("%d: %d after %v", i, status, waited)
			}
		}
		<-time.After(time.Second)
		// All at once: the tenth is told 900 ms, and waits 350.
		slowest := make(chan time.Duration, 10)
		for range 10 {
			go func() {
				begun := time.Now()
				serve(h, http.MethodGet)
				slowest <- time.Since(begun)
			}()
		}
		longest := time.Duration(0)
		for range 10 {
			longest = max(longest, <-slowest)
		}
		if longest != 350*time.Millisecond {
			t.Errorf("the longest wait is %v", longest)
		}
		// Who hangs up goes nowhere.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		gone := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, gone)
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("one who hung up was answered %d", w.Code)
		}
		// So does who runs into a deadline while it waits; and that one hears the answer.
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		serve(h, http.MethodGet)
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one whose time was over was answered %d", w.Code)
		}
	})
}

func TestMiddlewareLogsWhatAProgrammerGotWrong(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	l := open(t, limit.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if w := serve(l.Middleware("none", limit.ByIP())(ok), http.MethodGet); w.Code != http.StatusInternalServerError {
		t.Errorf("%d", w.Code)
	}
	if !strings.Contains(logs.String(), "policy=none") {
		t.Errorf("%s", &logs)
	}
}

// TestAWaitOfAgesIsNotNegative: a bucket that is as large and as slow as a policy
// allows takes longer to come back than a time.Duration can hold. What is remembered
// of it ends after 34 years.
func TestAWaitOfAgesIsNotNegative(t *testing.T) {
	t.Parallel()
	slow := limit.Rule{Algorithm: limit.TokenBucket, Limit: 1, WindowSeconds: 86_400, Burst: 10_000_000}
	l := open(t, limit.Options{Policies: []limit.Policy{{Name: "slow", Rules: []limit.Rule{slow}}}})
	all := limit.Request{Policy: "slow", Key: "k", Cost: slow.Burst}
	if d, err := l.Allow(t.Context(), all); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	if d, err := l.Allow(t.Context(), all); err != nil || d.Allowed || d.RetryAfter < 34*365*24*time.Hour {
		t.Errorf("%v to wait, %v", d.RetryAfter, err)
	}
}
