package console

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/openqueue/waitingroom/internal/zone"
)

// shownChanges is how many changes a page shows.
const shownChanges = 50

// entry is one change of the record, as a page shows it.
type entry struct {
	ID     string
	ZoneID string
	At     moment
	By     string
	// What is "made", "deleted", or empty for a change of Differences.
	What        string
	Differences []difference
	// Undo says what undoing it would do; empty where that cannot be done.
	Undo string
}

// entriesOf shows the record, newest first. current is what the zone is set to
// now, nil for the record of all zones, which undoes nothing.
func entriesOf(changes []zone.Change, current *zone.Settings) []entry {
	all := make([]entry, 0, len(changes))
	lately := len(sinceMade(changes))
	for i, c := range changes {
		e := entry{ID: changeID(c), ZoneID: c.ZoneID, At: millisToMoment(c.AtMillis), By: c.By}
		if e.By == "" {
			e.By = "somebody without a name"
		}
		switch {
		case c.Was == nil:
			e.What = "made"
			if c.Now != nil {
				e.Differences = differences(zone.Defaults(c.ZoneID), *c.Now)
			}
		case c.Now == nil:
			e.What = "deleted"
		default:
			e.Differences = differences(*c.Was, *c.Now)
			if current != nil && i < lately {
				e.Undo = undoOf(*current, *c.Was, *c.Now)
			}
		}
		all = append(all, e)
	}
	return all
}

// sinceMade are the changes since the zone was made, newest first. What is older
// was another zone of this name, and is not put back into this one.
func sinceMade(changes []zone.Change) []zone.Change {
	for i, c := range changes {
		if c.Was == nil || c.Now == nil {
			return changes[:i]
		}
	}
	return changes
}

// undoOf says what undoing a change would set, "" if others have changed the
// same setting since.
func undoOf(current, was, now zone.Settings) string {
	next, others := merge(current, now, was)
	if len(others) > 0 || next == current {
		return ""
	}
	back := differences(now, was)
	if len(back) > 1 {
		return fmt.Sprintf("put back %d settings", len(back))
	}
	if back[0].Name == "perMinute" && was.PerMinute > 0 {
		return "back to " + back[0].Now
	}
	return back[0].Label + " back to " + back[0].Now
}

// changeID names a change of a zone: its time, and a hash of what it set, for
// two may be made in one millisecond.
func changeID(c zone.Change) string {
	text, err := json.Marshal(c)
	if err != nil { // strings and whole numbers: it cannot happen
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(text) // a hash never fails
	return strconv.FormatInt(c.AtMillis, 36) + "-" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

func findChange(changes []zone.Change, id string) (zone.Change, bool) {
	for _, c := range changes {
		if id != "" && changeID(c) == id {
			return c, true
		}
	}
	return zone.Change{}, false
}

// resumeTo is the limit that a paused zone had: the one that the latest change
// to 0 took away. 0: the record does not say.
func resumeTo(changes []zone.Change) int64 {
	for _, c := range sinceMade(changes) {
		if c.Now.PerMinute == 0 && c.Was.PerMinute > 0 {
			return c.Was.PerMinute
		}
	}
	return 0
}

// whoChanged is the latest change that set one of these settings, as a page
// names it: "Anna".
func whoChanged(changes []zone.Change, what []difference) (by string, at moment) {
	for _, c := range changes {
		if c.Was == nil || c.Now == nil {
			continue
		}
		for _, d := range differences(*c.Was, *c.Now) {
			for _, w := range what {
				if d.Name == w.Name {
					return c.By, millisToMoment(c.AtMillis)
				}
			}
		}
	}
	return "somebody", moment{}
}
