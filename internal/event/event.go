package event

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/setting"
)

// Order is the order in which the people who gathered are admitted.
type Order string

// The two orders.
const (
	// OrderArrival: first come, first served.
	OrderArrival Order = "arrival"
	// OrderDraw: by lot.
	OrderDraw Order = "draw"
)

const (
	// MaxEvents is how many events a zone lists.
	MaxEvents = 20
	// MaxNameLength is in bytes: "event NAME" signs in the record of changes.
	MaxNameLength = 40
	// DefaultDrawClosesSeconds is long enough for everybody who gathered to poll once more before the opening: polls
	// are 20 s apart at most.
	DefaultDrawClosesSeconds = 30
	// MinDrawClosesSeconds is the longest polling period, 20 s, and 5 s for a late poll. Below it, some would not hear
	// in time that they are first.
	MinDrawClosesSeconds = 25
	// MaxDrawClosesSeconds is an hour.
	MaxDrawClosesSeconds = 3_600
	// MaxTextLength is that of each text, in bytes.
	MaxTextLength = 1_000
)

// Event is one entry of a zone's list. Times are as setting.ParseTime reads them.
type Event struct {
	Name              string `json:"name" yaml:"name" pattern:"^[A-Za-z0-9._-]{1,40}$" doc:"Names the event in the zone." example:"noon"`
	PreQueueAt        string `json:"preQueueAt,omitempty" yaml:"preQueueAt" doc:"From when on people gather. Without it nobody does." example:"2026-12-01T11:00:00+01:00"`
	OpensAt           string `json:"opensAt" yaml:"opensAt" doc:"When people are admitted." example:"2026-12-01T12:00:00+01:00"`
	ClosesAt          string `json:"closesAt,omitempty" yaml:"closesAt" doc:"From when on the zone takes no newcomers." example:"2026-12-01T14:00:00+01:00"`
	EndsAt            string `json:"endsAt,omitempty" yaml:"endsAt" doc:"When the zone has its settings of before again." example:"2026-12-01T15:00:00+01:00"`
	Order             Order  `json:"order,omitempty" yaml:"order" default:"arrival" doc:"In which order those go in who gathered."`
	DrawClosesSeconds int64  `json:"drawClosesSeconds,omitempty" yaml:"drawClosesSeconds" minimum:"25" maximum:"3600" default:"30" doc:"How long before the opening everybody has a place." example:"30"`
	Settings          Values `json:"settings,omitempty" yaml:"settings" doc:"Settings of the zone that hold from preQueueAt to endsAt, by name." example:"{perMinute: '6000'}"`
	Texts             Texts  `json:"texts,omitzero" yaml:"texts" doc:"For those who come, by language." example:"{before: {en: It opens at noon.}}"`
}

// Texts are what visitors are told before, during and after the event, each by language tag, such as en or pt-BR.
type Texts struct {
	Before map[string]string `json:"before,omitempty" yaml:"before" maxLength:"1000" doc:"Until it opens." example:"{en: It opens at noon.}"`
	During map[string]string `json:"during,omitempty" yaml:"during" maxLength:"1000" doc:"While it is open." example:"{en: It is open.}"`
	After  map[string]string `json:"after,omitempty" yaml:"after" maxLength:"1000" doc:"When it is closed." example:"{en: It is over.}"`
}

// Values are settings by name, each as it is typed on a command line. In JSON, numbers, truth values and lists of
// strings may stand for such texts.
type Values map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*v = make(Values, len(all))
	for name, value := range all {
		text := string(value)
		if strings.HasPrefix(text, `"`) {
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
		}
		(*v)[name] = text
	}
	return nil
}

// times are the event's times as they are listed, in Unix milliseconds, and what is wrong with each.
func (e Event) times() (p Progress, faults []string) {
	p = Progress{Event: e, Phase: PhaseAnnounced, Order: cmp.Or(e.Order, OrderArrival)}
	for _, one := range []struct {
		name, text string
		at         *int64
	}{
		{"preQueueAt", e.PreQueueAt, &p.PreQueueAtMillis}, {"opensAt", e.OpensAt, &p.OpensAtMillis},
		{"closesAt", e.ClosesAt, &p.ClosesAtMillis}, {"endsAt", e.EndsAt, &p.EndsAtMillis},
	} {
		if one.text == "" {
			continue
		}
		t, err := setting.ParseTime(one.text)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s %q %v", one.name, one.text, err))
		}
		*one.at = max(0, t.UnixMilli())
	}
	if e.OpensAt == "" {
		faults = append(faults, "opensAt is missing")
	}
	if e.PreQueueAt == "" {
		p.PreQueueAtMillis = p.OpensAtMillis
	}
	p.settle()
	return p, faults
}

