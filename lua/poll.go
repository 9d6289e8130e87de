package lua

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// maxBatch is how many visitors travel in one call: past 128 the fixed
	// cost of a call is below 4 % of it. At an opening, where most of a call are admitted, the longest
	// takes 9 ms so, and 14 ms with 256 (BenchmarkOpening).
	maxBatch = 128
	// maxPending is how many visitors of a zone wait for a call. It is half
	// a second's work for one Redis.
	maxPending = 50_000
	// recallBatch bounds one call of recall.lua to some milliseconds.
	recallBatch = 1000
	// restoredFlag is added to the status of a visitor whose place was put back.
	restoredFlag = 16
)

// What a visitor asks for, as poll.lua names it.
type op string

const (
	opPoll  op = "p"
	opJoin  op = "j"
	opLeave op = "l"
)

// joinDrawn is opJoin with what a draw gives.
const joinDrawn = "d"

// request is what one visitor asks for, and the answer to it.
type request struct {
	caller
	op    op
	place line.Place  // of one who joins the id alone
	drawn event.Drawn // of one who joins: what a draw gives

	answer line.Answer
}

// zoneBatch gathers the requests of one zone.
type zoneBatch struct {
	batch[*request]
	zoneID string
	keys   []string
	ranks  rankCache
	notes  notes
}

func (s *Store) batch(zoneID string) *zoneBatch {
	s.mu.RLock()
	b := s.batches[zoneID]
	s.mu.RUnlock()
	if b != nil {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b = s.batches[zoneID]; b == nil {
		b = &zoneBatch{zoneID: zoneID, keys: s.keys(zoneID)}
		b.batch = batch[*request]{
			store: s, send: func(ctx context.Context, all []*request) error { return s.sendBatch(ctx, b, all) },
			most: maxBatch, maxPending: maxPending, full: line.ErrStoreUnavailable,
			seconds: s.metrics.seconds.WithLabelValues(pollScript.name),
		}
		s.batches[zoneID] = b
	}
	return b
}

// forget drops the batch of a zone that does not exist, so that invented names take no memory. Requests that wait in the
// batch are still sent.
func (s *Store) forget(b *zoneBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches[b.zoneID] == b {
		delete(s.batches, b.zoneID)
	}
}

// answer has a request answered. The answer of one that failed is not touched: its
// call may still be under way.
func (s *Store) answer(ctx context.Context, zoneID string, q *request) (line.Answer, error) {
	if err := s.batch(zoneID).do(ctx, q); err != nil {
		return line.Answer{}, err
	}
	return q.answer, nil
}

// Join implements store.Visitors.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	return s.JoinDrawn(ctx, zoneID, event.Drawn{}, id)
}

// JoinDrawn implements store.Drawer.
func (s *Store) JoinDrawn(ctx context.Context, zoneID string, drawn event.Drawn, id line.ID) (line.Answer, error) {
	return s.answer(ctx, zoneID, &request{caller: caller{later: true}, op: opJoin, place: line.Place{ID: id}, drawn: drawn})
}

// Poll implements store.Visitors. A poll from far away may be answered by what this server remembers. Redis hears of it
// later: see notes.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	b := s.batch(zoneID)
	a, ok := s.pollFar(b, p)
	if ok {
		return a, nil
	}
	q := &request{op: opPoll, place: p}
	q.later = b.ranks.far(s.wall(), p)
	a, err := s.answer(ctx, zoneID, q)
	if err != nil {
		b.missed(p)
	}
	return a, err
}

// Leave implements store.Visitors.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	_, err := s.answer(ctx, zoneID, &request{op: opLeave, place: p})
	return err
}

