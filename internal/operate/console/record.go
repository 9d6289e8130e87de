package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
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
	Differences []difference
	// Undo says what undoing it would do; empty where that cannot be done.
	Undo string
}

// entries shows the record, newest first. current is what it is set to now, nil for
// the record of all, which undoes nothing.
func (e *editor[T]) entries(changes []change[T], current *T) []entry {
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
				one.Differences = e.expand(blank, *c.Now, differences(e.table(blank, *c.Now), blank, *c.Now))
			}
		case c.Now == nil:
			one.What = "deleted"
		default:
			one.Differences = e.expand(*c.Was, *c.Now, differences(e.table(*c.Was, *c.Now), *c.Was, *c.Now))
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
func sinceMade[T any](changes []change[T]) []change[T] {
	if i := slices.IndexFunc(changes, func(c change[T]) bool { return c.Was == nil || c.Now == nil }); i >= 0 {
		return changes[:i]
	}
	return changes
}

// undoOf says what undoing a change would set, "" if others have changed the
// same setting since.
func (e *editor[T]) undoOf(current, was, now T) string {
	next, others := merge(settable(e.table(current, now, was)), e.clone(current), now, was)
	if len(others) > 0 || e.same(next, current) {
		return ""
	}
	back := differences(settable(e.table(now, was)), now, was)
	if len(back) > 1 {
		return fmt.Sprintf("put back %d settings", len(back))
	}
	if back[0].Name == "perMinute" && back[0].NowValue != "0" {
		return "back to " + back[0].Now
	}
	return back[0].Label + " back to " + back[0].Now
}

// changeID names a change of a zone or policy: its time, and a hash of what it set,
// for two may be made in one millisecond.
func changeID[T any](c change[T]) string {
	text, err := json.Marshal(c)
	if err != nil { // strings and whole numbers: it cannot happen
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(text) // a hash never fails
	return strconv.FormatInt(c.AtMillis, 36) + "-" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

func findChange[T any](changes []change[T], id string) (found change[T], ok bool) {
	for _, c := range changes {
		if id != "" && changeID(c) == id {
			return c, true
		}
	}
	return found, false
}

// whoChanged is who set one of these settings last, as a page names it: "Anna". For
// settings that are not known it is who set any.
func (e *editor[T]) whoChanged(changes []change[T], what []difference) (by string, at time.Time) {
	for _, c := range changes {
		if c.Was == nil || c.Now == nil {
			continue
		}
		if what == nil {
			return c.By, time.UnixMilli(c.AtMillis)
		}
		for _, one := range differences(e.table(*c.Was, *c.Now), *c.Was, *c.Now) {
			if slices.ContainsFunc(what, func(w difference) bool { return w.Name == one.Name }) {
				return c.By, time.UnixMilli(c.AtMillis)
			}
		}
	}
	return "somebody", time.Time{}
}
