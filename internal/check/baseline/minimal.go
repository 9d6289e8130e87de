package baseline

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/line"
)

//go:embed minimal.lua
var minimalText string

var minimal = redis.NewScript(minimalText)

// fillBatch is how many visitors one command of Fill carries.
const fillBatch = 1000

// Line is a line kept the plainest way: a sorted set of arrivals and a hash of
// last polls.
type Line struct {
	client     *redis.Client
	line, seen string
}

// Line returns the line of that name. It is empty until Fill.
func (s *Server) Line(name string) *Line {
	return &Line{client: s.client, line: "{" + name + "}:line", seen: "{" + name + "}:seen"}
}

// Fill puts visitors in the line, who all polled at nowMillis.
func (l *Line) Fill(ctx context.Context, places []line.Place, nowMillis int64) error {
	now := strconv.FormatInt(nowMillis, 10)
	for some := range slices.Chunk(places, fillBatch) {
		var arrivals []redis.Z
		var polls []any
		for _, p := range some {
			arrivals = append(arrivals, redis.Z{Score: float64(p.ArrivedAtMicros), Member: string(p.ID[:])})
			polls = append(polls, string(p.ID[:]), now)
		}
		pipe := l.client.Pipeline()
		pipe.ZAdd(ctx, l.line, arrivals...)
		pipe.HSet(ctx, l.seen, polls...)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("baseline: fill: %w", err)
		}
	}
	return nil
}

// Poll records that the visitors polled at nowMillis, in one script call, and
// returns their ranks. All must be in the line.
func (l *Line) Poll(ctx context.Context, places []line.Place, nowMillis int64) ([]int64, error) {
	args := []any{nowMillis}
	for _, p := range places {
		args = append(args, string(p.ID[:]))
	}
	ranks, err := minimal.Run(ctx, l.client, []string{l.line, l.seen}, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("baseline: poll: %w", err)
	}
	return ranks, nil
}
