package limit

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// KeyFunc returns the client's key and tier; "" for no tier. A request whose key is "" is
// not limited: for health checks and the like.
type KeyFunc func(r *http.Request) (key, tier string)

// ByIP counts by the client's address, of IPv6 by the network of 64 bits, which is
// one subscriber's. X-Forwarded-For counts as far as proxies in these networks wrote
// it. Without networks, the address is the connection's.
func ByIP(trusted ...netip.Prefix) KeyFunc {
	find := address.Finder(trusted)
	return func(r *http.Request) (key, tier string) { return address.Key(find(r)), "" }
}

// Option of a middleware.
type Option func(*options)

type options struct {
	maxWait time.Duration
	cost    func(r *http.Request) int64 // nil: 1
}

// MaxWait makes requests wait until they leave a LeakyBucket, each for at most d. Without
// MaxWait they go on at once. A request whose client hangs up while it waits is not
// served, and its permit is spent.
func MaxWait(d time.Duration) Option { return func(o *options) { o.maxWait = d } }

// Cost says how many permits a request takes: at least 1, and at most what every rule
// permits at once. It must not be the client's choice.
func Cost(of func(r *http.Request) int64) Option { return func(o *options) { o.cost = of } }

// Middleware lets requests through as a policy allows. A refused request gets 429. A
// mistake of the programmer, such as the name of a policy that does not exist, is logged,
// and the request gets 500. A request whose context ends before it is decided, or while it
// waits, gets 503.
func (l *Limiter) Middleware(policy string, key KeyFunc, with ...Option) func(http.Handler) http.Handler {
	var o options
	for _, option := range with {
		option(&o)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who, tier := key(r)
			if who == "" {
				next.ServeHTTP(w, r)
				return
			}
			q := Request{Policy: policy, Key: who, Tier: tier}
			if o.cost != nil {
				q.Cost = o.cost(r)
			}
			d, err := l.Allow(r.Context(), q)
			if err != nil {
				l.fail(w, r, policy, err)
				return
			}
			d.SetHeader(w.Header())
			if !d.Allowed {
				refuse(w, r, &d)
				return
			}
			if err := wait(r.Context(), min(d.Delay, o.maxWait)); err != nil {
				l.fail(w, r, policy, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// fail answers a request that could not be decided. It answers after the context has
// ended, too: the client may still be there, and without an answer net/http sends 200.
func (l *Limiter) fail(w http.ResponseWriter, r *http.Request, policy string, err error) {
	if r.Context().Err() != nil {
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		return
	}
	l.log.ErrorContext(r.Context(), "a request could not be limited", "policy", policy, "error", err)
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

func refuse(w http.ResponseWriter, r *http.Request, d *Decision) {
	body, h := d.Problem(), w.Header()
	h.Set("Content-Type", refusal.ContentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusTooManyRequests)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have hung up
	}
}

// wait waits, and returns the context's error if that ends before.
func wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
