package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// overloaded is how many times its peak is offered to a server.
	overloaded = 3
	// overloadWarm is left out: as many connections as that need it to open.
	overloadWarm = 2 * time.Second
)

// overloadCost is what a server answers that is offered several times of what it can.
type overloadCost struct {
	Server string `json:"server"`
	Asked  string `json:"asked"`
	// Peak and Goodput are answers of 200 a second, without and with overload; Ratio is
	// that of the rounds.
	Peak    float64 `json:"peak"`
	Goodput float64 `json:"goodput"`
	Ratio   float64 `json:"ratio"`
	// Refused is the share of other answers under overload, Unanswered that of requests
	// that had no answer within patience.
	Refused    float64 `json:"refused"`
	Unanswered float64 `json:"unanswered"`
}

// overload offers the baseline and each store's server its peak, which is what it answers to as many
// connections as elsewhere, and then three times of that from thousands of connections,
// which ask at fixed times whether answers come or not.
func (b *bench) overload(ctx context.Context) error {
	for _, c := range b.those(bareEcho, onEmbedded, onRedis) {
		for _, asked := range []string{"polls", "joins"} {
			s, err := b.interleave(ctx, []turn{{asked, func(ctx context.Context) (sample, error) {
				return b.peakAndOverload(ctx, c, asked)
			}}})
			if err != nil {
				return err
			}
			of := func(figure func(sample) float64) float64 { return s.median(asked, figure) }
			b.out.Overload = append(b.out.Overload, overloadCost{
				Server: c.name, Asked: asked, Peak: of(func(s sample) float64 { return s.peak }), Goodput: of(perSecond),
				Ratio:   of(func(s sample) float64 { return s.PerSecond / s.peak }),
				Refused: of(func(s sample) float64 { return s.Refused }), Unanswered: of(func(s sample) float64 { return s.unanswered }),
			})
			if err := b.leaveAgain(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// peakAndOverload is one round: a slice at the peak, and one above it.
func (b *bench) peakAndOverload(ctx context.Context, c *contender, asked string) (s sample, err error) {
	var newcomers crowd
	ask := func() (load, error) {
		if asked == "joins" {
			return b.load(c, joins(benchZone, &newcomers)), nil
		}
		return b.polls(c, &c.crowd)
	}
	l, err := ask()
	if err != nil {
		return s, err
	}
	t, err := l.run(ctx)
	if err != nil {
		return s, err
	}
	s.peak = float64(t.done) / t.took.Seconds()
	above, err := ask()
	if err != nil {
		return s, err
	}
	above.conns, above.warm = b.plan.OverloadConns, overloadWarm
	above.every = time.Duration(float64(above.conns) / (overloaded * s.peak) * float64(time.Second))
	if t, err = above.run(ctx); err != nil {
		return s, fmt.Errorf("overload: %w", err)
	}
	if !c.lineless() {
		c.crowd.tokens = append(c.crowd.tokens, newcomers.tokens...)
	}
	sent := float64(max(1, t.sent))
	s.PerSecond, s.Refused, s.unanswered = float64(t.done)/t.took.Seconds(), float64(t.refused-t.unanswered)/sent, float64(t.unanswered)/sent
	return s, nil
}
