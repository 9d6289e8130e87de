package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

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
			said = say{At: moment{one.At}, Full: true, Tail: ": " + one.What + "."}
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
		case p.Phase == event.PhaseAnnounced:
			s.warn("%s does not take place.", e.Name)
		case p.Phase == event.PhaseGathering:
			s.warn("%s does not take place.", e.Name)
			s.freed("People gather for it. ", now.Listed(at), waiting, "")
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
