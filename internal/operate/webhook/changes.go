package webhook

import (
	"context"
	"errors"
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

// recorded is an entry of a zone's record, with its running number; entries of 0.1.0 have none, and are not told.
type recorded struct {
	zone.Change
	N int64 `json:"n"`
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
	page, err := w.Zones.Record(ctx, zoneID, 0)
	all := make([]recorded, len(page.Entries))
	for i, text := range page.Entries {
		err = errors.Join(err, page.Decode(text, &all[i]))
	}
	if err != nil {
		return // the next tick reads it
	}
	if k.marks.Changed > 0 && (len(all) == 0 || all[0].N < k.marks.Changed) { // the record was kept for as long as it is, or lost
		k.marks.Changed, w.dirty = 0, true
	}
	k.read, k.settings = w.Now(), s
	for _, c := range slices.Backward(all) {
		if c.N <= k.marks.Changed || k.marks.Changed == 0 && c.AtMillis <= w.progress.Since {
			continue
		}
		if n := k.calls[ZoneChanged]; n != nil && len(n.list) == mostChanges {
			k.read = time.Time{} // for the others
			return
		}
		what := change.Recorded(c.Change)
		for i, text := range what {
			if len(text) > mostText {
				what[i] = text[:mostText] + "..."
			}
		}
		w.add(k, newCall(w.hook.Name, ZoneChanged, c.AtMillis, changeData{zoneID, c.Who(), c.Proof, c.Via, what}, 1, func() { k.marks.Changed = c.N }))
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
