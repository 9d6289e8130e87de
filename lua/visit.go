package lua

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

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

// Join implements store.Visitors.
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

// Poll implements store.Visitors.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a := &ask{op: opPoll, place: p}
	err := s.do(ctx, zoneID, a)
	return a.result(err)
}

// Leave implements store.Visitors.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	return s.do(ctx, zoneID, &ask{op: opLeave, place: p})
}

// recallBatch bounds one call of recall.lua to some milliseconds.
const recallBatch = 1000

// Recall implements store.Healer.
func (s *Store) Recall(ctx context.Context, zoneID string, departed []line.Departure) error {
	for some := range slices.Chunk(departed, recallBatch) {
		args := make([]any, 0, 1+4*len(some))
		args = append(args, s.clock())
		for _, d := range some {
			args = append(args, string(d.Place.ID[:]), d.Place.ArrivedAtMicros, d.Place.Epoch, d.AdmittedAtMillis)
		}
		if err := s.recall(ctx, zoneID, args); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) recall(ctx context.Context, zoneID string, args []any) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	reply, err := s.run(ctx, recallScript, s.keys(zoneID), args...)
	if err != nil {
		return err
	}
	return zoneError(reply)
}

// Stats implements store.Viewer.
func (s *Store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	a := &ask{op: opStats}
	if err := s.do(ctx, zoneID, a); err != nil {
		return line.Stats{}, err
	}
	return line.Stats{State: a.answer.State, Totals: a.stats, EstimateMillis: a.answer.EstimateMillis, Waits: a.histogram}, nil
}

// result must not touch the answer of a caller that did not wait for it.
func (a *ask) result(err error) (line.Answer, error) {
	if err != nil {
		return line.Answer{}, err
	}
	return a.answer, nil
}

// visit sends a batch and gives each its answer. Those who are only glanced at
// go first, then those who poll. Who could not be glanced at after all polls in
// a second call, whose error is theirs alone.
func (s *Store) visit(ctx context.Context, b *zoneBatch, asks []*ask) error {
	now := s.wall()
	s.metrics.glances.Add(float64(b.view.glance(now, asks)))
	missed, err := s.afford(ctx, b, asks, now)
	if err != nil || len(missed) == 0 {
		return err
	}
	for _, a := range missed {
		a.glance = false
	}
	if _, err := s.afford(ctx, b, missed, now); err != nil {
		for _, a := range missed {
			a.err = err
		}
	}
	return nil
}

// afford makes one call, as send does, or two. Only who joins takes memory: when
// Redis has none left, they are refused. The others go on, for each who enters,
// leaves or is swept gives some back. So a call without joins is allowed when
// memory is out, and one that was refused for its joins, hence did nothing, is
// sent again without them.
func (s *Store) afford(ctx context.Context, b *zoneBatch, asks []*ask, now time.Time) ([]*ask, error) {
	slices.SortStableFunc(asks, func(a, b *ask) int { return cmp.Compare(a.turn(), b.turn()) })
	joins := slices.IndexFunc(asks, func(a *ask) bool { return a.op == opJoin })
	if joins < 0 {
		return s.send(ctx, visitFullScript, b, asks, now)
	}
	missed, err := s.send(ctx, visitScript, b, asks, now)
	if joins > 0 && redis.HasErrorPrefix(err, "OOM") {
		for _, a := range asks[joins:] {
			a.err = err
		}
		missed, err = s.send(ctx, visitFullScript, b, asks[:joins], now)
	}
	return missed, err
}

