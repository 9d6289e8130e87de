package embedded

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// inside are those who are inside, in a zone with a cap.
type inside struct {
	// ends is until when each admission is inside, in milliseconds. byEnd are the same admissions, in that order: arrived
	// there is the end, id and seen are those of insideRecord.
	ends  map[line.Admission]int64
	byEnd ranking
	// unused are those whose session has not begun.
	unused map[line.Admission]bool
	// over are those that are done, with when, in milliseconds; overOrder is in that order.
	over      map[line.Admission]int64
	overOrder []line.Admission
	stays     window.Stays
	// unknown are those who may be inside since a loss. returned came back since.
	unknown  window.Unknown
	returned map[line.Admission]bool
	longest  window.Longest
	// Until quietUntil those count who were inside at quietAt, in milliseconds.
	quietAt, quietUntil int64
	stayed              []int64 // by window.WaitBucket
	// noted are records for the journal.
	noted notes
}

// insideRecord is an admission in byEnd. The id is mixed with the time, so that no two admissions have the same.
func insideRecord(a line.Admission, ends int64) record {
	r := record{arrived: ends, seen: uint64(a.AtMillis)}
	binary.BigEndian.PutUint64(r.id[:], binary.BigEndian.Uint64(a.ID[:])^r.seen)
	return r
}

func (r *record) admission() (a line.Admission) {
	a.AtMillis = int64(r.seen)
	binary.BigEndian.PutUint64(a.ID[:], binary.BigEndian.Uint64(r.id[:])^r.seen)
	return a
}

// capped reports whether the zone has a cap.
func (q *zoneQueue) capped() bool { return q.settings.MaxInside > 0 }

// endStays ends the stays whose time is over, at most window.EndBatch of them, and then those who are not known.
func (q *zoneQueue) endStays(t *transaction) {
	in := &q.in
	t.from = t.now
	if t.now < in.quietUntil {
		t.from = in.quietAt
	}
	if in.unknown.UntilMillis <= t.from {
		in.unknown, in.returned = window.Unknown{}, nil
	}
	for range window.EndBatch {
		r := in.byEnd.first()
		if r == nil || r.arrived > t.from {
			break
		}
		a, ends := r.admission(), r.arrived
		in.stays = in.stays.To(t.now, int64(len(in.ends)))
		if in.unused[a] {
			q.totals.Unused++
		} else {
			in.stayed = countWait(in.stayed, ends-a.AtMillis)
		}
		in.takeOff(a)
	}
}

// takeOff has an admission be inside no longer. It reports whether it was.
func (i *inside) takeOff(a line.Admission) bool {
	ends, is := i.ends[a]
	if is {
		r := insideRecord(a, ends)
		i.byEnd.remove(r.place())
		delete(i.ends, a)
		delete(i.unused, a)
		i.stays.Gone++
	}
	return is
}

// put has an admission be inside until then.
func (i *inside) put(a line.Admission, ends int64, unused bool) {
	if i.ends == nil {
		i.ends, i.unused = make(map[line.Admission]int64), make(map[line.Admission]bool)
	}
	if was, is := i.ends[a]; is {
		r := insideRecord(a, was)
		i.byEnd.remove(r.place())
	}
	i.ends[a] = ends
	i.byEnd.insert(insideRecord(a, ends))
	if delete(i.unused, a); unused {
		i.unused[a] = true
	}
}

// clear has nobody be inside, known or not.
func (i *inside) clear() {
	i.ends, i.unused, i.byEnd, i.unknown, i.returned = nil, nil, ranking{}, window.Unknown{}, nil
}

// countInside is how many are inside, those who are not known included. Stays that end by from do not count.
func (q *zoneQueue) countInside(from int64) int64 {
	return int64(len(q.in.ends)) - q.in.byEnd.upTo(from) + q.in.unknown.Count
}

