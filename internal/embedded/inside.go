package embedded

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
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
	// phantoms are how many may be inside until when, of whom nothing else is known, the earliest first. back of the
	// earliest are known again. lostAt is when they were lost, in milliseconds.
	phantoms     []line.Step
	back, lostAt int64
	// Until quietUntil those count who were inside at quietAt, in milliseconds.
	quietAt, quietUntil int64
	stayed              []int64 // by window.WaitBucket
	// longest is the longest that was left of any stay.
	longest time.Duration
	// noted are records for the journal.
	noted []string
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

// bySession reports whether sessions count, rather than admissions for as long as a session.
func (q *zoneQueue) bySession() bool { return q.settings.InsideBy == zone.InsideBySession }

// endStays ends the stays and the phantoms whose time is over, at most window.EndBatch of the stays.
func (q *zoneQueue) endStays(t *transaction) {
	in := &q.in
	t.from = t.now
	if t.now < in.quietUntil {
		t.from = in.quietAt
	}
	for len(in.phantoms) > 0 && in.phantoms[0].EndsMillis <= t.from {
		in.back = max(0, in.back-in.phantoms[0].Count)
		in.phantoms = in.phantoms[1:]
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

// lost is how many phantoms there are.
func (i *inside) lost() (n int64) {
	for _, s := range i.phantoms {
		n += s.Count
	}
	return n - i.back
}

// lose adds phantoms: so many may be inside until those times.
func (i *inside) lose(steps ...line.Step) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s line.Step) bool { return s.Count == 0 })
	i.phantoms = append(slices.Clone(i.phantoms), steps...)
	slices.SortStableFunc(i.phantoms, func(a, b line.Step) int { return int(a.EndsMillis - b.EndsMillis) })
}

// countInside is how many are inside, phantoms included. Stays that end by from do not count.
func (q *zoneQueue) countInside(from int64) int64 {
	return int64(len(q.in.ends)) - q.in.byEnd.upTo(from) + q.in.lost()
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
	if t.now <= s.InsideState.RevokedUpToMillis || q.in.lostAt > 0 && t.now < q.in.lostAt+window.QuietMillis {
		t.cap = min(t.cap, 0)
	}
	if t.cap < q.base.Limit && (q.mode != zone.ModeOpen || t.hold > 0) {
		t.full = true
		q.rates = q.base.Through(q.in.stays.PerMinute(s.MaxInside, int64(len(q.in.ends)), s.SessionSeconds*1000, t.now))
	}
}

