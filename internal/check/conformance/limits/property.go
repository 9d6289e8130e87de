// Package limits holds the stores of limits to plain models: what one would
// write down to say what each algorithm means, and compute slowly.
package limits

import (
	"context"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// Store is what is held to the models.
type Store interface {
	Allow(ctx context.Context, q limit.Request) (limit.Verdict, error)
}

// client is one key of the models.
type client struct {
	policy, subject string
	rules           []*model
}

func (c *client) request(cost int64) limit.Request {
	q := limit.Request{Policy: c.policy, Tier: "t", Subject: c.subject, Cost: cost}
	for _, m := range c.rules {
		q.Rules = append(q.Rules, m.rule)
	}
	return q
}

// most is the largest cost that can be allowed.
func (c *client) most() int64 {
	least := c.rules[0].rule.Permits()
	for _, m := range c.rules {
		least = min(least, m.rule.Permits())
	}
	return least
}

// Property drives a store with random requests of several clients under several
// rules, on a clock that passes, leaps and is set back, while limits are changed;
// and compares every verdict with the models'. The retry of a refusal is held to the
// millisecond. open opens a store that forgets nothing but by the clock it is given.
func Property(t *testing.T, open func(t conformance.TB, now func() time.Time) Store) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		w := &fixture{T: t, clock: conformance.NewClock()}
		w.store = open(t, w.clock.Now)
		for i := range rapid.IntRange(1, 3).Draw(t, "clients") {
			c := &client{policy: "p", subject: string(rune('a' + i))}
			for range rapid.IntRange(1, 3).Draw(t, "rules") {
				c.rules = append(c.rules, &model{rule: drawRule(t, len(c.rules))})
			}
			w.clients = append(w.clients, c)
		}
		t.Repeat(map[string]func(*rapid.T){
			"take":   w.take,
			"take a": w.take, // more often than the others
			"take b": w.take,
			"drain":  w.drain,
			"pass":   w.pass,
			"leap":   w.leap,
			"change": w.change,
		})
	})
}

// drawRule draws the i-th rule of a client: no two count alike.
func drawRule(t *rapid.T, i int) limit.Rule {
	r := limit.Rule{
		Algorithm:     rapid.SampledFrom(limit.Algorithms).Draw(t, "algorithm"),
		WindowSeconds: int64(rapid.SampledFrom([]int{1, 7, 60, 86_394}).Draw(t, "window") + i),
	}
	r.Limit, r.Burst = drawLimit(t, r.Algorithm)
	return r
}

func drawLimit(t *rapid.T, a limit.Algorithm) (limits, burst int64) {
	sizes := rapid.OneOf(rapid.Int64Range(1, 12), rapid.Int64Range(1, a.MaxLimit()))
	limits = sizes.Draw(t, "limit")
	if a.HasBurst() {
		burst = rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(0, limit.MaxLimit)).Draw(t, "burst")
	}
	return limits, burst
}

// fixture is a store, its clock, and the models.
type fixture struct {
	*rapid.T
	clock   *conformance.Clock
	store   Store
	clients []*client
}

func (w *fixture) now() int64 { return w.clock.Now().UnixMilli() }

func (w *fixture) ask(t *rapid.T, c *client, cost int64) limit.Verdict {
	q := c.request(cost)
	got, err := w.store.Allow(t.Context(), q)
	if err != nil {
		t.Fatalf("take %d of %s: %v", cost, c.subject, err)
	}
	want := decide(c.rules, w.now(), cost)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("take %d of %s at %d under %+v:\ngot  %+v\nwant %+v",
			cost, c.subject, w.now(), c.request(cost).Rules, got, want)
	}
	return got
}

func (w *fixture) draw(t *rapid.T) (*client, int64) {
	c := rapid.SampledFrom(w.clients).Draw(t, "client")
	most := c.most()
	return c, rapid.OneOf(rapid.Int64Range(1, min(3, most)), rapid.Int64Range(1, most)).Draw(t, "cost")
}

func (w *fixture) take(t *rapid.T) {
	c, cost := w.draw(t)
	w.ask(t, c, cost)
}

// soon is a retry that the clock can be set to, again and again, and still show a
// date: half a year, in milliseconds.
const soon = 1 << 34

// drain asks until there is a refusal; then a millisecond before the retry is due,
// and when it is.
func (w *fixture) drain(t *rapid.T) {
	c, cost := w.draw(t)
	for range 20 {
		v := w.ask(t, c, cost)
		if v.Allowed {
			continue
		}
		if v.RetryMillis > soon {
			return
		}
		w.clock.Add(time.Duration(v.RetryMillis-1) * time.Millisecond)
		if early := w.ask(t, c, cost); early.Allowed || early.RetryMillis != 1 {
			t.Fatalf("a millisecond before the retry of %+v: %+v", v, early)
		}
		w.clock.Add(time.Millisecond)
		if due := w.ask(t, c, cost); !due.Allowed {
			t.Fatalf("at the retry of %+v: %+v", v, due)
		}
		return
	}
}

// pass lets time pass: often none, or to where a window of the clock meets the next.
func (w *fixture) pass(t *rapid.T) {
	r := rapid.SampledFrom(w.clients).Draw(t, "client").rules[0]
	window := r.window()
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		w.clock.Add(time.Duration(rapid.Int64Range(0, 20).Draw(t, "ms")) * time.Millisecond)
	case 1:
		w.clock.Add(time.Duration(rapid.Int64Range(0, 3*window).Draw(t, "ms")) * time.Millisecond)
	default:
		now := w.now()
		at := r.begun(now) + window + rapid.Int64Range(-1, 1).Draw(t, "around")
		w.clock.Add(time.Duration(at-now) * time.Millisecond)
	}
}

// leap sets the clock, by a little or a lot, forward or back.
func (w *fixture) leap(t *rapid.T) {
	window := rapid.SampledFrom(w.clients).Draw(t, "client").rules[0].window()
	by := rapid.OneOf(
		rapid.Int64Range(-20, -1), rapid.Int64Range(-window-1, -window+1), rapid.Int64Range(-3*window, 3*window),
		rapid.Int64Range(-100_000_000, 100_000_000),
	).Draw(t, "ms")
	w.clock.Add(time.Duration(by) * time.Millisecond)
}

// change gives a rule of a client another limit, as an operator does.
func (w *fixture) change(t *rapid.T) {
	c := rapid.SampledFrom(w.clients).Draw(t, "client")
	m := rapid.SampledFrom(c.rules).Draw(t, "rule")
	limits, burst := drawLimit(t, m.rule.Algorithm)
	m.change(limits, burst)
}