// cap works out how many more may be inside. While that is less than a window's worth, visitors enter at the rate at which
// others leave.
func (q *zoneQueue) cap(t *transaction) {
	q.rates, t.full = q.base, false
	if !q.capped() {
		t.cap = window.MaxEstimateMillis // more than any room
		return
	}
	s := &q.settings
	t.inside = q.countInside(t.from)
	t.cap = s.MaxInside - t.inside
	if t.now <= s.InsideState.RevokedUpToMillis || t.now < q.in.unknown.AtMillis+window.QuietMillis {
		t.cap = min(t.cap, 0)
	}
	if t.cap < q.base.Limit && (q.mode != zone.ModeOpen || t.hold > 0) {
		t.full = true
		q.rates = q.base.Through(q.in.stays.PerMinute(s.MaxInside, int64(len(q.in.ends)), s.SessionSeconds*1000, t.now))
	}
}

// enterInside counts an admission that is given now as inside.
func (q *zoneQueue) enterInside(t *transaction, a line.Admission, expires int64) {
	if !q.capped() {
		return
	}
	if q.settings.InsideBy == zone.InsideByAdmission {
		q.countIn(t, a, a.AtMillis+q.settings.SessionSeconds*1000, false)
	} else {
		q.countIn(t, a, expires, true)
	}
}

// countIn counts one more inside until ends.
func (q *zoneQueue) countIn(t *transaction, a line.Admission, ends int64, unused bool) {
	before := int64(len(q.in.ends))
	q.in.stays = q.in.stays.To(t.now, before)
	q.in.put(a, ends, unused)
	q.in.note(q.settings.ZoneID, a, ends, unused, t.now)
	came := int64(len(q.in.ends)) - before
	t.inside, t.cap = t.inside+came, t.cap-came
}

// comesBack takes one off the unknown, if the admission may be one of them and did not come back before.
func (i *inside) comesBack(a line.Admission) {
	if i.unknown.Has(a.AtMillis) && !i.returned[a] {
		if i.returned == nil {
			i.returned = make(map[line.Admission]bool)
		}
		i.returned[a] = true
		i.unknown.Count--
	}
}

// renewOrEnd takes in what a server knows of one admission.
func (q *zoneQueue) renewOrEnd(t *transaction, s line.Stay) line.StayStatus {
	in := &q.in
	_, over := in.over[s.Admission]
	ends, is := in.ends[s.Admission]
	stays := !s.Named && s.LeftMillis > 0
	until, most := t.now+s.LeftMillis, int64(math.MaxInt64)
	if q.settings.InsideBy == zone.InsideByAdmission {
		most = s.AtMillis + q.settings.SessionSeconds*1000
	}
	if is {
		until = min(until, most)
	} else { // the pass may be shown once more, if the store lost that it was spent
		until = max(until, min(s.AtMillis+in.longest.At(t.now, q.settings.PassTTL().Milliseconds()), most))
	}
	switch {
	case over, stays && s.AtMillis <= q.settings.InsideState.RevokedUpToMillis:
		return line.StayOver
	case !stays && !is && s.Named, stays && !is && s.Begins && in.unknown.Has(s.AtMillis) && t.now < in.unknown.AtMillis+window.QuietMillis:
		return line.StayUnknown
	case s.Moved && stays && !is:
		return q.move(t, s.Admission, until)
	case !stays:
		if s.Before && !s.Named && is && s.AtMillis <= in.unknown.AtMillis {
			in.unknown.Count++ // another server did not know that it was over, and told that it goes on
		}
		q.done(t, s.Admission)
		return line.StayOver
	case !is && until > t.from:
		in.comesBack(s.Admission)
		q.countIn(t, s.Admission, until, false)
	case is && (until > ends || in.unused[s.Admission]):
		in.put(s.Admission, max(until, ends), false)
		in.note(q.settings.ZoneID, s.Admission, max(until, ends), false, t.now)
	}
	return line.StayInside
}

// move has an admission be inside until then, in the slot of the one of a millisecond before.
func (q *zoneQueue) move(t *transaction, to line.Admission, until int64) line.StayStatus {
	from := line.Admission{ID: to.ID, AtMillis: to.AtMillis - 1}
	if ends, is := q.in.ends[from]; !is || ends <= t.from {
		return line.StayOver
	}
	q.done(t, from)
	q.countIn(t, to, until, q.settings.InsideBy == zone.InsideBySession)
	return line.StayInside
}

