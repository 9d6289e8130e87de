package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/limit"
)

// limitsHTTP is what the limits' listener shows.
type limitsHTTP struct {
	// decisions are of clients who are allowed, by algorithm, on Redis.
	decisions series
	// refusals are of clients who are known to be refused, beside bare echo.
	refusals series
}

const (
	// httpClients are those who are allowed, httpRefused those who are not.
	httpClients, httpRefused = 10_000, 1_000
	// httpPlenty is a limit that nobody reaches; httpWindow is long enough that a
	// log grows to what an eager client's has.
	httpPlenty, httpWindow = 5_000, 10
	refusals               = "refused, from memory"
)

// limitsFile is the part of a configuration that has the measured policies.
func limitsFile() []byte {
	text := []byte("limits:\n")
	for _, a := range limit.Algorithms {
		burst := 0
		if a == limit.LeakyBucket {
			burst = httpPlenty
		}
		text = fmt.Appendf(text, "  - {name: allow-%s, rules: [{algorithm: %s, limit: %d, windowSeconds: %d, burst: %d}]}\n",
			a, a, httpPlenty, httpWindow, burst)
	}
	return fmt.Appendf(text, "  - {name: refuse, rules: [{algorithm: %s, limit: 1, windowSeconds: 86400}]}\n", limit.SlidingLog)
}

// checks ask for clients at random.
type checks struct {
	clients int
	text    []byte
	at      int // where the client's number lies in the request
}

// checkDigits is how long a client's number is.
const checkDigits = 6

func newChecks(policy string, clients int) checks {
	placeholder := bytes.Repeat([]byte{'x'}, checkDigits)
	text := post("/limits/"+policy+"/check", fmt.Sprintf(`{"key":"member:%s"}`, placeholder))
	return checks{clients: clients, text: text, at: bytes.Index(text, placeholder)}
}

func (v checks) request() []byte { return v.text }

func (v checks) begin(c *client, rng *rand.Rand) {
	n := rng.IntN(v.clients)
	for i := v.at + checkDigits - 1; i >= v.at; i-- {
		c.request[i] = byte('0' + n%10)
		n /= 10
	}
}

func (checks) end(int, []byte) error { return nil }

// gateOf is the limits' listener of a server.
func gateOf(c *contender) *contender {
	p := *c.process
	p.addr = p.limits
	return &contender{process: &p, conns: c.conns}
}

// limitsOverHTTP measures the limits' listener.
func (b *bench) limitsOverHTTP(ctx context.Context) (err error) {
	b.progress.begin("decisions over HTTP")
	gate := gateOf(b.room(onRedis))
	var all []turn
	for _, a := range limit.Algorithms {
		v := newChecks("allow-"+string(a), httpClients)
		all = append(all, turn{string(a), func(ctx context.Context) (sample, error) {
			s, err := b.observe(ctx, gate, func() (tally, error) { return gate.saturate(ctx, v, b.plan.warm, b.plan.span) })
			if err == nil && s.refused > 0 {
				err = fmt.Errorf("%w: %.3f %% were refused\n%s", errAnswer, 100*s.refused, gate.log)
			}
			return s, err
		}})
	}
	if b.out.limits.http.decisions, err = b.interleave(ctx, b.plan.rounds, all); err != nil {
		return err
	}
	b.progress.begin("refusals from memory")
	known := newChecks("refuse", httpRefused)
	// Each is allowed once, and refused by the store once.
	if _, err := gate.saturate(ctx, known, 0, b.plan.span); err != nil {
		return err
	}
	echo := b.room(bareEcho)
	b.out.limits.http.refusals, err = b.interleave(ctx, b.plan.rounds, []turn{
		{bareEcho, b.answers(echo, newPolls(benchZone, &crowd{bytes.Repeat([]byte{'A'}, tokenSize)}))},
		{refusals, b.answers(gate, known)},
	})
	return err
}

// answers counts answers of whatever status.
func (b *bench) answers(c *contender, v visit) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		cpu, self := c.cpu(), ownCPU()
		began := time.Now()
		t, err := c.saturate(ctx, v, 0, b.plan.span)
		if err != nil {
			return sample{}, err
		}
		n := float64(max(1, t.sent))
		return sample{
			perSecond: n / time.Since(began).Seconds(), refused: float64(t.refused) / n,
			serverMicros: micros(c.cpu()-cpu) / n, selfMicros: micros(ownCPU()-self) / n,
		}, nil
	}
}
