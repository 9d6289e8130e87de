package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventFormView is the form of an event.
type eventFormView struct {
	ZoneID, Title string
	// Name is "" for a new one. Action is where the form goes, Back where one goes without.
	Name, Action, Back string
	// Texts are the last of the fields. During are settings that hold during the event, Expert those of them that few need.
	Fields, Texts, During, Expert []field
}

// eventTexts is how many of change.EventFields are texts for visitors: the last ones.
const eventTexts = 3

// eventForm is GET .../new-event and GET .../schedule/{event}/edit.
func (c *Console) eventForm(w http.ResponseWriter, _ *http.Request, s session, current zone.Settings, e event.Event) error {
	path := zonePath(current.ZoneID)
	fields := fieldsOf(change.EventFields, e)
	n := len(fields) - eventTexts
	for i := range fields[n:] {
		fields[n+i].Key = ""
	}
	v := eventFormView{
		ZoneID: current.ZoneID, Name: e.Name, Title: "New event at " + current.ZoneID, Action: path + "/new-event", Back: path,
		Fields: fields[:n], Texts: fields[n:],
	}
	v.During, v.Expert = duringFields(e)
	if e.Name != "" {
		v.Title, v.Back = "Change "+e.Name, eventPath(current.ZoneID, e.Name)
		v.Action = v.Back + "/edit"
	}
	return c.render(w, http.StatusOK, "eventform", s, v.Title, v)
}

// duringPrefix begins the names of the fields that set what holds during an event.
const duringPrefix = "during."

// duringUsual are the settings that most events change.
var duringUsual = []string{"perMinute", "mode", "maxWaiting", "maxInside", "message"}

// duringFields are the settings that an event may have: those of duringUsual, and the others.
func duringFields(e event.Event) (usual, others []field) {
	for _, f := range fieldsOf(zone.Table, zone.Defaults("")) {
		f.Name, f.Value = duringPrefix+f.Name, e.Settings[f.Key]
		if f.Choices != nil {
			f.Choices = append([]setting.Choice{{Label: "as before"}}, f.Choices...)
		}
		if slices.Contains(duringUsual, f.Key) {
			usual = append(usual, f)
		} else {
			others = append(others, f)
		}
	}
	return usual, others
}

// readDuring returns what the form has for the settings that hold during the event. An empty field sets nothing, but an empty
// value that the event has already stays.
func readDuring(form url.Values, was event.Values) event.Values {
	all := event.Values{}
	for i := range zone.Table {
		name := zone.Table[i].Name
		old, had := was[name]
		text := strings.TrimSpace(strings.ReplaceAll(form.Get(duringPrefix+name), "\r\n", "\n"))
		if !form.Has(duringPrefix + name) {
			text = old
		}
		if text != "" || had && old == "" {
			all[name] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// eventAsk is POST .../new-event and POST .../schedule/{event}/edit: what the form would do. It
// changes nothing.
func (c *Console) eventAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, was event.Event) error {
	e, faults := readSettings(change.EventFields, r.PostForm, "", was)
	e.Settings = readDuring(r.PostForm, e.Settings)
	next := current
	next.Events = slices.Clone(current.Events)
	if was.Name == "" {
		e.Name = strings.TrimSpace(r.PostForm.Get("name"))
		next.Events = append(next.Events, e)
	} else {
		next.Events[slices.IndexFunc(next.Events, func(one event.Event) bool { return one.Name == was.Name })] = e
	}
	if len(faults) == 0 {
		faults = c.Zones.Faults(r.Context(), current, next)
	}
	return c.confirm(w, s, current, next, faults)
}

// eventRemove is GET .../schedule/{event}/remove: what it would do to take it off the list.
func (c *Console) eventRemove(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	next := current
	next.Events = slices.DeleteFunc(slices.Clone(current.Events), func(one event.Event) bool { return one.Name == e.Name })
	return c.confirm(w, s, current, next, c.Zones.Faults(r.Context(), current, next))
}
