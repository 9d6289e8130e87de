package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/change"
)

// shownChanges is how many changes a page shows.
const shownChanges = 50

// entry is one change of the record, as a page shows it.
type entry struct {
	ID string
	// Noun and Name are what was changed, Path where its pages are.
	Noun, Name, Path string
	At               time.Time
	By               string
	// What is "made", "deleted", or empty for a change of Differences.
	What        string
	Differences []change.Difference
	// Undo says what undoing it would do; empty where that cannot be done.
	Undo string
}

// entries shows the record, newest first. current is what it is set to now, nil for
// the record of all, which undoes nothing.
func (e *editor[T]) entries(changes []entryOf[T], current *T) []entry {
	all := make([]entry, 0, len(changes))
	lately := len(sinceMade(changes))
	for i, c := range changes {
		one := entry{
			ID: changeID(c), Noun: e.noun, Name: c.Name, Path: e.path(c.Name), At: time.UnixMilli(c.AtMillis),
			By: cmp.Or(c.By, "somebody without a name"),
		}
		switch {
		case c.Was == nil:
			one.What = "made"
			if c.Now != nil {
				blank := e.blank(c.Name)
				one.Differences = e.shownOf(blank, *c.Now, change.Differences(e.table, blank, *c.Now))
			}
		case c.Now == nil:
			one.What = "deleted"
		default:
			one.Differences = e.shownOf(*c.Was, *c.Now, change.Differences(e.table, *c.Was, *c.Now))
			if current != nil && i < lately {
				one.Undo = e.undoOf(*current, *c.Was, *c.Now)
			}
		}
		all = append(all, one)
	}
	return all
}

// sinceMade are the changes since it was made, newest first. What is older was
// another one of this name, and is not put back into this one.
func sinceMade[T any](changes []entryOf[T]) []entryOf[T] {
	if i := slices.IndexFunc(changes, func(c entryOf[T]) bool { return c.Was == nil || c.Now == nil }); i >= 0 {
		return changes[:i]
	}
	return changes
}

// undoOf says what undoing a change would set, "" if others have changed the
// same setting since.
func (e *editor[T]) undoOf(current, was, now T) string {
	next, others := merge(e.settable(), current, now, was)
	if len(others) > 0 || e.same(next, current) {
		return ""
	}
	back := change.Differences(e.settable(), now, was)
	if len(back) > 1 {
		return fmt.Sprintf("put back %d settings", len(back))
	}
	if back[0].Name == "perMinute" && back[0].NowText != "0" {
		return "back to " + back[0].Now
	}
	return back[0].Label + " back to " + back[0].Now
}

// changeID names a change of a zone or policy: its time, and a hash of what it set,
// for two may be made in one millisecond.
func changeID[T any](c entryOf[T]) string {
	text, err := json.Marshal(c)
	if err != nil { // strings and whole numbers: it cannot happen
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(text) // a hash never fails
	return strconv.FormatInt(c.AtMillis, 36) + "-" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

func findChange[T any](changes []entryOf[T], id string) (found entryOf[T], ok bool) {
	for _, c := range changes {
		if id != "" && changeID(c) == id {
			return c, true
		}
	}
	return found, false
}

// whoChanged is who set one of these settings last, as a page names it: "Anna". For
// settings that are not known it is who set any.
func (e *editor[T]) whoChanged(changes []entryOf[T], what []change.Difference) (by string, at time.Time) {
	for _, c := range changes {
		if c.Was == nil || c.Now == nil {
			continue
		}
		if what == nil {
			return c.By, time.UnixMilli(c.AtMillis)
		}
		for _, x := range e.table.Differences(*c.Was, *c.Now) {
			if slices.ContainsFunc(what, func(w change.Difference) bool { return w.Name == x.Name }) {
				return c.By, time.UnixMilli(c.AtMillis)
			}
		}
	}
	return "somebody", time.Time{}
}
