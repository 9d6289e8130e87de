package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// wasPrefix marks the fields of a confirmed change that say what it was shown
// to change from.
const wasPrefix = "was."

// confirmView is the page, or the dialog, that says what a change will do and
// asks.
type confirmView struct {
	Zone        zone.Settings
	Title       string
	Effects     []say
	Differences []difference
	// Button does it.
	Button string
	// Faults are what cannot be done as asked; then there is no button.
	Faults []string
}

// changePage is GET /console/zones/{zoneId}/change: what the settings in the
// query would do, and a form that does it. It changes nothing.
func (c *Console) changePage(w http.ResponseWriter, r *http.Request, s session) error {
	current, err := c.zones.Get(r.Context(), r.PathValue("zoneId"))
	if err != nil {
		return err
	}
	next, faults := c.proposal(r, current)
	v := confirmView{Zone: current, Faults: faults}
	status := http.StatusOK
	switch v.Differences = differences(current, next); {
	case len(faults) > 0:
		v.Title, status = "This cannot be set", http.StatusUnprocessableEntity
	case len(v.Differences) == 0:
		v.Title = "Nothing to change"
		v.Effects = []say{{Text: "All of this is set already."}}
	default:
		now, seen := c.watch.Latest(current.ZoneID)
		v.Title, v.Button = titleOf(current, next, v.Differences)
		v.Effects = effects(current, next, now, seen && now.Known(), c.now())
	}
	c.render(w, r, status, "confirm", s, v.Title, v)
	return nil
}

// proposal reads from a query what a zone is to be set to: step=-10 or 10 moves
// the limit by percents, resume=1 puts back the limit from before a pause, and
// the other fields are settings.
func (c *Console) proposal(r *http.Request, current zone.Settings) (next zone.Settings, faults []string) {
	q := r.URL.Query()
	next = current
	switch step := q.Get("step"); {
	case step == "-10":
		next.PerMinute = current.PerMinute - max(1, (current.PerMinute+5)/10)
		next.PerMinute = max(next.PerMinute, min(1, current.PerMinute)) // pausing is another button
	case step == "10":
		next.PerMinute = min(zone.MaxPerMinute, current.PerMinute+max(1, (current.PerMinute+5)/10))
	case q.Get("resume") != "":
		changes, err := c.zones.Changes(r.Context(), current.ZoneID, zone.MaxChanges)
		if err != nil {
			return next, []string{"The store does not answer just now, so the limit from before the pause is not known."}
		}
		if next.PerMinute = resumeTo(changes); next.PerMinute == 0 {
			return next, []string{"The record does not say what the limit was. Type one."}
		}
	default:
		return readSettings(q, "", current)
	}
	return next, nil
}