// done ends an admission. Its pass is not given out again. Nobody is taken off the unknown: whether the admission was one of
// them is not known.
func (q *zoneQueue) done(t *transaction, a line.Admission) {
	in := &q.in
	if _, is := in.ends[a]; is {
		in.stays = in.stays.To(t.now, int64(len(in.ends)))
		in.takeOff(a)
		in.stayed = countWait(in.stayed, t.now-a.AtMillis)
	}
	in.end(a, t.now)
	in.note(q.settings.ZoneID, a, 0, false, t.now)
	q.log.withdraw(a, t.now-window.MinuteMillis)
}

// end remembers that an admission is done.
func (i *inside) end(a line.Admission, now int64) {
	if i.over == nil {
		i.over = make(map[line.Admission]int64)
	}
	if _, is := i.over[a]; !is {
		i.over[a] = now
		i.overOrder = append(i.overOrder, a)
	}
}

// endAdmission ends the admission of a visitor who leaves.
func (q *zoneQueue) endAdmission(t *transaction, a line.Admission) {
	if _, over := q.in.over[a]; !q.capped() || a.AtMillis == 0 || over {
		return
	}
	q.done(t, a)
	t.inside = q.countInside(t.from)
}

// isOver reports whether an admission is done or revoked.
func (q *zoneQueue) isOver(a line.Admission) bool {
	_, over := q.in.over[a]
	return over || a.AtMillis <= q.settings.InsideState.RevokedUpToMillis
}

// setCap takes in the settings of the cap: before it had those of was.
func (q *zoneQueue) setCap(was zone.Settings, now int64) {
	in, s := &q.in, q.settings
	t := &transaction{now: now, from: now}
	if was.ZoneID == "" { // what was revoked before the zone was made, or lost, is no news
		was.InsideState = s.InsideState
	} else if was.MaxInside > 0 {
		in.longest = in.longest.Change(now, longestOf(was), longestOf(s))
	}
	switch {
	case s.MaxInside == 0:
		*in = inside{stayed: in.stayed, over: in.over, overOrder: in.overOrder}
	case was.MaxInside == 0 && was.ZoneID != "":
		// Until now nobody was counted. The log has the admissions whose passes are good; servers report the sessions.
		from := now - max(window.MinuteMillis, was.PassTTL().Milliseconds())
		in.unknown = window.Lose(q.log.since(from), now, q.longest(now))
		in.unknown.FromMillis, was.InsideState = from-1, s.InsideState
	}
	if upTo := s.InsideState.RevokedUpToMillis; upTo > was.InsideState.RevokedUpToMillis {
		q.revokeAll(upTo, now)
	}
	if s.InsideState.ResetAtMillis > was.InsideState.ResetAtMillis {
		in.unknown, in.returned = window.Unknown{}, nil
	}
	for _, text := range s.InsideState.Revoked {
		a, ok := admissionOf(s.ZoneID, text)
		if _, over := in.over[a]; ok && !over {
			q.done(t, a)
		}
	}
}

// revokeAll has all be over who were admitted up to then. Those who were admitted since, before the store was told, are unknown until
// their sessions are told of. The log has the last minute; of earlier times all are unknown.
func (q *zoneQueue) revokeAll(upTo, now int64) {
	in := &q.in
	most := int64(len(in.ends)) + in.unknown.Count
	if upTo >= max(in.unknown.AtMillis, now-window.MinuteMillis) {
		most = min(most, q.log.since(upTo+1))
	}
	in.stays.Gone += int64(len(in.ends))
	if in.clear(); most > 0 {
		in.unknown = window.Lose(most, now, q.longest(now))
		in.unknown.FromMillis = upTo
	}
}

// longestOf is for how long somebody can be inside by the settings, without being renewed, in milliseconds.
func longestOf(s zone.Settings) int64 { return max(s.Session(), s.PassTTL()).Milliseconds() }

// longest is longestOf the settings of the last 24 hours.
func (q *zoneQueue) longest(now int64) int64 { return q.in.longest.At(now, longestOf(q.settings)) }

func admissionOf(zoneID, text string) (line.Admission, bool) {
	jti, err := uuid.Parse(text)
	a, ok := line.AdmissionOf(zoneID, jti)
	return a, ok && err == nil
}