// Listed is the event as it is listed: no step was made. Times that cannot be read are 0.
func (e Event) Listed() *Progress {
	p, _ := e.times()
	return &p
}

// drawCloses is how many milliseconds before the opening people settle.
func (e Event) drawCloses() int64 {
	return cmp.Or(e.DrawClosesSeconds, DefaultDrawClosesSeconds) * 1000
}

// Location is the time zone in which the event's times are shown: that of its opening.
func (e Event) Location() *time.Location {
	if t, err := setting.ParseTime(e.OpensAt); err == nil {
		return t.Location()
	}
	return time.UTC
}

// faults lists what is wrong with an event, whatever else is on the list.
func (e Event) faults() (faults []string) {
	add := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	if !ValidName(e.Name) {
		add("name %q must be 1 to %d of A-Z a-z 0-9 . _ -", e.Name, MaxNameLength)
	}
	p, wrong := e.times()
	if len(wrong) > 0 {
		return append(faults, wrong...)
	}
	if fault := p.inOrder(); fault != "" {
		add("%s", fault)
	}
	if s := e.DrawClosesSeconds; s != 0 && (s < MinDrawClosesSeconds || s > MaxDrawClosesSeconds) {
		add("drawClosesSeconds is %d, must be between %d and %d", s, MinDrawClosesSeconds, MaxDrawClosesSeconds)
	}
	if !slices.Contains([]Order{"", OrderArrival, OrderDraw}, e.Order) {
		add("order %q must be arrival or draw", e.Order)
	}
	for _, texts := range []map[string]string{e.Texts.Before, e.Texts.During, e.Texts.After} {
		for language, text := range texts {
			if len(language) == 0 || len(language) > MaxNameLength {
				add("texts: %q must be a language, as en", language)
			}
			if err := setting.CheckText(text, MaxTextLength); err != nil {
				add("texts: %q %v", language, err)
			}
		}
	}
	return faults
}

// Fault says what is wrong with a list, in a sentence that lacks its subject; "" for nothing. State.ListFault says what
// speaks against replacing another list by it.
func Fault(list []Event) string {
	if len(list) > MaxEvents {
		return fmt.Sprintf("has %d events, must have at most %d", len(list), MaxEvents)
	}
	for i, e := range list {
		if faults := e.faults(); len(faults) > 0 {
			return fmt.Sprintf("%q: %s", e.Name, strings.Join(faults, "; "))
		}
		for _, other := range list[:i] {
			a, b := other.Listed(), e.Listed()
			if a.OpensAtMillis > b.OpensAtMillis {
				a, b = b, a
			}
			switch {
			case other.Name == e.Name:
				return fmt.Sprintf("has two events %q", e.Name)
			case b.PreQueueAtMillis <= a.over():
				return fmt.Sprintf("%q overlaps %q: that begins at %s, this is not over until %s",
					a.Event.Name, b.Event.Name, inUTC(b.PreQueueAtMillis), inUTC(a.over()))
			}
		}
	}
	return ""
}

// inUTC writes a time, Unix milliseconds, as RFC 3339 does.
func inUTC(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }

// find returns the event of that name; nil for none.
func find(list []Event, name string) *Event {
	if i := slices.IndexFunc(list, func(e Event) bool { return e.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// same reports whether two entries of a list mean the same, however each writes it.
func (e Event) same(other Event) bool {
	return e.Name == other.Name && e.sameTimes(other) && cmp.Or(e.Order, OrderArrival) == cmp.Or(other.Order, OrderArrival) &&
		e.drawCloses() == other.drawCloses() && maps.Equal(e.Settings, other.Settings) && maps.Equal(e.Texts.Before, other.Texts.Before) &&
		maps.Equal(e.Texts.During, other.Texts.During) && maps.Equal(e.Texts.After, other.Texts.After)
}

// sameTimes reports whether both are listed for the same moments.
func (e Event) sameTimes(other Event) bool {
	a, b := e.Listed(), other.Listed()
	return !slices.ContainsFunc(Steps, func(step Step) bool { return *a.at(step) != *b.at(step) })
}

// ValidName reports whether an event can have the name.
func ValidName(name string) bool {
	return len(name) <= MaxNameLength && name != "." && name != ".." && validName.MatchString(name)
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
