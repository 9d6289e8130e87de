package lua

import (
	"context"
	"fmt"
	"strconv"

	"github.com/openqueue/waitingroom/internal/line"
)

// What a visitor asks for, as visit.lua names it.
const (
	opPoll  = "p"
	opJoin  = "j"
	opLeave = "l"
	opStats = "s"
)

// restoredFlag is added to the status of a visitor whose place was put back.
const restoredFlag = 16

// Join takes a place for the visitor, or lets it straight in; or returns the
// place or the admission that it has under its id or a former one.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	op := make([]byte, 0, 1+8*(1+len(former)))
	op = append(append(op, opJoin...), id[:]...)
	for _, f := range former {
		op = append(op, f[:]...)
	}
	a := &ask{op: string(op)}
	err := s.do(ctx, zoneID, a)
	return a.result(err)
}

// Poll asks for a place. See line.Status for the outcomes.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a := &ask{op: placed(opPoll, p)}
	err := s.do(ctx, zoneID, a)
	return a.result(err)
}

// Leave gives the place up. It is no error if there is none.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	return s.do(ctx, zoneID, &ask{op: placed(opLeave, p)})
}

// Stats is the zone as operators see it.
func (s *Store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	a := &ask{op: opStats}
	if err := s.do(ctx, zoneID, a); err != nil {
		return line.Stats{}, err
	}
	return line.Stats{State: a.answer.State, Totals: a.stats, EstimateMillis: a.answer.EstimateMillis}, nil
}

// result must not touch the answer of a caller that did not wait for it.
func (a *ask) result(err error) (line.Answer, error) {
	if err != nil {
		return line.Answer{}, err
	}
	return a.answer, nil
}

func placed(op string, p line.Place) string {
	b := make([]byte, 0, 1+8+17)
	b = append(append(b, op...), p.ID[:]...)
	return string(strconv.AppendInt(b, p.ArrivedAtMicros, 10))
}

// visit sends a batch and gives each its answer.
func (s *Store) visit(ctx context.Context, b *batch, asks []*ask) error {
	args := make([]any, 0, 1+len(asks))
	args = append(args, s.clock())
	for _, a := range asks {
		args = append(args, a.op)
	}
	reply, err := s.run(ctx, visitScript, b.keys, args...)
	if err != nil {
		return err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("lua: visit: reply is %T", reply)
	}
	if code, ok := list[0].(int64); !ok || code != 0 || len(list) != 3 {
		s.forget(b)
		return zoneError(list[0])
	}
	state, err := numbers(list[1])
	if err != nil {
		return err
	}
	answers, err := numbers(list[2])
	if err != nil {
		return err
	}
	return distribute(asks, state, answers)
}

// distribute reads the reply of visit.lua; the widths are those of its header.
func distribute(asks []*ask, st, flat []int64) error {
	const stateWidth = 11
	if len(st) != stateWidth {
		return fmt.Errorf("lua: visit: a state of %d numbers, want %d", len(st), stateWidth)
	}
	state := line.State{
		NowMillis: st[0], EdgeMicros: st[1], LastArrivalMicros: st[2],
		Waiting: st[3], Released: st[4], Live: st[5],
		InWindow: st[6], InMinute: st[7], WindowLimit: st[8],
		EdgePassed: st[9], EdgeLive: st[10],
	}
	for _, a := range asks {
		width := map[string]int{opPoll: 4, opLeave: 4, opJoin: 6, opStats: 6}[a.op[:1]]
		if len(flat) < width {
			return fmt.Errorf("lua: visit: the reply ends before the answers do")
		}
		a.read(flat[:width])
		a.answer.State = state
		flat = flat[width:]
	}
	if len(flat) != 0 {
		return fmt.Errorf("lua: visit: %d numbers too many in the reply", len(flat))
	}
	return nil
}

func (a *ask) read(v []int64) {
	if a.op[:1] == opStats {
		a.stats = line.Totals{Joined: v[0], Admitted: v[1], Left: v[2], Swept: v[3], Restored: v[4]}
		a.answer.EstimateMillis = v[5]
		return
	}
	out := line.Answer{Status: line.Status(v[0] % restoredFlag), Restored: v[0] >= restoredFlag}
	switch out.Status {
	case line.Waiting:
		out.Position, out.EstimateMillis, out.PeriodMillis = v[1], v[2], v[3]
	case line.Admitted, line.AdmittedBefore:
		out.AdmittedAtMillis, out.ExpiresAtMillis = v[1], v[2]
	default:
		a.answer = out
		return
	}
	if a.op[:1] == opJoin {
		at := 1 + 8*int(v[5])
		copy(out.Place.ID[:], a.op[at:at+8])
		out.Place.ArrivedAtMicros = v[4]
	} else {
		copy(out.Place.ID[:], a.op[1:9])
		// visit.go wrote it, so it is a number.
		out.Place.ArrivedAtMicros, _ = strconv.ParseInt(a.op[9:], 10, 64)
	}
	a.answer = out
}

// forget drops the queue of a zone that is not there, so that names that
// attackers invent take no memory. Whoever waits in it is still served.
func (s *Store) forget(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches[b.zoneID] == b {
		delete(s.batches, b.zoneID)
	}
}
