package zones

import (
	"context"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// judgeEvery is how often silent visitors are forgotten, and the sample is fitted to the line.
	judgeEvery = time.Second
	// mostJudged is how many visitors of a zone are looked at: some 30 KB.
	mostJudged = 256
)

// judge compares an estimate that some visitors of a zone are told with how long they waited. A visitor's id decides
// whether that visitor is looked at: in a line of n, mostJudged of n are. The zero value is ready.
type judge struct {
	// below is the number that the ids of visitors who are looked at lie below; 0 is for all.
	below atomic.Uint32

	mu   sync.Mutex
	byID map[line.ID]judged
}

// judged is a visitor who is looked at.
type judged struct {
	arrivedAtMicros int64
	// dueMillis is when the visitor was told to poll again.
	dueMillis int64
	// told is one of the heard estimates that the visitor was told, each as likely as any other.
	told  estimate.Prediction
	heard int
}

// looksAt reports whether a visitor is looked at. A poll of any other visitor costs no more than this.
func (j *judge) looksAt(id line.ID) bool {
	below := j.below.Load()
	return below == 0 || binary.BigEndian.Uint32(id[4:]) < below
}

// hear takes in the answer to a visitor who is looked at. It returns how good the estimate was if the visitor is admitted;
// ok is false if there is nothing to judge.
func (j *judge) hear(a *line.Told, windowMillis int64) (is estimate.Judgement, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, known := j.byID[a.Place.ID]
	switch {
	case a.Status == line.Waiting && a.Position > 0: // while people gather, nobody has a position
		if v.arrivedAtMicros != a.Place.ArrivedAtMicros {
			v = judged{arrivedAtMicros: a.Place.ArrivedAtMicros}
		}
		if !known && len(j.byID) >= mostJudged {
			return is, false
		}
		if j.byID == nil {
			j.byID = make(map[line.ID]judged)
		}
		v.dueMillis = a.State.NowMillis + a.PeriodMillis
		if v.heard++; rand.IntN(v.heard) == 0 {
			v.told = estimate.Prediction{AtMicros: 1000 * a.State.NowMillis, Millis: a.EstimateMillis, LowMillis: a.LowMillis, HighMillis: a.HighMillis}
		}
		j.byID[a.Place.ID] = v
	case known && (a.Status == line.Admitted || a.Status == line.AdmittedBefore):
		delete(j.byID, a.Place.ID)
		return v.told.Judge(1000*a.AdmittedAtMillis, windowMillis)
	}
	return is, false
}

// forget drops all estimates that were told so far: none of them is judged.
func (j *judge) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.byID)
}

// fit forgets visitors who fell silent. From now on about mostJudged of those who wait are looked at. nowMillis is on the
// zone's clock.
func (j *judge) fit(nowMillis, waiting int64, idle time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.below.Store(0)
	if waiting > mostJudged {
		j.below.Store(uint32(math.MaxUint32 / waiting * mostJudged))
	}
	maps.DeleteFunc(j.byID, func(id line.ID, v judged) bool {
		return !j.looksAt(id) || v.dueMillis+idle.Milliseconds() < nowMillis
	})
}

// judgeAll fits the samples of all zones, and counts those in which people wait.
func (r *Zones) judgeAll(context.Context) {
	lines := int64(0)
	for _, z := range *r.zones.Load() {
		if z.waiting.Load() > 0 {
			lines++
		}
		z.judge.fit(z.now.Load(), z.waiting.Load(), z.settings.Load().IdleTimeout())
	}
	r.lines.Store(lines)
}

// admitsOtherwise reports whether a change of settings changes how many may enter.
func admitsOtherwise(was, now zone.Settings) bool {
	was, now = was.InForce(), now.InForce()
	return was.Mode != now.Mode || window.RatesOf(was) != window.RatesOf(now)
}
