package limit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/openqueue/waitingroom/limit"
)

// A service limits what one address may take.
func Example() {
	limits, err := limit.Open(context.Background(), limit.Options{
		// RedisURL: "redis://127.0.0.1:6379", for all servers together.
		Policies: []limit.Policy{{
			Name: "api",
			Rules: []limit.Rule{
				{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60},
				{Algorithm: limit.TokenBucket, Limit: 1, WindowSeconds: 1, Burst: 2},
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limits.Close() }()

	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux := http.NewServeMux()
	mux.Handle("/", limits.Middleware("api", limit.ByIP())(hello))

	for range 3 {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(answer.Code, answer.Header().Get("X-RateLimit-Remaining"), answer.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 1 "api.1";q=100;w=60, "api.2";q=2;w=1
	// 200 0 "api.1";q=100;w=60, "api.2";q=2;w=1
	// 429 0 "api.1";q=100;w=60, "api.2";q=2;w=1
}

// Where there is no HTTP, such as for jobs, ask.
func ExampleLimiter_Allow() {
	limits, err := limit.Open(context.Background(), limit.Options{Policies: []limit.Policy{{
		Name:  "exports",
		Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 10, WindowSeconds: 86_400}},
		Tiers: map[string][]limit.Rule{"pro": {{Algorithm: limit.FixedWindow, Limit: 1000, WindowSeconds: 86_400}}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limits.Close() }()

	for _, tier := range []string{"", "pro"} {
		d, err := limits.Allow(context.Background(), limit.Request{Policy: "exports", Key: "account:7", Tier: tier, Cost: 8})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining)
	}
	// Output:
	// true 2
	// true 992
}

// A key of one's own, from what was verified before: here by an earlier handler, which
// has put the account into the request's context.
func ExampleLimiter_Middleware() {
	limits, err := limit.Open(context.Background(), limit.Options{Policies: []limit.Policy{{
		Name:           "orders",
		Rules:          []limit.Rule{{Algorithm: limit.LeakyBucket, Limit: 50, WindowSeconds: 1, Burst: 20}},
		OnStoreFailure: limit.FailOpen,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limits.Close() }()

	type accountKey struct{}
	byAddress := limit.ByIP()
	byAccount := func(r *http.Request) (key, tier string) {
		if account, ok := r.Context().Value(accountKey{}).(string); ok {
			return "account:" + account, "member"
		}
		return byAddress(r)
	}
	// Requests leave evenly, one each 20 ms; none is kept for longer than 400 ms.
	limited := limits.Middleware("orders", byAccount, limit.MaxWait(400*time.Millisecond))
	orders := limited(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))

	request := httptest.NewRequest(http.MethodPost, "/orders", http.NoBody)
	answer := httptest.NewRecorder()
	orders.ServeHTTP(answer, request.WithContext(context.WithValue(request.Context(), accountKey{}, "7")))
	fmt.Println(answer.Code, answer.Header().Get("RateLimit"))
	// Output:
	// 201 "orders";r=20;t=1
}
