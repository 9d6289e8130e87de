package lua

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// Sample implements store.Sampler.
func (s *Store) Sample(ctx context.Context, zoneID string, most int) (line.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	start := time.Now()
	reply, err := s.run(ctx, sampleScript, s.keys(zoneID), s.clock(), most)
	s.metrics.seconds.WithLabelValues(sampleScript.name).Observe(time.Since(start).Seconds())
	if err != nil {
		return line.Sample{}, err
	}
	var state, flow, seen []int64
	if err := readParts(reply, &state, &flow, &seen); err != nil {
		return line.Sample{}, err
	}
	out := line.Sample{GraceMillis: window.GraceMillis}
	if out.State, _, err = readState(state); err != nil {
		return line.Sample{}, err
	}
	if out.State.Waiting > exactUpTo {
		out.GraceMillis += s.noteAfter.Milliseconds() // notes of far polls are under way
	}
	v := reader{left: flow}
	out.Pace, out.FirstMillis, out.SlotMillis = v.next(), v.next(), v.next()
	next, over, parts, share := v.next(), v.next(), max(1, v.next()), v.next()
	out.SlotMillis += (next - out.SlotMillis) * over / parts
	out.Coming = float64(share) / float64(parts)
	out.FrontMicros, out.Admitted = v.next(), v.next()
	if err := v.end("sample", "the flow"); err != nil {
		return line.Sample{}, err
	}
	all := reader{left: seen}
	out.Line = make([]line.Seen, 0, len(seen)/3)
	for all.more() {
		out.Line = append(out.Line, line.Seen{StandsAtMicros: all.next(), PolledMillis: all.next(), PeriodMillis: all.next()})
	}
	return out, all.end("sample", "those seen")
}
