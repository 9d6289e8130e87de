package registry

import (
	"context"
	"encoding/binary"
	"maps"
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
	// judgeEvery is how often the estimates of admitted visitors are judged.
	judgeEvery = time.Second
	// judgedAfterMillis is how long after an admission its estimates are judged. Within that second every server hears
	// of a change that an operator made before the admission.
	judgedAfterMillis = 1_000
	// At most judgedInAll visitors are looked at in all zones together, but at least leastJudged of each zone, and at
	// most mostJudged. With maxTold estimates each they take 5 MB.
	judgedInAll = 4_096
	leastJudged = 16
	mostJudged  = 512
	// maxTold is how many estimates are kept of one visitor. Of more, every second one is kept, then every fourth.
	maxTold = 32
)

// judge compares the estimates that some visitors of a zone are told with how long they waited. A visitor's id decides
// whether that visitor is looked at: in a line of n, most of n are. A visitor whom another server admits is not judged.
// The zero value is ready.
type judge struct {
	// below is the number that the ids of visitors who are looked at lie below; 0 is for all.
	below atomic.Uint32

	mu   sync.Mutex
	byID map[line.ID]*judged
}

// judged is a visitor who is looked at.
type judged struct {
	arrivedAtMicros, admittedAtMillis int64
	// dueMillis is when the visitor was told to poll again.
	dueMillis int64
	told      []estimate.Told
	// heard is how many estimates the visitor was told. Those are kept whose number is a multiple of every.
	heard, every int
}

// looksAt reports whether a visitor is looked at. A poll of any other visitor costs no more than this.
func (j *judge) looksAt(id line.ID) bool {
	below := j.below.Load()
	return below == 0 || binary.BigEndian.Uint32(id[4:]) < below
}

// hear takes in the answer to a visitor who is looked at.
func (j *judge) hear(a *line.Told) {
	switch a.Status {
	case line.Waiting:
		if a.Position > 0 { // while people gather, nobody has a position, and the estimate is when the zone opens
			j.wait(a)
		}
	case line.Admitted, line.AdmittedBefore:
		j.mu.Lock()
		defer j.mu.Unlock()
		if v := j.byID[a.Place.ID]; v != nil && v.admittedAtMillis == 0 {
			v.admittedAtMillis = a.AdmittedAtMillis
		}
	default: // the visitor has no place
	}
}

func (j *judge) wait(a *line.Told) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := j.byID[a.Place.ID]
	if v == nil || v.arrivedAtMicros != a.Place.ArrivedAtMicros {
		if len(j.byID) >= mostJudged {
			return
		}
		if j.byID == nil {
			j.byID = make(map[line.ID]*judged)
		}
		v = &judged{arrivedAtMicros: a.Place.ArrivedAtMicros, every: 1}
		j.byID[a.Place.ID] = v
	}
	v.dueMillis = a.State.NowMillis + a.PeriodMillis
	if v.heard++; v.heard%v.every > 0 {
		return
	}
	if len(v.told) == maxTold {
		for i := range maxTold / 2 {
			v.told[i] = v.told[2*i]
		}
		v.told, v.every = v.told[:maxTold/2], 2*v.every
	}
	v.told = append(v.told, estimate.Told{
		AtMicros: 1000 * a.State.NowMillis, Millis: a.EstimateMillis, LowMillis: a.LowMillis, HighMillis: a.HighMillis,
	})
}

// forget drops all estimates that were told so far: none of them is judged.
func (j *judge) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.byID)
}

// settle judges the estimates of visitors who were admitted, and forgets visitors who fell silent. From now on about most
// of those who wait are looked at. nowMillis is on the zone's clock.
func (j *judge) settle(nowMillis, waiting int64, s zone.Settings, most int) (all []estimate.Judgement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.below.Store(0)
	if waiting > int64(most) {
		j.below.Store(uint32(math.MaxUint32 / waiting * int64(most)))
	}
	maps.DeleteFunc(j.byID, func(id line.ID, v *judged) bool {
		if v.admittedAtMillis == 0 {
			return !j.looksAt(id) || v.dueMillis+s.IdleTimeout().Milliseconds() < nowMillis
		}
		if v.admittedAtMillis+judgedAfterMillis > nowMillis {
			return false
		}
		for _, t := range v.told {
			if x, ok := t.Judge(1000*v.admittedAtMillis, s.Window().Milliseconds()); ok {
				all = append(all, x)
			}
		}
		return true
	})
	return all
}

// judgeAll judges the estimates of all zones, and counts those in which people wait.
func (r *Registry) judgeAll(context.Context) {
	zones, lines := *r.zones.Load(), int64(0)
	for _, z := range zones {
		if z.waiting.Load() > 0 {
			lines++
		}
	}
	r.lines.Store(lines)
	most := max(leastJudged, min(mostJudged, judgedInAll/max(1, int(lines))))
	for _, z := range zones {
		for _, j := range z.judge.settle(z.now.Load(), z.waiting.Load(), *z.settings.Load(), most) {
			r.meter.Judged(z.id, j)
		}
	}
}

// admitsOtherwise reports whether a change of settings changes how many may enter.
func admitsOtherwise(was, now zone.Settings) bool {
	was, now = was.InForce(), now.InForce()
	return was.Mode != now.Mode || window.RatesOf(was) != window.RatesOf(now)
}
