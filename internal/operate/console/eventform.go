package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventFormView is the form of an event.
type eventFormView struct {
	ZoneID, Title string
	// Name is "" for a new one. Action is where the form goes, Back where one goes without.
	Name, Action, Back string
	Times              []field
	Order, Others      []field
	// Limit is the first of Settings, which hold during it.
	Limit    field
	Settings []field
	Texts    []field
}

// duringPrefix marks the settings that hold during an event.
const duringPrefix = "during."

// eventForm is GET .../new-event and GET .../schedule/{event}/edit.
func (c *Console) eventForm(w http.ResponseWriter, _ *http.Request, s session, current zone.Settings, e event.Event) error {
	path := pathIn(zoneFolder)(current.ZoneID)
	v := eventFormView{ZoneID: current.ZoneID, Name: e.Name, Title: "New event at " + current.ZoneID, Action: path + "/new-event", Back: path}
	if e.Name != "" {
		v.Title, v.Back = "Change "+e.Name, eventPath(current.ZoneID, e.Name)
		v.Action = v.Back + "/edit"
	}
	v.Times = []field{
		{Name: "preQueueAt", Label: "People gather from", Hint: "Without, nobody gathers.", Value: e.PreQueueAt},
		{Name: "opensAt", Label: "It opens", Hint: "From then on people are let in.", Value: e.OpensAt},
		{Name: "closesAt", Label: "No newcomers from", Hint: "Without, newcomers are taken to the end.", Value: e.ClosesAt},
		{Name: "endsAt", Label: "It ends", Hint: "Then the settings of before hold again. Without, they stay.", Value: e.EndsAt},
	}
	closes := ""
	if e.DrawClosesSeconds != 0 {
		closes = strconv.FormatInt(e.DrawClosesSeconds, 10)
	}
	v.Order = []field{
		{
			Name: "order", Label: "Order of those who gathered", Value: string(e.Order), Hint: "Drawn: everybody who gathered gets a random place, which anybody can check.",
			Choices: []setting.Choice{{Value: "", Label: "as they came"}, {Value: string(event.OrderDraw), Label: "drawn"}},
		},
		{Name: "drawClosesSeconds", Label: "Places are fixed, seconds before", Value: closes, Number: true, Hint: "25 to 3,600. Without, 30. Who comes later stands behind."},
	}
	if e.Order == event.OrderArrival {
		v.Order[0].Choices[0].Value = string(event.OrderArrival)
	}
	v.Others = []field{{
		Name: "recurs", Label: "Again", Value: e.Recurs,
		Hint: "As cron has it, such as CRON_TZ=Europe/Berlin 0 12 * * 5 for Fridays at noon; without CRON_TZ in UTC. Empty, it takes place once.",
	}}
	for _, f := range fieldsOf(zone.Table, current) {
		now := f.Value
		f.Name, f.Value = duringPrefix+f.Name, e.Settings[f.Name]
		if f.Choices != nil {
			f.Choices = append([]setting.Choice{{Value: "", Label: "as it is"}}, f.Choices...)
		} else if f.Number {
			f.Hint += " Empty: as it is, now " + now + "."
		}
		v.Settings = append(v.Settings, f)
	}
	v.Limit, v.Settings = v.Settings[0], v.Settings[1:]
	const languages = " Below, a line for each other language: de: Um zwölf geht es los."
	v.Texts = []field{
		{Name: "before", Label: "Text before the opening", Lines: true, Value: setting.Texts(e.Texts.Before).String(), Hint: "For who comes before." + languages},
		{Name: "during", Label: "Text while it is open", Lines: true, Value: setting.Texts(e.Texts.During).String(), Hint: "For who waits then."},
		{Name: "after", Label: "Text after it", Lines: true, Value: setting.Texts(e.Texts.After).String(), Hint: "For who comes when it is over."},
	}
	return c.render(w, http.StatusOK, "eventform", s, v.Title, v)
}

// eventAsk is POST .../new-event and POST .../schedule/{event}/edit: what the form would do. It
// changes nothing.
func (c *Console) eventAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, was event.Event) error {
	e, faults := readEvent(r.PostForm, was)
	next := current
	next.Events = slices.Clone(current.Events)
	if i := slices.IndexFunc(next.Events, func(one event.Event) bool { return one.Name == was.Name }); i >= 0 {
		next.Events[i] = e
	} else {
		next.Events = append(next.Events, e)
	}
	if len(faults) == 0 {
		faults = c.Zones.Faults(r.Context(), current, next)
	}
	return c.zoneEditor.confirm(w, r, s, current, next, faults)
}

// eventRemove is GET .../schedule/{event}/remove: what it would do to take it off the list.
func (c *Console) eventRemove(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	next := current
	next.Events = slices.DeleteFunc(slices.Clone(current.Events), func(one event.Event) bool { return one.Name == e.Name })
	return c.zoneEditor.confirm(w, r, s, current, next, nil)
}

