package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

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
		if a.HasBurst() {
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
func (b *bench) limitsOverHTTP(ctx context.Context) error {
	b.progress.begin("decisions over HTTP")
	gate := gateOf(b.room(onRedis))
	var all []turn
	for _, a := range limit.Algorithms {
		v := newChecks("allow-"+string(a), httpClients)
		all = append(all, turn{string(a), func(ctx context.Context) (sample, error) {
			s, err := b.observe(ctx, gate, func() (tally, error) { return gate.saturate(ctx, v, b.plan.Warm, b.plan.Span) })
			if err == nil && s.Refused > 0 {
				err = fmt.Errorf("%w: %.3f %% were refused\n%s", errAnswer, 100*s.Refused, gate.log)
			}
			return s, err
		}})
	}
	s, err := b.interleave(ctx, b.plan.Rounds, all)
	if err != nil {
		return err
	}
	for _, a := range limit.Algorithms {
		b.limited.HTTP = append(b.limited.HTTP, s.standings(string(limit.FixedWindow), string(a))...)
	}
	b.progress.begin("refusals from memory")
	known := newChecks("refuse", httpRefused)
	// Each is allowed once, and refused by the store once.
	if _, err := gate.saturate(ctx, known, 0, b.plan.Span); err != nil {
		return err
	}
	echo := b.room(bareEcho)
	s, err = b.interleave(ctx, b.plan.Rounds, []turn{
		{bareEcho, b.answers(echo, newPolls(benchZone, &crowd{bytes.Repeat([]byte{'A'}, tokenSize)}))},
		{refusals, b.answers(gate, known)},
	})
	b.limited.Refusals = s.standings(bareEcho, bareEcho, refusals)
	return err
}

// answers counts answers of whatever status.
func (b *bench) answers(c *contender, v visit) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		cpu, self := c.cpu(), ownCPU()
		began := time.Now()
		t, err := c.saturate(ctx, v, 0, b.plan.Span)
		if err != nil {
			return sample{}, err
		}
		n := float64(max(1, t.sent))
		return sample{
			PerSecond: n / time.Since(began).Seconds(), Refused: float64(t.refused) / n,
			ServerMicros: micros(c.cpu()-cpu) / n, selfMicros: micros(ownCPU()-self) / n,
		}, nil
	}
}