// loseInside takes in that what is known of those inside may be lost, since before: all are unknown until they come back.
func (q *zoneQueue) loseInside(now, before int64) {
	if !q.capped() {
		return
	}
	in := &q.in
	n := window.MayBeInside(int64(len(in.ends))+in.unknown.Count, q.rates.Admits(now-before, q.settings.Burst), q.settings.MaxInside, q.mode == zone.ModeOpen)
	in.stays = in.stays.To(now, int64(len(in.ends)))
	in.clear()
	in.unknown = window.Lose(n, now, q.longest(now))
}

// Report implements store.Healer.
func (s *Store) Report(_ context.Context, zoneID string, told line.SessionReport) (reply line.SessionReply, err error) {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) (none line.Answer) {
		reply.NextMillis = t.now
		if !q.capped() {
			reply.Statuses = slices.Repeat([]line.StayStatus{line.StayInside}, len(told.Stays))
			return none
		}
		if told.LostAtMillis > 0 && told.LostAtMillis == q.heal.from {
			q.in.unknown = q.in.unknown.Raise(told.Lost)
		}
		for _, one := range told.Stays {
			reply.Statuses = append(reply.Statuses, q.renewOrEnd(t, one))
		}
		reply.Over, reply.NextMillis = q.in.overSince(told.SinceMillis)
		q.refill(t)
		return none
	})
	reply.State = a.State
	return reply, err
}

// forgetOver forgets, of a batch at most, which admissions are done so long ago that none of them can be shown any more. It
// reports whether there may be more.
func (q *zoneQueue) forgetOver(now int64) (more bool) {
	in, before, n := &q.in, now-q.longest(now)-window.MinuteMillis, 0
	for ; n < min(len(in.overOrder), trimBatch) && in.over[in.overOrder[n]] < before; n++ {
		delete(in.over, in.overOrder[n])
	}
	in.overOrder = in.overOrder[n:]
	return n == trimBatch
}

// overSince returns the admissions that were done at that time or later, in order; then the time of the latest.
func (i *inside) overSince(millis int64) (all []line.Admission, next int64) {
	from, _ := slices.BinarySearchFunc(i.overOrder, millis, func(a line.Admission, millis int64) int { return int(i.over[a] - millis) })
	if all = slices.Clone(i.overOrder[from:]); len(all) == 0 {
		return nil, millis
	}
	return all, i.over[all[len(all)-1]]
}

// countWait counts one more who waited so long.
func countWait(all []int64, millis int64) []int64 {
	b := window.WaitBucket(millis)
	all = append(all, make([]int64, max(0, b+1-len(all)))...)
	all[b]++
	return all
}

// note writes down what became of an admission: when it was given, until when it is inside (0 if it is done), 1 if its session
// has not begun, and when that was. Times are in milliseconds.
func (i *inside) note(zoneID string, a line.Admission, ends int64, unused bool, now int64) {
	e := entry{zoneID, a.ID, [4]int64{a.AtMillis, ends, 0, now}}
	if unused {
		e.numbers[2] = 1
	}
	i.noted.add(e)
}

// keepStaysFor is how long a record of the journal of stays matters at most, over all zones.
func (s *Store) keepStaysFor() (longest time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queues {
		q.mu.Lock()
		longest = max(longest, time.Duration(q.longest(q.clock.NowMicros/1000))*time.Millisecond)
		q.mu.Unlock()
	}
	return longest + 2*time.Minute
}

// takeStays brings in those who were inside, as the journal tells. It knows everybody but those who were not known before, who
// are not expected back: it has not who came back already.
func (s *Store) takeStays(had []kept, stays []entry) {
	for _, k := range had {
		in := &s.queues[k.Settings.ZoneID].in
		in.unknown, in.returned = k.Unknown, nil
		in.unknown.FromMillis = in.unknown.AtMillis
	}
	for _, e := range stays {
		q := s.queues[e.zoneID]
		if q == nil {
			continue
		}
		a, ends, now := line.Admission{ID: e.id, AtMillis: e.numbers[0]}, e.numbers[1], e.numbers[3]
		switch {
		case ends == 0:
			q.in.takeOff(a)
			q.in.end(a, now)
			q.log.withdraw(a, q.clock.NowMicros/1000-window.MinuteMillis)
		case q.capped() && a.AtMillis > q.settings.InsideState.RevokedUpToMillis && ends > q.clock.NowMicros/1000:
			q.in.put(a, ends, e.numbers[2] == 1)
		default:
			q.in.takeOff(a)
		}
	}
}
