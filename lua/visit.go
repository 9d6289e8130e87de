package lua

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// What a visitor asks for, as visit.lua names it.
// Those who poll have no letter there; they come first.
type op string

const (
	opPoll  op = ""
	opJoin  op = "j"
	opLeave op = "l"
	opStats op = "s"
)

// width is how many numbers of the reply answer it.
func (o op) width() int {
	switch o {
	case opJoin:
		return 6
	case opStats:
		return 7
	default:
		return 4
	}
}

// seenBucket names the seen bucket of an id, by its first 14 bits; crowd.lua
// does the same.
func seenBucket(id line.ID) string {
	return strconv.Itoa(int(id[0])<<6 | int(id[1])>>2)
}

// restoredFlag is added to the status of a visitor whose place was put back.
const restoredFlag = 16

// Join takes a place for the visitor, or lets it straight in; or returns the
// place or the admission that it has under its id or a former one.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	ids := make([]byte, 0, 8*(1+len(former)))
	ids = append(ids, id[:]...)
	for _, f := range former {
		ids = append(ids, f[:]...)
	}
	a := &ask{op: opJoin, what: string(ids)}
	err := s.do(ctx, zoneID, a)
	return a.result(err)
}

// Poll asks for a place. See line.Status for the outcomes.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a := &ask{op: opPoll, place: p}
	err := s.do(ctx, zoneID, a)
	return a.result(err)
}

// Leave gives the place up. It is no error if there is none.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	return s.do(ctx, zoneID, &ask{op: opLeave, place: p})
}

// Stats is the zone as operators see it.
func (s *Store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	a := &ask{op: opStats}
	if err := s.do(ctx, zoneID, a); err != nil {
		return line.Stats{}, err
	}
	return line.Stats{State: a.answer.State, Totals: a.stats, EstimateMillis: a.answer.EstimateMillis, Waits: a.waits}, nil
}

// result must not touch the answer of a caller that did not wait for it.
func (a *ask) result(err error) (line.Answer, error) {
	if err != nil {
		return line.Answer{}, err
	}
	return a.answer, nil
}

// visit sends a batch and gives each its answer. Those who poll go first.
func (s *Store) visit(ctx context.Context, b *batch, asks []*ask) error {
	slices.SortStableFunc(asks, func(a, b *ask) int { return cmp.Compare(a.op, b.op) })
	args := make([]any, 2, 2+3*len(asks))
	polls := 0
	for _, a := range asks {
		if a.op == opPoll {
			args = append(args, string(a.place.ID[:]), seenBucket(a.place.ID), strconv.FormatInt(a.place.ArrivedAtMicros, 10))
			polls++
			continue
		}
		if a.op == opLeave {
			a.what = string(a.place.ID[:]) + strconv.FormatInt(a.place.ArrivedAtMicros, 10)
		}
		args = append(args, string(a.op), a.what)
	}
	args[0], args[1] = s.clock(), polls
	reply, err := s.run(ctx, visitScript, b.keys, args...)
	if err != nil {
		return err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("lua: visit: reply is %T", reply)
	}
	if code, ok := list[0].(int64); !ok || code != 0 || len(list) != 4 {
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
	waits, err := readWaits(list[3])
	if err != nil {
		return err
	}
	return distribute(asks, state, answers, waits)
}

// distribute reads the reply of visit.lua; the widths are those of its header.
func distribute(asks []*ask, st, flat, waits []int64) error {
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
		width := a.op.width()
		if len(flat) < width {
			return fmt.Errorf("lua: visit: the reply ends before the answers do")
		}
		a.read(flat[:width])
		a.answer.State, a.waits = state, slices.Clone(waits)
		flat = flat[width:]
	}
	if len(flat) != 0 {
		return fmt.Errorf("lua: visit: %d numbers too many in the reply", len(flat))
	}
	return nil
}

// readWaits reads how many were admitted by bucket, as a hash is read.
func readWaits(reply any) ([]int64, error) {
	pairs, ok := reply.([]any)
	if !ok || len(pairs)%2 != 0 {
		return nil, fmt.Errorf("lua: visit: waits are %T", reply)
	}
	var waits []int64
	for i := 0; i < len(pairs); i += 2 {
		bucket, err := strconv.Atoi(fmt.Sprint(pairs[i]))
		n, err2 := strconv.ParseInt(fmt.Sprint(pairs[i+1]), 10, 64)
		if err != nil || err2 != nil || bucket < 0 || bucket >= window.WaitBuckets {
			return nil, fmt.Errorf("lua: visit: a bucket of waits is %v, %v", pairs[i], pairs[i+1])
		}
		waits = append(waits, make([]int64, max(0, bucket+1-len(waits)))...)
		waits[bucket] = n
	}
	return waits, nil
}

func (a *ask) read(v []int64) {
	if a.op == opStats {
		a.stats = line.Totals{Joined: v[0], Admitted: v[1], Left: v[2], Swept: v[3], Restored: v[4], Polls: v[5]}
		a.answer.EstimateMillis = v[6]
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
	out.Place = a.place
	if a.op == opJoin {
		copy(out.Place.ID[:], a.what[8*v[5]:])
		out.Place.ArrivedAtMicros = v[4]
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
