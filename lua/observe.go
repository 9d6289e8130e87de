package lua

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// stayBuckets is the first bucket of stays among those of waits: STAYS in inside.lua.
const stayBuckets = 1000

// Observe implements store.Observer.
func (s *Store) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	b, now, steady := s.batch(zoneID), s.wall(), s.steady()
	reply, err := s.call(ctx, observeScript, b.keys, s.clock(), b.ranks.expects(steady), most)
	if err != nil {
		return line.Observation{}, err
	}
	out, pace, err := s.readObservation(reply)
	if err != nil {
		s.forget(b)
		return line.Observation{}, err
	}
	b.ranks.heard(steady, out.State.NowMillis)
	return out, b.ranks.learn(now, out.State, nil, pace)
}

// readObservation reads the reply of observe.lua, whose header describes it.
func (s *Store) readObservation(reply any) (out line.Observation, pace []int64, err error) {
	var state, totals, waits, flow, seen, ends []int64
	if err = readParts(reply, &state, &pace, &totals, &waits, &flow, &seen, &ends); err != nil {
		return out, nil, err
	}
	if out.State, _, err = readState(state); err != nil {
		return out, nil, err
	}
	counts := reader{left: totals}
	for _, x := range line.TotalTable {
		*x.At(&out.Totals) = counts.next()
	}
	out.EstimateMillis, out.MostInSecond = counts.next(), counts.next()
	if err = counts.end("observe", "totals"); err != nil {
		return out, nil, err
	}
	for w := (reader{left: waits}); w.more(); {
		bucket, n := w.next(), w.next()
		of := &out.Waits
		if bucket >= stayBuckets {
			bucket, of = bucket-stayBuckets, &out.Stays
		}
		if bucket < 0 || bucket >= window.WaitBuckets {
			return out, nil, fmt.Errorf("lua: observe: a bucket of waits is %d", bucket)
		}
		*of = append(*of, make([]int64, max(0, int(bucket)+1-len(*of)))...)
		(*of)[bucket] = n
	}
	out.GraceMillis = window.GraceMillis
	if out.State.Waiting > exactUpTo {
		out.GraceMillis += s.noteAfter.Milliseconds() // notes of far polls are under way
	}
	v := reader{left: flow}
	out.Pace, out.FirstMillis, out.SlotMillis = v.next(), v.next(), v.next()
	next, over, parts, share := v.next(), v.next(), max(1, v.next()), v.next()
	out.SlotMillis += (next - out.SlotMillis) * over / parts
	out.Coming = float64(share) / float64(parts)
	out.FrontMicros = v.next()
	if err = v.end("observe", "the flow"); err != nil {
		return out, nil, err
	}
	if e := (reader{left: ends}); e.more() {
		out.Ends.Room = e.next()
		out.Ends.Known = e.next()
		for e.more() {
			out.Ends.Millis = append(out.Ends.Millis, e.next())
		}
	}
	all := reader{left: seen}
	out.Line = make([]line.Seen, 0, len(seen)/3)
	for all.more() {
		out.Line = append(out.Line, line.Seen{StandsAtMicros: all.next(), PolledMillis: all.next(), PeriodMillis: all.next()})
	}
	return out, pace, all.end("observe", "those seen")
}