// send makes one call, of those who ask by turn. It returns those glanced at whom
// the script did not find far from the front.
func (s *Store) send(ctx context.Context, sc *script, b *zoneBatch, asks []*ask, now time.Time) ([]*ask, error) {
	const fixed = 4
	args := make([]any, fixed, fixed+4*len(asks))
	glances, polls, least := 0, 0, int64(0)
	for _, a := range asks {
		id, arrived := string(a.place.ID[:]), a.place.ArrivedAtMicros
		switch {
		case a.glance:
			period := a.answer.PeriodMillis
			args = append(args, id, seenBucket(a.place.ID), string([]byte{byte(period >> 8), byte(period)}))
			if glances == 0 || arrived < least {
				least = arrived
			}
			glances++
		case a.op == opPoll:
			args = append(args, id, seenBucket(a.place.ID), strconv.FormatInt(arrived, 10), says(a.place))
			polls++
		case a.op == opLeave:
			args = append(args, string(a.op), id+strconv.FormatInt(arrived, 10))
		default:
			args = append(args, string(a.op), a.what)
		}
	}
	args[0], args[1], args[2], args[3] = s.clock(), glances, strconv.FormatInt(least, 10), polls
	reply, err := s.run(ctx, sc, b.keys, args...)
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("lua: visit: reply is %T", reply)
	}
	if code, ok := list[0].(int64); !ok || code != 0 || len(list) != 1+visitLists {
		s.forget(b)
		return nil, zoneError(list[0])
	}
	var parts [visitLists - 1][]int64
	for i := range parts {
		if parts[i], err = numbers(list[1+i]); err != nil {
			return nil, err
		}
	}
	waits, err := readWaits(list[visitLists])
	if err != nil {
		return nil, err
	}
	state, clock, err := stateOf(parts[0])
	if err != nil {
		return nil, err
	}
	if err := b.view.learn(now, state, parts[3], parts[4]); err != nil {
		return nil, err
	}
	for _, a := range asks[:glances] {
		a.answer.State = state
		a.answer.Renew()
	}
	missed := make([]*ask, len(parts[2]))
	for i, n := range parts[2] {
		if n < 1 || n > int64(glances) {
			return nil, fmt.Errorf("lua: visit: missed number %d of %d", n, glances)
		}
		missed[i] = asks[n-1]
	}
	if err := move(asks[glances:glances+polls], parts[5]); err != nil {
		return nil, err
	}
	return missed, distribute(asks[glances:], state, clock, parts[1], waits)
}

// says is what a token says of how fresh it is: time to be due and epoch.
func says(p line.Place) string {
	const due, epoch = 6, 4
	b := make([]byte, 0, due+epoch)
	b = append(b, byte(p.DueMillis>>40), byte(p.DueMillis>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(p.DueMillis))
	return string(binary.BigEndian.AppendUint32(b, p.Epoch))
}

// visitLists is how many lists visit.lua replies with, the last one of strings.
const visitLists = 7

// move corrects the arrivals of those whose token was late.
func move(polls []*ask, moved []int64) error {
	const width = 2
	for i := 0; i+1 < len(moved); i += width {
		n := moved[i]
		if n < 1 || n > int64(len(polls)) {
			return fmt.Errorf("lua: visit: moved number %d of %d", n, len(polls))
		}
		polls[n-1].place.ArrivedAtMicros = moved[i+1]
	}
	return nil
}

// turn is where a request stands in a call.
func (a *ask) turn() int {
	switch {
	case a.glance:
		return 0
	case a.op == opPoll:
		return 1
	case a.op == opJoin:
		return 3
	default:
		return 2
	}
}

// stateOf reads the zone's state, and what its clock needs for AheadMillis; the width is
// that of the header of visit.lua.
func stateOf(st []int64) (line.State, window.Clock, error) {
	const stateWidth = 15
	if len(st) != stateWidth {
		return line.State{}, window.Clock{}, fmt.Errorf("lua: visit: a state of %d numbers, want %d", len(st), stateWidth)
	}
	return line.State{
		NowMillis: st[0], EdgeMicros: st[1], LastArrivalMicros: st[2],
		Waiting: st[3], Released: st[4], Live: st[5],
		InWindow: st[6], InMinute: st[7], WindowLimit: st[8],
		EdgePassed: st[9], EdgeLive: st[10],
		Epoch: uint32(st[11]), LostAtMillis: st[12],
	}, window.Clock{SetMicros: st[13], AheadMicros: st[14]}, nil
}

// distribute reads the answers of visit.lua; the widths are those of its header.
func distribute(asks []*ask, state line.State, clock window.Clock, flat, waits []int64) error {
	for _, a := range asks {
		width := a.op.width()
		if len(flat) < width {
			return fmt.Errorf("lua: visit: the reply ends before the answers do")
		}
		a.read(flat[:width])
		a.answer.State = state
		a.answer.Renew()
		if a.answer.AdmittedAtMillis > 0 {
			a.answer.AheadMillis = clock.AheadMillis(a.answer.AdmittedAtMillis)
		}
		if a.op == opStats {
			a.histogram = slices.Clone(waits)
		}
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
func (s *Store) forget(b *zoneBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches[b.zoneID] == b {
		delete(s.batches, b.zoneID)
	}
}
