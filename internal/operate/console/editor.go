package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/markup"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ofZone has h answer for the zone that the route names, as the store has it.
func (c *Console) ofZone(h func(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error) handler {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		current, err := c.Zones.Get(r.Context(), r.PathValue("zoneId"))
		if err != nil {
			return err
		}
		return h(w, r, s, current)
	}
}

// shown is what the pages of a zone and of an event have in common.
type shown struct {
	Entries []entry
	// Done is the change that was made just now, nil if none was.
	Done *entry
}

// shown also returns the record. Without it the page has its figures and controls all
// the same.
func (c *Console) shown(r *http.Request, current zone.Settings) (shown, []zone.Change) {
	changes, err := c.Zones.Changes(r.Context(), current.ZoneID, zone.MaxChanges)
	if err != nil {
		c.Logger.WarnContext(r.Context(), "record of changes not read", "zone", current.ZoneID, "error", err)
	}
	v := shown{Entries: entries(changes[:min(len(changes), shownChanges)], &current)}
	if done, found := findChange(changes, r.URL.Query().Get("done")); found {
		v.Done = &entries([]zone.Change{done}, &current)[0]
	}
	return v, changes
}

// confirmView is the page, or the dialog, that says what a change will do and
// asks.
type confirmView struct {
	// Path is where one goes without, Action where the form goes.
	Path, Action, Title string
	Effects             change.Says
	// Shown are the differences, as who reads them sees them.
	Shown []change.Difference
	// Hidden are the fields of the form: what is done, and what was seen.
	Hidden []pair
	// Button does it.
	Button string
	// Faults are what cannot be done as asked; then there is no button.
	Faults []string
}

// pair is a hidden field of a form.
type pair struct{ Name, Value string }

// changePage is GET .../change, and POST .../ask for what is too long for a query: what
// the settings would do, and a form that does it. It changes nothing.
func (c *Console) changePage(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	next, faults := c.proposal(r, current)
	return c.confirm(w, s, current, next, faults)
}

// confirm is the page that says what a change will do, and asks; or what is wrong with it.
func (c *Console) confirm(w http.ResponseWriter, s session, current, next zone.Settings, faults []string) error {
	path := zonePath(current.ZoneID)
	next, removed := markup.Clean(next)
	v := confirmView{Path: path, Action: path + "/change", Faults: faults}
	status := http.StatusOK
	switch all := change.Differences(zone.Table, current, next); {
	case len(faults) > 0:
		v.Title, status = "This cannot be set", http.StatusUnprocessableEntity
	case len(all) == 0:
		v.Title = "Nothing to change"
		v.Effects = change.Says{{Text: "All of this is set already."}}
	default:
		v.Title = titleOf(current, next, all)
		v.Button = strings.TrimSuffix(v.Title, "?")
		v.Effects = change.Zone(current, next, c.lineOf(current.ZoneID), c.clock(current.ZoneID))
		for _, text := range removed {
			v.Effects.Warn("%s", text)
		}
		v.Shown = change.Events(current, next, all)
		for _, d := range all {
			v.Hidden = append(v.Hidden, pair{wasPrefix + d.Name, d.WasText}, pair{d.Name, d.NowText})
		}
	}
	return c.render(w, status, "confirm", s, v.Title, v)
}

// shortText is how long a value may be, in bytes, to stand in a title.
const shortText = 40

// titleOf asks for a change.
func titleOf(current, next zone.Settings, all []change.Difference) string {
	name := current.ZoneID
	switch d := all[0]; {
	case len(all) > 1:
		return fmt.Sprintf("Change %d settings of %s?", len(all), name)
	case d.Name == "perMinute" && next.PerMinute == 0:
		return fmt.Sprintf("Pause %s?", name)
	case d.Name == "perMinute" && current.PerMinute == 0:
		return fmt.Sprintf("Resume %s at %s?", name, d.Now)
	case d.Name == "mode" && next.Mode == zone.ModeOpen:
		return fmt.Sprintf("Open %s to all?", name)
	case d.Name == "mode" && next.Mode == zone.ModeClosed:
		return fmt.Sprintf("Close %s to newcomers?", name)
	case d.Name == "soldOut" && len(next.SoldOut) == 0:
		return fmt.Sprintf("Take back that %s is sold out?", name)
	case d.Name == "soldOut" && len(current.SoldOut) == 0:
		return fmt.Sprintf("Say that %s is sold out?", name)
	case d.Worded, len(d.Now) > shortText: // it stands below
		return fmt.Sprintf("Change the %s of %s?", strings.ToLower(d.Label), name)
	default:
		return fmt.Sprintf("Set %s of %s to %s?", strings.ToLower(d.Label), name, d.Now)
	}
}

