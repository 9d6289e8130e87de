package registry

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// judgeEvery is how often those are judged who were admitted.
	judgeEvery = time.Second
	// judgedAfterMillis is how long after its admission somebody is judged: within a second every
	// server knows of a change that an operator made before it.
	judgedAfterMillis = 1_000
	// At most judgedInAll visitors are looked at in all zones, but leastJudged of each, and mostJudged
	// of one. With maxTold each they take 5 MB.
	judgedInAll = 4_096
	leastJudged = 16
	mostJudged  = 512
	// maxTold is how much is kept of what one was told: of more, every second, then every fourth.
	maxTold = 32
)

// judge compares what some of those who wait in a zone are told with what becomes of it. Their ids
// say who that is, so all that they are told is looked at. While more wait than may be looked at,
// every second one is dropped (adaptive sampling, Wegman). Who is told here and admitted by another
// server is not judged. The zero value is ready.
type judge struct {
	// mask has those bits that are 0 in the ids of those who are looked at.
	mask atomic.Uint32

	mu   sync.Mutex
	most int
	byID map[line.ID]*judged
}

// judged is one who is looked at.
type judged struct {
	arrivedAtMicros, admittedAtMillis int64
	// dueMillis is when it was told to poll again.
	dueMillis int64
	told      []estimate.Told
	// Between two that are kept, skip are not; skipped were since the last one.
	skip, skipped int
}

// looksAt reports whether a visitor is looked at: all that a poll of any other costs.
func (j *judge) looksAt(id line.ID) bool { return binary.BigEndian.Uint32(id[4:])&j.mask.Load() == 0 }

// hear takes in what one was told who is looked at.
func (j *judge) hear(a *line.Answer) {
	switch a.Status {
	case line.Waiting:
		if a.Position > 0 { // while people gather, it is said when it opens
			j.wait(a)
		}
	case line.Admitted, line.AdmittedBefore:
		j.mu.Lock()
		defer j.mu.Unlock()
		if v := j.byID[a.Place.ID]; v != nil && v.admittedAtMillis == 0 {
			v.admittedAtMillis = a.AdmittedAtMillis
		}
	default: // nobody is there
	}
}

func (j *judge) wait(a *line.Answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := j.byID[a.Place.ID]
	if v == nil || v.arrivedAtMicros != a.Place.ArrivedAtMicros {
		most := cmp.Or(j.most, mostJudged)
		j.thin(most - 1)
		if len(j.byID) >= most || !j.looksAt(a.Place.ID) {
			return
		}
		if j.byID == nil {
			j.byID = make(map[line.ID]*judged)
		}
		v = &judged{arrivedAtMicros: a.Place.ArrivedAtMicros}
		j.byID[a.Place.ID] = v
	}
	v.dueMillis = a.State.NowMillis + a.PeriodMillis
	v.keep(estimate.Told{
		AtMicros: 1000 * a.State.NowMillis, Millis: a.EstimateMillis, LowMillis: a.LowMillis, HighMillis: a.HighMillis,
	})
}

func (v *judged) keep(t estimate.Told) {
	if v.skipped < v.skip {
		v.skipped++
		return
	}
	v.skipped = 0
	if len(v.told) == maxTold {
		for i := range maxTold / 2 {
			v.told[i] = v.told[2*i]
		}
		v.told, v.skip = v.told[:maxTold/2], 2*v.skip+1
	}
	v.told = append(v.told, t)
}

// thin drops every second one until at most so many are left. The caller holds mu.
func (j *judge) thin(most int) {
	for mask := j.mask.Load(); len(j.byID) > most && mask < math.MaxUint32; {
		mask = mask<<1 | 1
		j.mask.Store(mask)
		for id := range j.byID {
			if !j.looksAt(id) {
				delete(j.byID, id)
			}
		}
	}
}

// forget has nothing judged that was told so far.
func (j *judge) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.byID)
}

// settle judges those who were admitted, forgets those who fell silent, and looks at up to so many
// from now on. The time is the zone's.
func (j *judge) settle(nowMillis int64, s zone.Settings, most int) (all []estimate.Judgement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, v := range j.byID {
		switch {
		case v.admittedAtMillis == 0:
			if v.dueMillis+s.IdleTimeout().Milliseconds() < nowMillis {
				delete(j.byID, id)
			}
		case v.admittedAtMillis+judgedAfterMillis <= nowMillis:
			for _, t := range v.told {
				if x, ok := t.Judge(1000*v.admittedAtMillis, s.Window().Milliseconds()); ok {
					all = append(all, x)
				}
			}
			delete(j.byID, id)
		}
	}
	j.most = most
	j.thin(most)
	if len(j.byID) < most/4 {
		j.mask.Store(j.mask.Load() >> 1)
	}
	return all
}

// judgeAll judges in all zones.
func (r *Registry) judgeAll(context.Context) {
	zones, lines := *r.zones.Load(), 0
	for _, z := range zones {
		if z.waiting.Load() > 0 {
			lines++
		}
	}
	most := max(leastJudged, min(mostJudged, judgedInAll/max(1, lines)))
	for _, z := range zones {
		for _, j := range z.judge.settle(z.now.Load(), *z.settings.Load(), most) {
			r.meter.Judged(z.id, j)
		}
	}
}

// admitsOtherwise reports whether an operator changed how many may enter.
func admitsOtherwise(was, now zone.Settings) bool {
	was, now = was.InForce(), now.InForce()
	return was.Mode != now.Mode || window.RatesOf(was) != window.RatesOf(now)
}