// Recall implements store.Healer.
func (s *Store) Recall(ctx context.Context, zoneID string, departed []line.Departure) error {
	for some := range slices.Chunk(departed, recallBatch) {
		args := []any{s.clock()}
		for _, d := range some {
			args = append(args, string(d.Place.ID[:]), d.Place.ArrivedAtMicros, d.Place.Epoch, d.AdmittedAtMillis, d.ExpiresAtMillis)
		}
		reply, err := s.call(ctx, recallScript, s.keys(zoneID), args...)
		if err == nil {
			err = zoneError(reply)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendBatch makes one call, or two when Redis has no memory left. Only joins take memory, and each visitor who enters,
// leaves or is swept gives some back. So a call without joins is allowed when memory is out. A call that was refused
// for its joins has done nothing, and is sent again without them.
//
// Of the visitors who poll, the first in the line is answered first. Where slots open one by one, a call has fewer slots
// than visitors. If the visitors were answered as their requests came, the same visitors would lose to the same others at
// each poll, since all of them are told to come back at the same time: in a line of 1,000,000 that 60,000 a minute enter,
// one visitor had polled 50 times as the very first.
func (s *Store) sendBatch(ctx context.Context, b *zoneBatch, requests []*request) error {
	slices.SortStableFunc(requests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.place.StandsAtMicros(), b.place.StandsAtMicros()))
	})
	joins := slices.IndexFunc(requests, func(q *request) bool { return q.op == opJoin })
	if joins < 0 {
		return s.send(ctx, pollFullScript, b, requests)
	}
	err := s.send(ctx, pollScript, b, requests)
	if joins > 0 && redis.HasErrorPrefix(err, "OOM") {
		for _, q := range requests[joins:] {
			q.err = err
		}
		err = s.send(ctx, pollFullScript, b, requests[:joins])
	}
	return err
}

// order says where in a call a request goes: polls first, then leaves, then joins, as poll.lua wants them.
func (q *request) order() int {
	switch q.op {
	case opPoll:
		return 0
	case opJoin:
		return 2
	default:
		return 1
	}
}

// send makes one call of requests in order.
func (s *Store) send(ctx context.Context, sc *script, b *zoneBatch, requests []*request) error {
	now, steady := s.wall(), s.steady()
	args := make([]any, 0, 2+len(requests))
	args = append(args, s.clock(), b.ranks.expects(steady))
	text, ends := make([]byte, 0, 32*len(requests)), make([]int, 0, len(requests))
	shared := false // the latest argument is of plain joins
	for _, q := range requests {
		if shared && q.plain() {
			text, ends = append(text, q.place.ID[:]...), ends[:len(ends)-1]
		} else {
			text, shared = q.appendTo(text), q.plain()
		}
		ends = append(ends, len(text))
	}
	from := 0
	for _, end := range ends {
		args, from = append(args, text[from:end]), end
	}
	reply, err := s.run(ctx, sc, b.keys, args...)
	if err != nil {
		return err
	}
	r, err := readPolls(reply)
	if err != nil {
		s.forget(b)
		return err
	}
	b.ranks.heard(steady, r.state.NowMillis)
	if err := b.ranks.learn(now, r.state, r.rounded, r.pace); err != nil {
		return err
	}
	for moved := (reader{left: r.moved}); moved.more(); {
		n, arrived := moved.next(), moved.next()
		if n < 1 || n > int64(len(requests)) {
			return fmt.Errorf("lua: poll: the reply names request %d of %d", n, len(requests))
		}
		if p := &requests[n-1].place; p.ArrivedAtMicros != arrived {
			p.ArrivedAtMicros, p.Told = arrived, 0
		}
	}
	answers := reader{left: r.answers}
	for _, q := range requests {
		q.read(&answers, r)
	}
	return answers.end("poll", "answers")
}

// seenBucket is the seen bucket of one who stands there, as keys.lua has it.
func seenBucket(standsMicros int64) int { return int(standsMicros >> 4 & (buckets - 1)) }