// readSettings sets in s what the form has, under names with this prefix.
func readSettings(form url.Values, prefix string, s zone.Settings) (zone.Settings, []string) {
	var faults []string
	for i := range settings {
		x := &settings[i]
		if values := form[prefix+x.Name]; len(values) > 0 {
			if fault := x.put(&s, values[0]); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	return s, faults
}

// titleOf is the question and the name of the button that says yes.
func titleOf(was, now zone.Settings, diffs []difference) (title, button string) {
	id := was.ZoneID
	if len(diffs) > 1 {
		return fmt.Sprintf("Change %d settings of %s?", len(diffs), id), "Change them"
	}
	switch d := diffs[0]; {
	case d.Name == "perMinute" && now.PerMinute == 0:
		return "Pause " + id + "?", "Pause"
	case d.Name == "perMinute" && was.PerMinute == 0:
		return fmt.Sprintf("Resume %s at %s a minute?", id, count(now.PerMinute)), "Resume"
	case d.Name == "perMinute":
		return fmt.Sprintf("Set the limit of %s to %s a minute?", id, count(now.PerMinute)), "Set the limit"
	case d.Name == "mode" && now.Mode == zone.ModeOpen:
		return "Open " + id + " to everybody?", "Open"
	case d.Name == "mode" && now.Mode == zone.ModeClosed:
		return "Close " + id + " to newcomers?", "Close"
	case d.Name == "mode":
		return "Line people up at " + id + " again?", "Back to queue"
	default:
		return fmt.Sprintf("Set %s of %s to %s?", strings.ToLower(d.Label), id, d.Now), "Set it"
	}
}

// conflictView is the page after a change that was not made, since somebody
// else was faster.
type conflictView struct {
	Zone   zone.Settings
	By     string
	At     moment
	Others []difference
}

// change is POST /console/zones/{zoneId}/change: sets what was confirmed, if it
// still is what it was when it was confirmed.
func (c *Console) change(w http.ResponseWriter, r *http.Request, s session) error {
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	zoneID := r.PathValue("zoneId")
	current, err := c.zones.Get(r.Context(), zoneID)
	if err != nil {
		return err
	}
	was, faults := readSettings(r.PostForm, wasPrefix, current)
	now, more := readSettings(r.PostForm, "", was)
	if faults = append(faults, more...); len(faults) > 0 {
		v := confirmView{Zone: current, Title: "This cannot be set", Faults: faults}
		c.render(w, r, http.StatusUnprocessableEntity, "confirm", s, v.Title, v)
		return nil
	}
	return c.apply(w, r, s, current, was, now)
}

// undo is POST /console/zones/{zoneId}/undo: puts back what a change of the
// record took away, unless others have changed the same since.
func (c *Console) undo(w http.ResponseWriter, r *http.Request, s session) error {
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	zoneID := r.PathValue("zoneId")
	current, err := c.zones.Get(r.Context(), zoneID)
	if err != nil {
		return err
	}
	changes, err := c.zones.Changes(r.Context(), zoneID, zone.MaxChanges)
	if err != nil {
		return err
	}
	ch, found := findChange(sinceMade(changes), r.PostForm.Get("change"))
	if !found {
		return errNothing
	}
	return c.apply(w, r, s, current, *ch.Now, *ch.Was)
}

// maxTries bounds how often a change is made anew because another one of the
// same zone, of other settings, came between.
const maxTries = 5

// apply makes the change from was to now on top of current and shows the zone
// with what was done; or shows who was faster.
func (c *Console) apply(w http.ResponseWriter, r *http.Request, s session, current, was, now zone.Settings) error {
	ctx := r.Context()
	for range maxTries {
		next, others := merge(current, was, now)
		if len(others) > 0 {
			v := conflictView{Zone: current, Others: others, By: "Somebody"}
			if changes, err := c.zones.Changes(ctx, current.ZoneID, zone.MaxChanges); err == nil {
				v.By, v.At = whoChanged(changes, others)
			}
			c.render(w, r, http.StatusConflict, "conflict", s, "Not changed", v)
			return nil
		}
		err := c.zones.Replace(ctx, current, next, s.who)
		if errors.Is(err, line.ErrZoneChanged) {
			if current, err = c.zones.Get(ctx, current.ZoneID); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		http.Redirect(w, r, zonePath(current.ZoneID)+c.doneQuery(r, current.ZoneID, next), http.StatusSeeOther)
		return nil
	}
	return line.ErrZoneChanged
}

// doneQuery names the change that was made just now, for the page to say so
// and to offer its undoing. Without the record the page says nothing.
func (c *Console) doneQuery(r *http.Request, zoneID string, now zone.Settings) string {
	changes, err := c.zones.Changes(r.Context(), zoneID, recentChanges)
	if err != nil || len(changes) == 0 || changes[0].Now == nil || *changes[0].Now != now {
		return ""
	}
	return "?done=" + changeID(changes[0])
}

func zonePath(zoneID string) string { return root + "zones/" + url.PathEscape(zoneID) }

// newView is the form for a new zone.
type newView struct {
	ZoneID string
	Fields []field
	Faults []string
}

// First are the settings that every zone wants thought of; the others are good
// as they are.
func (v newView) First() []field { return v.Fields[:firstFields] }

// Others are the rest.
func (v newView) Others() []field { return v.Fields[firstFields:] }

// firstFields are limit and mode, which begin the table of settings.
const firstFields = 2

// field is a setting in a form.
type field struct {
	*setting
	Value string
}

func fieldsOf(s zone.Settings) []field {
	all := make([]field, len(settings))
	for i := range settings {
		all[i] = field{&settings[i], settings[i].Value(s)}
	}
	return all
}

// newPage is GET /console/new.
func (c *Console) newPage(w http.ResponseWriter, r *http.Request, s session) error {
	c.render(w, r, http.StatusOK, "new", s, "New zone", newView{Fields: fieldsOf(zone.Defaults(""))})
	return nil
}

// create is POST /console/new: makes a zone, or shows the form again with what
// is wrong with it. It never changes a zone that is there.
func (c *Console) create(w http.ResponseWriter, r *http.Request, s session) error {
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	zoneID := strings.TrimSpace(r.PostForm.Get("zoneId"))
	settings, faults := readSettings(r.PostForm, "", zone.Defaults(zoneID))
	if !zone.ValidID(zoneID) {
		faults = append([]string{"Name: 1 to 64 letters A-Z a-z, digits, dots, dashes and underscores."}, faults...)
	}
	if len(faults) == 0 {
		err := c.zones.Create(r.Context(), settings, s.who)
		if err == nil {
			http.Redirect(w, r, zonePath(zoneID)+c.doneQuery(r, zoneID, settings), http.StatusSeeOther)
			return nil
		}
		if !errors.Is(err, operator.ErrExists) {
			return err
		}
		faults = []string{"There is a zone with this name already."}
	}
	v := newView{ZoneID: zoneID, Fields: fieldsOf(settings), Faults: faults}
	for i, f := range v.Fields { // what was typed, right or wrong
		if typed, given := r.PostForm[f.Name]; given {
			v.Fields[i].Value = typed[0]
		}
	}
	c.render(w, r, http.StatusUnprocessableEntity, "new", s, "New zone", v)
	return nil
}

// deleteView is the page that asks for the zone's name.
type deleteView struct {
	Zone    zone.Settings
	Waiting string
	Fault   string
}

// deletePage is GET /console/zones/{zoneId}/delete.
func (c *Console) deletePage(w http.ResponseWriter, r *http.Request, s session) error {
	return c.askForDelete(w, r, s, http.StatusOK, "")
}

func (c *Console) askForDelete(w http.ResponseWriter, r *http.Request, s session, status int, fault string) error {
	current, err := c.zones.Get(r.Context(), r.PathValue("zoneId"))
	if err != nil {
		return err
	}
	v := deleteView{Zone: current, Waiting: "an unknown number of people", Fault: fault}
	if now, seen := c.watch.Latest(current.ZoneID); seen && now.Known() {
		v.Waiting = count(now.Waiting)
	}
	c.render(w, r, status, "delete", s, "Delete "+current.ZoneID+"?", v)
	return nil
}

// remove is POST /console/zones/{zoneId}/delete: deletes the zone if its name
// was typed.
func (c *Console) remove(w http.ResponseWriter, r *http.Request, s session) error {
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	zoneID := r.PathValue("zoneId")
	if strings.TrimSpace(r.PostForm.Get("confirm")) != zoneID {
		return c.askForDelete(w, r, s, http.StatusUnprocessableEntity, "That is not the zone's name. Nothing was deleted.")
	}
	if err := c.zones.Delete(r.Context(), zoneID, s.who); err != nil {
		return err
	}
	http.Redirect(w, r, root+"?deleted="+url.QueryEscape(zoneID), http.StatusSeeOther)
	return nil
}
