package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errRefused: too much was refused for a figure to mean anything.
var errRefused = errors.New("more than a thousandth of the requests was refused")

// mostRefused is the share up to which refusals are reported beside a figure.
const mostRefused = 0.001

// warmUp has every server, and every connection, seen each kind of request.
func (b *bench) warmUp(ctx context.Context) error {
	for _, c := range b.rooms {
		j := newJoins(warmZone, c.conns)
		if _, err := c.finish(ctx, j, 20*c.conns); err != nil {
			return fmt.Errorf("%s: %w\n%s", c.name, err, c.log)
		}
		var met crowd
		met.add(j)
		if _, err := c.saturate(ctx, newPolls(warmZone, &met), 0, b.plan.Span); err != nil {
			return fmt.Errorf("%s: %w\n%s", c.name, err, c.log)
		}
	}
	return nil
}

// firstCrowd lines up the first n at each server. The baseline has no line:
// its crowd is a token that it answers like any other.
func (b *bench) firstCrowd(ctx context.Context, n int) error {
	for _, c := range b.rooms {
		if c.name == bareEcho {
			j := newJoins(benchZone, c.conns)
			if _, err := c.finish(ctx, j, 1000); err != nil {
				return err
			}
			c.crowd.add(j)
			continue
		}
		if _, err := b.join(ctx, c, n); err != nil {
			return err
		}
	}
	return nil
}

// join lines up n more at the contender, as fast as it goes.
func (b *bench) join(ctx context.Context, c *contender, n int) (sample, error) {
	j := newJoins(benchZone, c.conns)
	s, err := b.observe(ctx, c, func() (tally, error) { return c.finish(ctx, j, n) })
	if err == nil && s.Refused > mostRefused {
		err = fmt.Errorf("joins: %w", errRefused)
	}
	return s, errors.Join(err, b.keep(c, j))
}

// grow lines up newcomers until n wait at each server, in rounds.
func (b *bench) grow(ctx context.Context, n int) (standings, error) {
	rounds := b.plan.joinRounds
	present := make(map[*contender]int)
	for _, c := range b.rooms {
		present[c] = c.crowd.len()
	}
	done := make(map[*contender]int)
	return b.contest(ctx, rounds, b.rooms, func(ctx context.Context, c *contender) (sample, error) {
		done[c]++
		if c.name == bareEcho {
			return b.joinBare(ctx, c)
		}
		goal := present[c] + (n-present[c])*done[c]/rounds
		return b.join(ctx, c, goal-c.crowd.len())
	})
}

func (b *bench) joinBare(ctx context.Context, c *contender) (sample, error) {
	j := newJoins(benchZone, c.conns)
	return b.observe(ctx, c, func() (tally, error) { return c.saturate(ctx, j, b.plan.Warm, b.plan.Span) })
}

// joinsAtEnd measures joins with the largest crowd waiting; then the newcomers
// leave, so that the crowd is as large as before.
func (b *bench) joinsAtEnd(ctx context.Context) (standings, error) {
	n := b.plan.largest()
	s, err := b.contest(ctx, b.plan.Rounds, b.rooms, func(ctx context.Context, c *contender) (sample, error) {
		if c.name == bareEcho {
			return b.joinBare(ctx, c)
		}
		return b.joinFor(ctx, c, b.plan.Span)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range b.rooms {
		if c.name == bareEcho {
			continue
		}
		newcomers := c.crowd.cut(n)
		if _, err := c.finish(ctx, newLeaves(benchZone, &newcomers), newcomers.len()); err != nil {
			return nil, fmt.Errorf("%s: leave: %w\n%s", c.name, err, c.log)
		}
	}
	return s, nil
}

func (b *bench) joinFor(ctx context.Context, c *contender, span time.Duration) (sample, error) {
	j := newJoins(benchZone, c.conns)
	s, err := b.observe(ctx, c, func() (tally, error) { return c.saturate(ctx, j, b.plan.Warm, span) })
	err = errors.Join(err, b.keep(c, j))
	if err == nil && s.Refused > mostRefused {
		err = fmt.Errorf("joins: %w", errRefused)
	}
	return s, err
}

// polls measures polls as fast as they go.
func (b *bench) polls(ctx context.Context, of []*contender) (standings, error) {
	return b.contest(ctx, b.plan.Rounds, of, func(ctx context.Context, c *contender) (sample, error) {
		v := newPolls(benchZone, &c.crowd)
		s, err := b.observe(ctx, c, func() (tally, error) { return c.saturate(ctx, v, b.plan.Warm, b.plan.Span) })
		if err == nil && s.Refused > mostRefused {
			err = fmt.Errorf("polls: %w", errRefused)
		}
		return s, err
	})
}

// latency measures polls at half the rate that each has shown.
func (b *bench) latency(ctx context.Context, most standings) (standings, error) {
	return b.contest(ctx, b.plan.Rounds, b.rooms, func(ctx context.Context, c *contender) (sample, error) {
		v := newPolls(benchZone, &c.crowd)
		rate := most.Of(c.name).PerSecond / 2
		return b.observe(ctx, c, func() (tally, error) { return c.pace(ctx, v, rate, b.plan.Warm, b.plan.Span) })
	})
}

// memory is what each store holds, in bytes.
func (b *bench) memory(ctx context.Context) (map[string]int64, error) {
	used, err := b.redis.UsedMemory(ctx)
	if err != nil {
		return nil, err
	}
	heap, err := b.room(onEmbedded).heap(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]int64{onRedis: used, onEmbedded: heap}, nil
}

// bytesSince is how much more each store holds, for each of n visitors.
func (b *bench) bytesSince(ctx context.Context, before map[string]int64, n int) (map[string]float64, error) {
	now, err := b.memory(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64)
	for name, bytes := range now {
		out[name] = float64(bytes-before[name]) / float64(n)
	}
	return out, nil
}

// keep puts those who joined behind the others. Clients keep the newest token, which says
// when its visitor is due; those of a crowd keep their first, so it is made to say a day
// from now. Without that, the stores would look each of them up as one who comes late.
func (b *bench) keep(c *contender, j joins) error {
	from := c.crowd.len()
	c.crowd.add(j)
	if c.name == bareEcho {
		return nil
	}
	for i := from; i < c.crowd.len(); i++ {
		p, err := b.keys.Verify(benchZone, string(c.crowd.token(i)))
		if err != nil {
			return err
		}
		p.DueMillis = time.Now().Add(24 * time.Hour).UnixMilli()
		copy(c.crowd.token(i), b.keys.Sign(benchZone, p))
	}
	return nil
}
