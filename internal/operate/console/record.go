package console

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
)

// shownChanges is how many changes a page shows.
const shownChanges = 50

// entry is one change of the record, as a page shows it.
type entry struct {
	ID string
	// Noun and Name are what was changed, Path where its pages are.
	Noun, Name, Path string
	At               moment
	By               string
	// What is "made", "deleted", or empty for a change of Differences.
	What        string
	Differences []difference
	// Undo says what undoing it would do; empty where that cannot be done.
	Undo string
}

// entries shows the record, newest first. current is what it is set to now, nil for
// the record of all, which undoes nothing.
func (d *desk[T]) entries(changes []change[T], current *T) []entry {
	all := make([]entry, 0, len(changes))
	lately := len(sinceMade(changes))
	for i, c := range changes {
		e := entry{
			ID: changeID(c), Noun: d.noun, Name: c.Name, Path: d.path(c.Name), At: millisToMoment(c.AtMillis), By: c.By,
		}
		if e.By == "" {
			e.By = "somebody without a name"
		}
		switch {
		case c.Was == nil:
			e.What = "made"
			if c.Now != nil {
				blank := d.blank(c.Name)
				e.Differences = differences(d.table(blank, *c.Now), blank, *c.Now)
			}
		case c.Now == nil:
			e.What = "deleted"
		default:
			e.Differences = differences(d.table(*c.Was, *c.Now), *c.Was, *c.Now)
			if current != nil && i < lately {
				e.Undo = d.undoOf(*current, *c.Was, *c.Now)
			}
		}
		all = append(all, e)
	}
	return all
}

// sinceMade are the changes since it was made, newest first. What is older was
// another one of this name, and is not put back into this one.
func sinceMade[T any](changes []change[T]) []change[T] {
	for i, c := range changes {
		if c.Was == nil || c.Now == nil {
			return changes[:i]
		}
	}
	return changes
}

// undoOf says what undoing a change would set, "" if others have changed the
// same setting since.
func (d *desk[T]) undoOf(current, was, now T) string {
	next, others := merge(d.table(current, now, was), d.own(current), now, was)
	if len(others) > 0 || d.same(next, current) {
		return ""
	}
	back := differences(d.table(now, was), now, was)
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
func (d *desk[T]) whoChanged(changes []change[T], what []difference) (by string, at moment) {
	for _, c := range changes {
		if c.Was == nil || c.Now == nil {
			continue
		}
		if what == nil {
			return c.By, millisToMoment(c.AtMillis)
		}
		for _, one := range differences(d.table(*c.Was, *c.Now), *c.Was, *c.Now) {
			for _, w := range what {
				if one.Name == w.Name {
					return c.By, millisToMoment(c.AtMillis)
				}
			}
		}
	}
	return "somebody", moment{}
}
