package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// changesEvery is how often a zone's record is read if its settings are the same: they may have been changed and changed back.
	changesEvery = 5 * time.Minute
	// mostChanges is how many changes of a zone wait for their calls.
	mostChanges = 20
	// mostText is how many bytes of a changed setting are told.
	mostText = 500
)

// changed: the changes until Millis are told, and Count of those at Millis.
type changed struct {
	Millis int64 `json:"millis"`
	Count  int   `json:"count"`
}

type changeData struct {
	ZoneID string      `json:"zoneId"`
	By     string      `json:"by"`
	Proof  audit.Proof `json:"proof,omitempty"`
	Via    audit.Via   `json:"via,omitempty"`
	What   []string    `json:"what"`
}

// lookAtChanges finds changes of a zone that are not told. It reads the record if the settings in force are not those of the last time; s is
// nil for a zone that is not seen.
func (w *worker) lookAtChanges(ctx context.Context, zoneID string, s *zone.Settings, k *known) {
	if !w.hook.wants(ZoneChanged) || k.calls[ZoneChanged] != nil || w.bytes >= maxPending {
		return
	}
	if w.Now().Sub(k.read) < changesEvery && (k.settings == s || stepped(k.settings, s)) {
		k.settings = s
		return
	}
	all, err := w.Zones.Changes(ctx, zoneID)
	if err != nil {
		return // the next tick reads it
	}
	if len(all) == 0 && k.marks.Changed != nil { // the record was kept for as long as it is
		k.marks.Changed, w.dirty = nil, true
	}
	k.read, k.settings = w.Now(), s
	told, same := changed{Millis: w.progress.Since, Count: zone.MaxChanges}, 0
	if k.marks.Changed != nil {
		told = *k.marks.Changed
	}
	next := told
	for _, c := range slices.Backward(all) {
		if c.AtMillis == told.Millis {
			same++
		}
		if c.AtMillis < told.Millis || c.AtMillis == told.Millis && same <= told.Count {
			continue
		}
		if n := k.calls[ZoneChanged]; n != nil && len(n.list) == mostChanges {
			k.read = time.Time{} // for the others
			return
		}
		if c.AtMillis > next.Millis {
			next = changed{Millis: c.AtMillis}
		}
		next.Count++
		what := change.Recorded(c)
		for i, text := range what {
			if len(text) > mostText {
				what[i] = text[:mostText] + "..."
			}
		}
		after := next
		w.add(k, newCall(w.hook.Name, ZoneChanged, c.AtMillis, changeData{zoneID, c.Who(), c.Proof, c.Via, what}, 1, func() { k.marks.Changed = &after }))
	}
}

// stepped reports whether a step of the autopilot, which the record does not have, is all that has changed.
func stepped(was, s *zone.Settings) bool {
	if was == nil || s == nil || was.PilotState.AtMillis == s.PilotState.AtMillis {
		return false
	}
	before := *was
	before.PilotState, before.MaxInside = s.PilotState, s.MaxInside
	return before.Equal(*s)
}
