package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// shownChanges is how many changes the page of a zone shows, allChanges the record of all.
	shownChanges = 50
	allChanges   = 200
)

// entry is one change of the record, as a page shows it.
type entry struct {
	ID string
	// Noun and Name are what was changed, Path where its pages are.
	Noun, Name, Path string
	At               time.Time
	// By is who, and How how that was proven.
	By, How string
	// What is "made", "deleted", or empty for a change of Differences; without a Noun, what was done to Name.
	What        string
	Differences []change.Difference
	// Undo says what undoing it would do; empty where that cannot be done.
	Undo string
}

// entries shows the record of zones, newest first. current is what the zone is set to now, nil for
// the record of all, which undoes nothing.
func entries(changes []zone.Change, current *zone.Settings) []entry {
	all := make([]entry, 0, len(changes))
	lately := len(sinceMade(changes))
	for i, c := range changes {
		one := entry{ID: changeID(c), Noun: "zone", Name: c.ZoneID, Path: zonePath(c.ZoneID), At: time.UnixMilli(c.AtMillis), By: c.Who(), How: c.How()}
		blank := zone.Defaults(c.ZoneID)
		says(&one, zone.Table, c.Was, c.Now, blank)
		if c.Now != nil {
			one.Differences = change.Events(*cmp.Or(c.Was, &blank), *c.Now, one.Differences)
		}
		if current != nil && i < lately {
			one.Undo = undoOf(*current, *c.Was, *c.Now)
		}
		all = append(all, one)
	}
	return all
}

// says sets what a change did. blank is what a new one is compared with.
func says[T any](e *entry, t setting.Table[T], was, now *T, blank T) {
	e.By = cmp.Or(e.By, "somebody without a name")
	switch {
	case now == nil:
		e.What = "deleted"
		return
	case was == nil:
		e.What, was = "made", &blank
	}
	e.Differences = change.Differences(t, *was, *now)
}

// changesPage is GET /console/changes: of zones and of policies.
func (c *Console) changesPage(w http.ResponseWriter, r *http.Request, s session) error {
	record, err := c.Zones.Recorded(r.Context(), "", "", allChanges)
	if err != nil {
		return err
	}
	all := entries(record.Zones, nil)
	for _, p := range record.Policies {
		one := entry{Noun: "policy", Name: p.Policy, Path: root + "limits", At: time.UnixMilli(p.AtMillis), By: p.Who(), How: p.How()}
		says(&one, change.Policies, p.Was, p.Now, limit.Policy{Name: p.Policy}.WithDefaults())
		all = append(all, one)
	}
	for _, e := range record.Operators {
		all = append(all, entry{At: time.UnixMilli(e.AtMillis), By: e.Who(), How: e.How(), What: e.Did, Name: e.To})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.At.Compare(a.At) })
	var verified []string
	if r.URL.Query().Has("verify") { // reads all entries of all records
		if verified, err = c.verified(r.Context()); err != nil {
			return err
		}
	}
	return c.render(w, http.StatusOK, "changes", s, "Record of changes", recordPage{all[:min(len(all), allChanges)], verified})
}

// recordPage is what the page of the record shows.
type recordPage struct {
	Entries []entry
	// Verified says whether the records verify that the person may see: a line, or one for each fault; nil if nobody asked.
	Verified []string
}

// verified checks all records that a person may see.
func (c *Console) verified(ctx context.Context) (says []string, err error) {
	all, err := c.Zones.Verify(ctx, "")
	for _, r := range all.Records {
		for _, f := range r.Faults {
			says = append(says, "TAMPERED: "+r.Record+": "+f.What)
		}
	}
	if len(says) == 0 {
		says = append(says, "Verified: every entry is as a server of this room wrote it.")
	}
	return says, err
}

// sinceMade are the changes since the zone was made, newest first. What is older was
// another one of this name, and is not put back into this one.
func sinceMade(changes []zone.Change) []zone.Change {
	if i := slices.IndexFunc(changes, func(c zone.Change) bool { return c.Was == nil || c.Now == nil }); i >= 0 {
		return changes[:i]
	}
	return changes
}

// undoOf says what undoing a change would set, "" if others have changed the
// same setting since.
func undoOf(current, was, now zone.Settings) string {
	next, others := settable.Merge(current, now, was)
	if len(others) > 0 || next.Equal(current) {
		return ""
	}
	back := change.Differences(settable, now, was)
	if len(back) > 1 {
		return fmt.Sprintf("put back %d settings", len(back))
	}
	if back[0].Name == "perMinute" && back[0].NowText != "0" {
		return "back to " + back[0].Now
	}
	return back[0].Label + " back to " + back[0].Now
}

// changeID names a change of a zone: its time. Of two that were made in one millisecond the newer one is found; an undo is
// refused where the settings are not as that one left them.
func changeID(c zone.Change) string { return strconv.FormatInt(c.AtMillis, 36) }

func findChange(changes []zone.Change, id string) (found zone.Change, ok bool) {
	if i := slices.IndexFunc(changes, func(c zone.Change) bool { return changeID(c) == id }); i >= 0 {
		return changes[i], true
	}
	return found, false
}