// readEvent is the event of a form; was is the one that it changes, whose name it keeps.
func readEvent(form url.Values, was event.Event) (e event.Event, faults []string) {
	typed := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
	}
	e = event.Event{
		Name: was.Name, PreQueueAt: typed("preQueueAt"), OpensAt: typed("opensAt"), ClosesAt: typed("closesAt"), EndsAt: typed("endsAt"),
		Recurs: typed("recurs"), Order: event.Order(typed("order")), Settings: event.Values{},
	}
	if e.Name == "" {
		e.Name = typed("name")
	}
	if text := typed("drawClosesSeconds"); text != "" {
		n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
		if err != nil {
			faults = append(faults, "Places are fixed: write a whole number of seconds, 25 to 3,600.")
		}
		e.DrawClosesSeconds = n
	}
	for _, x := range zone.Table {
		value, given := was.Settings[x.Name]
		switch text := typed(duringPrefix + x.Name); {
		case text != "":
			e.Settings[x.Name] = text
		case given && (strings.TrimSpace(value) == "" || !form.Has(duringPrefix+x.Name)):
			e.Settings[x.Name] = value // what a form cannot say
		}
	}
	if len(e.Settings) == 0 {
		e.Settings = nil
	}
	for _, one := range []struct {
		name    string
		was, to *map[string]string
	}{
		{"before", &was.Texts.Before, &e.Texts.Before}, {"during", &was.Texts.During, &e.Texts.During}, {"after", &was.Texts.After, &e.Texts.After},
	} {
		*one.to = *one.was
		if text := typed(one.name); text != strings.TrimSpace(setting.Texts(*one.was).String()) {
			var all setting.Texts
			if err := all.UnmarshalText([]byte(text)); err != nil {
				faults = append(faults, "Text "+one.name+": it "+err.Error()+".")
			}
			if *one.to = all; len(all) == 0 {
				*one.to = nil
			}
		}
	}
	return e, faults
}

// eventTitle is the question about a change of the list, and the name of the button that says
// yes.
func eventTitle(was, now zone.Settings) (title, button string) {
	is := eventsByName(now.Events)
	before := eventsByName(was.Events)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, stays := is[name]; !stays {
			return "Remove " + name + " from " + was.ZoneID + "?", "Remove it"
		}
	}
	for _, e := range now.Events {
		if _, known := before[e.Name]; !known {
			return "List " + e.Name + " at " + was.ZoneID + "?", "List it"
		}
	}
	return "Change the events of " + was.ZoneID + "?", "Change them"
}

func eventsByName(list []event.Event) map[string]event.Event {
	all := make(map[string]event.Event, len(list))
	for _, e := range list {
		all[e.Name] = e
	}
	return all
}

// eventsSetting is the name of the list among a zone's settings.
const eventsSetting = "events"

// expandEvents puts what differs in a list of events in place of the list.
func expandEvents(was, now zone.Settings, all []difference) []difference {
	i := slices.IndexFunc(all, func(d difference) bool { return d.Name == eventsSetting })
	if i < 0 {
		return all
	}
	return slices.Concat(all[:i], eventDifferences(was.Events, now.Events), all[i+1:])
}

// eventDifferences are what is not the same in two lists, by event and field.
func eventDifferences(was, now []event.Event) (all []difference) {
	before, after := eventsByName(was), eventsByName(now)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, listed := before[name]
		a, stays := after[name]
		switch {
		case !listed:
			all = append(all, difference{Label: "Event " + name, Was: "none", Now: "opens " + a.OpensAt})
		case !stays:
			all = append(all, difference{Label: "Event " + name, Was: "opens " + b.OpensAt, Now: "none"})
		default:
			all = append(all, fieldDifferences(name, b, a)...)
		}
	}
	return all
}

// fieldDifferences are what is not the same in two versions of an event.
func fieldDifferences(name string, was, now event.Event) (all []difference) {
	before, after := membersOf(was), membersOf(now)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	word := func(value json.RawMessage) string { return cmp.Or(strings.Trim(string(value), `"`), "none") }
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !bytes.Equal(before[key], after[key]) {
			all = append(all, difference{Label: name + ", " + key, Was: word(before[key]), Now: word(after[key])})
		}
	}
	return all
}

// membersOf are the fields of an event that are not empty, as JSON.
func membersOf(e event.Event) (all map[string]json.RawMessage) {
	text, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil { // strings and numbers: it cannot happen
		return nil
	}
	return all
}

// planSays is what an event still does when, in words, as zones apply --check says it.
func planSays(s zone.Settings, e event.Event, now time.Time) (all []say) {
	p := s.EventState.Of(e, now)
	if p == nil {
		return nil
	}
	for _, one := range s.PlanOf(p) {
		if one.Made {
			continue
		}
		said := say{Text: labels[one.Step] + " (held):", Tail: " " + one.What + "."}
		if !one.At.IsZero() {
			said = say{At: one.At, Full: true, Tail: ": " + one.What + "."}
		}
		all = append(all, said)
	}
	return all
}

// events adds what a change of the list does.
func (s *says) events(was, now zone.Settings, waiting string, at time.Time) {
	before, after := eventsByName(was.Events), eventsByName(now.Events)
	for _, e := range was.Events {
		if _, stays := after[e.Name]; stays {
			continue
		}
		switch p := was.EventState.Of(e, at); {
		case p == nil: // it is over
		case p.Phase == event.PhaseAnnounced, p.Phase == event.PhaseGathering:
			s.warn("%s does not take place.", e.Name)
			if p.Phase == event.PhaseGathering {
				s.freed("People gather for it. ", now.Listed(at), waiting, "")
			}
		default:
			s.warn("%s is under way, and ends now: the settings of before hold again.", e.Name)
		}
	}
	for _, e := range now.Events {
		if b, listed := before[e.Name]; listed && len(fieldDifferences(e.Name, b, e)) == 0 {
			continue
		}
		plan := planSays(now.Listed(at), e, at)
		if len(plan) == 0 {
			s.warn("%s: %s.", e.Name, zone.NothingComes)
		}
		*s = append(*s, plan...)
		if e.Recurs != "" {
			s.add("It comes again: %s.", e.Recurs)
		}
	}
}