// appendTo appends the argument of poll.lua that a request is.
func (q *request) appendTo(b []byte) []byte {
	p, d := q.place, q.drawn
	micros := func(all ...int64) {
		for _, m := range all {
			b = binary.BigEndian.AppendUint64(b, uint64(m))
		}
	}
	switch {
	case q.op == opPoll:
		b = append(append(b, q.op...), p.ID[:]...)
		// Of the time to be due 6 bytes: the 16 bits above them are not in use.
		micros(p.ArrivedAtMicros, p.DueMillis<<16)
		b = binary.BigEndian.AppendUint32(b[:len(b)-2], p.Epoch)
		if p.ScoreMicros > 0 {
			micros(p.ScoreMicros)
		}
	case q.op == opLeave:
		b = append(append(b, q.op...), p.ID[:]...)
		micros(p.ArrivedAtMicros, p.AdmittedAtMillis<<16)
		b = b[:len(b)-2]
	case d != (event.Drawn{}):
		b = append(b, joinDrawn...)
		micros(d.ScoreMicros, d.FromMicros, d.UptoMicros)
		b = append(b, p.ID[:]...)
	case q.op == opJoin:
		b = append(append(b, q.op...), p.ID[:]...)
	default:
		b = append(b, q.op...)
	}
	return b
}

// plain reports whether the request is of one who joins, and no draw.
func (q *request) plain() bool { return q.op == opJoin && q.drawn == (event.Drawn{}) }

// pollReply is the reply of poll.lua, whose header describes it.
type pollReply struct {
	state line.State
	// clock has what AheadMillis needs.
	clock                         window.Clock
	answers, rounded, pace, moved []int64
}

// readPolls reads the reply of poll.lua. For a zone that does not exist it returns an error of package line.
func readPolls(reply any) (r pollReply, err error) {
	var state []int64
	if err := readParts(reply, &state, &r.answers, &r.rounded, &r.pace, &r.moved); err != nil {
		return r, err
	}
	r.state, r.clock, err = readState(state)
	return r, err
}

// readParts reads a reply that has a status and lists of numbers. For a zone that does not exist it returns an error of
// package line.
func readParts(reply any, parts ...*[]int64) (err error) {
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("lua: the reply of a zone's script is a %T, want a list", reply)
	}
	if err := zoneError(list[0]); err != nil {
		return err
	}
	if len(list) != 1+len(parts) {
		return fmt.Errorf("lua: a zone's reply has %d parts", len(list))
	}
	for i, part := range parts {
		if *part, err = numbers(list[1+i]); err != nil {
			return err
		}
	}
	return nil
}

// readState reads a zone's state as include/reply.lua has it, and its clock.
func readState(list []int64) (line.State, window.Clock, error) {
	st := reader{left: list}
	state := line.State{
		NowMillis: st.next(), EdgeMicros: st.next(), LastArrivalMicros: st.next(),
		Waiting: st.next(), Released: st.next(), Live: st.next(),
		InWindow: st.next(), InMinute: st.next(), WindowLimit: st.next(),
		EdgePassed: st.next(), EdgeLive: st.next(),
		Epoch: uint32(st.next()), LostAtMillis: st.next(),
		SettlesAtMillis: st.next(), OpensAtMillis: st.next(),
	}
	clock := window.Clock{SetMicros: st.next(), AheadMicros: st.next()}
	state.Inside, state.InsideLost, state.Full, state.LongestMillis = st.next(), st.next(), st.next() == 1, st.next()
	return state, clock, st.end("reply", "a state")
}

// read takes the request's answer from those of its call.
func (q *request) read(v *reader, r pollReply) {
	q.answer = line.Answer{State: r.state}
	a := &q.answer
	status, first, second, third := v.next(), v.next(), v.next(), v.next()
	a.Status, a.Restored = line.Status(status%restoredFlag), status >= restoredFlag
	place := q.place
	place.ScoreMicros, place.AdmittedAtMillis = 0, 0
	if q.op == opJoin {
		place.ArrivedAtMicros = v.next()
	}
	switch a.Status {
	case line.Waiting:
		a.Position, a.WaitMillis, a.PeriodMillis = first, second, third
	case line.Admitted, line.AdmittedBefore:
		a.AdmittedAtMillis, a.ExpiresAtMillis, a.Number = first, second, third
		a.AheadMillis = r.clock.AheadMillis(a.AdmittedAtMillis)
	default: // no place; second is how long a newcomer would wait, if that is the reason
		a.WaitMillis = second
		return
	}
	a.Place = place
	a.Renew()
}