// change is POST .../change: sets what was confirmed, if it still is what it was
// when it was confirmed.
func (c *Console) change(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	was, faults := readSettings(zone.Table, r.PostForm, wasPrefix, current)
	now, more := readSettings(zone.Table, r.PostForm, "", was)
	if faults = append(faults, more...); len(faults) > 0 {
		return c.confirm(w, s, current, current, faults)
	}
	return c.apply(w, r, s, current, was, now)
}

// wasPrefix marks the fields of a confirmed change that say what it was shown
// to change from.
const wasPrefix = "was."

// undo is POST .../undo: puts back what a change of the record took away, unless
// others have changed the same since.
func (c *Console) undo(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	changes, err := c.Zones.Changes(r.Context(), current.ZoneID, zone.MaxChanges)
	if err != nil {
		return err
	}
	ch, found := findChange(sinceMade(changes), r.PostForm.Get("change"))
	if !found {
		return errNothing
	}
	return c.apply(w, r, s, current, *ch.Now, *ch.Was)
}

// apply makes the change from was to now on top of current and shows the page
// with what was done; or says that somebody else was faster.
func (c *Console) apply(w http.ResponseWriter, r *http.Request, s session, current, was, now zone.Settings) error {
	next, others := settable.Merge(current, was, now)
	if len(others) > 0 {
		return c.conflict(w, s, zonePath(current.ZoneID), current.ZoneID)
	}
	switch err := c.Zones.Replace(r.Context(), current, next, s.by()); {
	case errors.Is(err, line.ErrZoneChanged):
		return c.conflict(w, s, zonePath(current.ZoneID), current.ZoneID)
	case err != nil:
		return err
	}
	return c.done(w, r, zonePath(current.ZoneID), next)
}

// settable are the settings that are not the servers' own.
var settable = slices.DeleteFunc(slices.Clone(zone.Table), func(x zone.Setting) bool { return x.Own })

// conflict is the page after a change that was not made, since somebody else was faster. It leads to path, the page of name,
// whose record says who.
func (c *Console) conflict(w http.ResponseWriter, s session, path, name string) error {
	return c.render(w, http.StatusConflict, "conflict", s, "Not changed", struct{ Path, Name string }{path, name})
}

// done leads to a page after a change of a zone. The address names the change, for the page to say what was
// done and to offer its undoing. Without the record the page says nothing.
func (c *Console) done(w http.ResponseWriter, r *http.Request, path string, now zone.Settings) error {
	changes, err := c.Zones.Changes(r.Context(), now.ZoneID, recentChanges)
	if err == nil && len(changes) > 0 && changes[0].Now != nil && changes[0].Now.Equal(now) {
		path += "?done=" + changeID(changes[0])
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// deleteView is the page that asks for the name.
type deleteView struct {
	Path, Name string
	// Seen is the version that is to be deleted.
	Seen  string
	Loss  change.Says
	Fault string
}

// deletePage is GET .../delete.
func (c *Console) deletePage(w http.ResponseWriter, _ *http.Request, s session, current zone.Settings) error {
	return c.askForDelete(w, s, current, http.StatusOK, "")
}

func (c *Console) askForDelete(w http.ResponseWriter, s session, current zone.Settings, status int, fault string) error {
	name := current.ZoneID
	v := deleteView{Path: zonePath(name), Name: name, Seen: operator.Version(current), Loss: change.ZoneLoss(c.lineOf(name)), Fault: fault}
	return c.render(w, status, "delete", s, "Delete "+name+"?", v)
}

// deleteIt is POST .../delete: deletes it if its name was typed, and it still is what it was
// when the name was asked for.
func (c *Console) deleteIt(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	name := current.ZoneID
	if strings.TrimSpace(r.PostForm.Get("confirm")) != name {
		return c.askForDelete(w, s, current, http.StatusUnprocessableEntity, "That is not the zone's name. Nothing was deleted.")
	}
	err := c.Zones.Delete(r.Context(), name, s.by(), serve.Condition{IfMatch: r.PostForm.Get("seen")})
	if errors.Is(err, operator.ErrPrecondition) {
		if _, err = c.Zones.Get(r.Context(), name); err == nil {
			return c.conflict(w, s, zonePath(name), name)
		}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, root, http.StatusSeeOther)
	return nil
}