// enterInside counts an admission that was given at its time as inside, if its own time is not over.
func (q *zoneQueue) enterInside(t *transaction, a line.Admission, expires int64) {
	if !q.capped() {
		return
	}
	ends := a.AtMillis + q.settings.SessionSeconds*1000
	if q.bySession() {
		ends = expires
	}
	if ends > t.from {
		q.countIn(t, a, ends, q.bySession())
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

// takeOffPhantom takes one off the phantoms, if the admission may be one of them.
func (i *inside) takeOffPhantom(a line.Admission) {
	if i.lost() > 0 && a.AtMillis <= i.lostAt {
		i.back++
	}
}

// renewOrEnd takes in what a server knows of one admission.
func (q *zoneQueue) renewOrEnd(t *transaction, s line.Stay) line.StayStatus {
	in := &q.in
	_, over := in.over[s.Admission]
	ends, is := in.ends[s.Admission]
	stays := !s.Named && s.LeftMillis > 0
	switch {
	case over, stays && s.AtMillis <= q.settings.InsideState.RevokedUpToMillis:
		return line.StayOver
	case !stays && !is && s.Named:
		return line.StayUnknown
	case !stays:
		q.done(t, s.Admission, is)
		return line.StayOver
	case !q.bySession():
		return line.StayInside
	}
	until := t.now + s.LeftMillis
	switch {
	case !is:
		in.takeOffPhantom(s.Admission)
		q.countIn(t, s.Admission, until, false)
	case until > ends || in.unused[s.Admission]:
		in.put(s.Admission, max(until, ends), false)
		in.note(q.settings.ZoneID, s.Admission, max(until, ends), false, t.now)
	}
	return line.StayInside
}

// done ends an admission. Its pass is not given out again.
func (q *zoneQueue) done(t *transaction, a line.Admission, is bool) {
	in := &q.in
	if is {
		in.stays = in.stays.To(t.now, int64(len(in.ends)))
		in.takeOff(a)
		in.stayed = countWait(in.stayed, t.now-a.AtMillis)
	} else {
		in.takeOffPhantom(a)
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
	_, is := q.in.ends[a]
	q.done(t, a, is)
	t.inside = q.countInside(t.from)
}

// isOver reports whether an admission is done or revoked.
func (q *zoneQueue) isOver(a line.Admission) bool {
	_, over := q.in.over[a]
	return over || q.capped() && a.AtMillis <= q.settings.InsideState.RevokedUpToMillis
}

// recallStay takes in an admission that may have been lost, and is not over.
func (q *zoneQueue) recallStay(t *transaction, a line.Admission, expires int64) {
	if _, is := q.in.ends[a]; q.capped() && !is {
		q.in.takeOffPhantom(a)
		q.enterInside(t, a, expires)
	}
}

// setCap takes in the settings of the cap: before it had those of was.
func (q *zoneQueue) setCap(was zone.Settings, now int64) {
	in, s := &q.in, q.settings
	t := &transaction{now: now, from: now}
	switch {
	case s.MaxInside == 0:
		q.in = inside{stayed: in.stayed}
		return
	case was.MaxInside == 0 && was.ZoneID != "":
		// Until now nobody was counted. The log has the last minute for sure; servers tell of the sessions.
		ttl := s.SessionSeconds * 1000
		if q.bySession() {
			ttl = s.PassTTL().Milliseconds()
		}
		in.lostAt, was.InsideState = now, s.InsideState
		in.lose(line.Step{EndsMillis: now + ttl, Count: q.log.since(now - window.MinuteMillis)})
	}
	if s.InsideState.RevokedUpToMillis > was.InsideState.RevokedUpToMillis {
		in.stays.Gone += int64(len(in.ends))
		in.ends, in.unused, in.byEnd, in.phantoms, in.back = nil, nil, ranking{}, nil, 0
	}
	if s.InsideState.ResetAtMillis > was.InsideState.ResetAtMillis {
		in.phantoms, in.back, in.lostAt = nil, 0, 0
	}
	for _, text := range s.InsideState.Revoked {
		a, ok := admissionOf(s.ZoneID, text)
		if _, over := in.over[a]; ok && !over {
			_, is := in.ends[a]
			q.done(t, a, is)
		}
	}
}

func admissionOf(zoneID, text string) (line.Admission, bool) {
	jti, err := uuid.Parse(text)
	a, ok := line.AdmissionOf(zoneID, jti)
	return a, ok && err == nil
}

// loseInside takes in that those who were admitted last may have been lost.
func (q *zoneQueue) loseInside(now int64) {
	ttl := q.settings.Session()
	if q.bySession() {
		ttl = q.settings.PassTTL()
	}
	if q.capped() {
		q.in.lostAt = now
		q.in.lose(line.Step{EndsMillis: now + ttl.Milliseconds(), Count: q.unheard(int64(len(q.in.ends)) + q.in.lost())})
	}
}

// unheard is how many may have been admitted, before a loss, beside so many who are known to have been inside.
func (q *zoneQueue) unheard(known int64) int64 {
	if q.mode == zone.ModeOpen {
		return q.phantoms.Limit
	}
	return min(q.phantoms.Limit, max(0, q.settings.MaxInside-known))
}

// restoreInside takes in what is remembered of those inside. If nothing is, as many may be inside as may be.
func (q *zoneQueue) restoreInside(now int64, m line.Memory) {
	if !q.capped() {
		return
	}
	if m.SeenAtMillis == 0 {
		q.in.lose(line.Step{EndsMillis: now + q.settings.SessionSeconds*1000, Count: q.settings.MaxInside})
	}
	for _, s := range m.Inside {
		if s.EndsMillis > now {
			q.in.lose(s)
		}
	}
}

// Tell implements store.Healer.
func (s *Store) Tell(_ context.Context, zoneID string, told line.Telling) (heard line.Heard, err error) {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) (none line.Answer) {
		heard.NextMillis = t.now
		if !q.capped() {
			heard.Statuses = slices.Repeat([]line.StayStatus{line.StayInside}, len(told.Stays))
			return none
		}
		q.lostBesides(t, told)
		for _, one := range told.Stays {
			heard.Statuses = append(heard.Statuses, q.renewOrEnd(t, one))
		}
		q.in.forget(t.now - 2*q.settings.SessionSeconds*1000 - window.MinuteMillis)
		heard.Over, heard.NextMillis = q.in.overSince(told.SinceMillis)
		if told.WantSteps {
			heard.Steps = q.in.steps(t.from)
		}
		q.refill(t)
		return none
	})
	heard.State = a.State
	return heard, err
}

// lostBesides takes in how many a server knows to have been inside when data was lost: those who are not counted become
// phantoms. The latest were lost.
func (q *zoneQueue) lostBesides(t *transaction, told line.Telling) {
	if told.LostAtMillis == 0 || told.LostAtMillis != max(0, q.heal.until-window.HealMillis) {
		return
	}
	missing := int64(0)
	steps := slices.DeleteFunc(slices.Clone(told.Lost), func(s line.Step) bool { return s.EndsMillis <= t.now })
	for _, s := range steps {
		missing += s.Count
	}
	missing += q.unheard(missing) - int64(len(q.in.ends)) - q.in.lost()
	for _, s := range slices.Backward(steps) {
		if s.Count = min(s.Count, missing); s.Count > 0 {
			q.in.lose(s)
			missing -= s.Count
		}
	}
}

// forget forgets which admissions were done up to then.
func (i *inside) forget(millis int64) {
	for len(i.overOrder) > 0 && i.over[i.overOrder[0]] <= millis {
		delete(i.over, i.overOrder[0])
		i.overOrder = i.overOrder[1:]
	}
}

// overSince returns the admissions that were done at that time or later, in order; then the time of the latest.
func (i *inside) overSince(millis int64) (all []line.Admission, next int64) {
	from, _ := slices.BinarySearchFunc(i.overOrder, millis, func(a line.Admission, millis int64) int { return int(i.over[a] - millis) })
	if all = slices.Clone(i.overOrder[from:]); len(all) == 0 {
		return nil, millis
	}
	return all, i.over[all[len(all)-1]]
}

// steps is how many are inside until when, in steps.
func (i *inside) steps(from int64) (all []line.Step) {
	i.byEnd.ascend(from, func(r *record) bool {
		ends := (r.arrived + window.StepMillis - 1) / window.StepMillis * window.StepMillis
		if n := len(all); n > 0 && all[n-1].EndsMillis == ends {
			all[n-1].Count++
		} else {
			all = append(all, line.Step{EndsMillis: ends, Count: 1})
		}
		return true
	})
	return all
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
	i.longest = max(i.longest, time.Duration(ends-now)*time.Millisecond)
	e := entry{zoneID, a.ID, [4]int64{a.AtMillis, ends, 0, now}}
	if unused {
		e.numbers[2] = 1
	}
	i.noted = append(i.noted, e.record())
}

// takeNotes returns what was noted, as journal.enqueue takes it.
func (i *inside) takeNotes() (text string) {
	if len(i.noted) > 0 {
		text, i.noted = strings.Join(i.noted, " "+journalEnd+"\n"), nil
	}
	return text
}

// keepStaysFor is how long a record of the journal of stays matters at most, over all zones.
func (s *Store) keepStaysFor() (longest time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queues {
		q.mu.Lock()
		longest = max(longest, 2*q.settings.Session(), q.in.longest)
		q.mu.Unlock()
	}
	return longest + time.Minute
}

// takeStays brings in those who were inside, as the journal tells.
func (s *Store) takeStays(stays []entry) {
	for _, q := range s.queues {
		q.in.phantoms, q.in.back, q.in.lostAt = nil, 0, 0 // the journal knows everybody
	}
	for _, e := range stays {
		q := s.queues[e.zoneID]
		if q == nil || !q.capped() {
			continue
		}
		a, ends, now := line.Admission{ID: e.id, AtMillis: e.numbers[0]}, e.numbers[1], e.numbers[3]
		switch {
		case ends == 0:
			q.in.takeOff(a)
			q.in.end(a, now)
			q.log.withdraw(a, q.clock.NowMicros/1000-window.MinuteMillis)
		case a.AtMillis > q.settings.InsideState.RevokedUpToMillis && ends > q.clock.NowMicros/1000:
			q.in.put(a, ends, e.numbers[2] == 1)
			q.in.longest = max(q.in.longest, time.Duration(ends-now)*time.Millisecond)
		default:
			q.in.takeOff(a)
		}
	}
}
