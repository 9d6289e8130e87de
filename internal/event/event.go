package event

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for CRON_TZ= in the image, which has no zones of its own

	"github.com/robfig/cron/v3"
)

// Order is the order in which the people who gathered are let in.
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
	// looked is how many occurrences of an event that recurs are searched for overlaps.
	looked = 20
)

// Event is one entry of a zone's list. Times are RFC 3339.
type Event struct {
	// Name has 1 to 40 of the characters A-Z a-z 0-9 . _ -
	Name string `json:"name" yaml:"name"`
	// PreQueueAt is when people begin to gather; empty: nobody gathers.
	PreQueueAt string `json:"preQueueAt,omitempty" yaml:"preQueueAt"`
	// OpensAt is when the first are let in.
	OpensAt string `json:"opensAt" yaml:"opensAt"`
	// ClosesAt is when newcomers begin to be refused. At EndsAt the zone gets back the settings that it had before
	// the event. Either may be empty.
	ClosesAt string `json:"closesAt,omitempty" yaml:"closesAt"`
	EndsAt   string `json:"endsAt,omitempty" yaml:"endsAt"`
	// Recurs says in cron's syntax when the event opens again, after OpensAt. The other times are as far from that
	// opening as they are from OpensAt. It may begin with CRON_TZ=Europe/Berlin and a blank; without, it is in UTC.
	// Empty: the event does not recur.
	Recurs string `json:"recurs,omitempty" yaml:"recurs"`
	// Order is arrival or draw; empty: arrival.
	Order Order `json:"order,omitempty" yaml:"order"`
	// DrawClosesSeconds is how long before the opening people settle; 0: 30 s.
	DrawClosesSeconds int64 `json:"drawClosesSeconds,omitempty" yaml:"drawClosesSeconds"`
	// Settings are settings of the zone, by name, as they are from PreQueueAt to EndsAt.
	Settings Values `json:"settings,omitempty" yaml:"settings"`
	// Texts are shown to visitors.
	Texts Texts `json:"texts,omitzero" yaml:"texts"`
}

// Texts are what visitors are told before, during and after the event, each by language tag, such as en or pt-BR.
type Texts struct {
	Before map[string]string `json:"before,omitempty" yaml:"before"`
	During map[string]string `json:"during,omitempty" yaml:"during"`
	After  map[string]string `json:"after,omitempty" yaml:"after"`
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

// Occurrence is one time that an event takes place.
type Occurrence struct {
	Event Event
	// PreQueue is Opens if nobody gathers. Closes and Ends are zero if the event has no such step.
	PreQueue, Settles, Opens, Closes, Ends time.Time
}

// first is the occurrence at OpensAt itself.
func (e Event) first() (o Occurrence, err error) {
	o.Event = e
	var errs []error
	at := func(name, text string) (t time.Time) {
		if text == "" {
			return t
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q must be a time as 2026-12-01T12:00:00+01:00", name, text))
		}
		return t
	}
	if e.OpensAt == "" {
		errs = append(errs, errors.New("opensAt is missing"))
	}
	o.PreQueue, o.Opens = at("preQueueAt", e.PreQueueAt), at("opensAt", e.OpensAt)
	o.Closes, o.Ends = at("closesAt", e.ClosesAt), at("endsAt", e.EndsAt)
	if o.PreQueue.IsZero() {
		o.PreQueue = o.Opens
	}
	o.settle()
	return o, errors.Join(errs...)
}

// drawCloses is how many seconds before the opening people settle.
func (e Event) drawCloses() int64 { return cmp.Or(e.DrawClosesSeconds, DefaultDrawClosesSeconds) }

// settle sets Settles from Opens.
func (o *Occurrence) settle() {
	if o.Settles = o.Opens.Add(-time.Duration(o.Event.drawCloses()) * time.Second); o.Settles.Before(o.PreQueue) {
		o.Settles = o.PreQueue
	}
}

// at is the occurrence with all times shifted so that it opens then.
func (o Occurrence) at(opens time.Time) Occurrence {
	by := opens.Sub(o.Opens)
	for _, t := range []*time.Time{&o.PreQueue, &o.Settles, &o.Opens, &o.Closes, &o.Ends} {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	return o
}

// Next is the first occurrence that opens after the time. ok is false if there is none,
// or if the event is not valid.
func (e Event) Next(after time.Time) (o Occurrence, ok bool) {
	o, err := e.first()
	if err != nil || o.Opens.After(after) || e.Recurs == "" {
		return o, err == nil && o.Opens.After(after)
	}
	s, err := schedule(e.Recurs)
	if err != nil {
		return o, false
	}
	opens := s.Next(after)
	if d, every := s.(cron.ConstantDelaySchedule); every { // its own Next counts from the time it is given, not from the opening
		opens = after.Add(d.Delay - after.Sub(o.Opens)%d.Delay)
	}
	return o.at(opens), !opens.IsZero()
}

// Location is the time zone in which the event's times are shown: that of its schedule, else the offset of its opening.
func (e Event) Location() *time.Location {
	if zone, _, found := strings.Cut(e.Recurs, " "); found && strings.Contains(zone, "TZ=") {
		if l, err := time.LoadLocation(zone[strings.Index(zone, "=")+1:]); err == nil {
			return l
		}
	}
	if o, err := e.first(); err == nil {
		return o.Opens.Location()
	}
	return time.UTC
}

// schedule parses Recurs.
func schedule(text string) (cron.Schedule, error) {
	switch in := strings.HasPrefix(text, "CRON_TZ=") || strings.HasPrefix(text, "TZ="); {
	case !in:
		text = "CRON_TZ=UTC " + text
	case !strings.Contains(text, " "): // cron's parser would panic
		return nil, errors.New("a time zone, and no times")
	}
	return cron.ParseStandard(text)
}

// faults lists what is wrong with an event, whatever else is on the list.
func (e Event) faults() (faults []string) {
	add := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	if !ValidName(e.Name) {
		add("name %q must be 1 to %d of A-Z a-z 0-9 . _ -", e.Name, MaxNameLength)
	}
	o, err := e.first()
	if err != nil {
		add("%v", strings.ReplaceAll(err.Error(), "\n", "; "))
		return faults
	}
	last, name := o.PreQueue, "preQueueAt"
	for _, step := range []struct {
		name string
		at   time.Time
	}{{"opensAt", o.Opens}, {"closesAt", o.Closes}, {"endsAt", o.Ends}} {
		if step.at.IsZero() {
			continue
		}
		if step.at.Before(last) || step.at.Equal(last) && name != "preQueueAt" {
			add("%s is not after %s", step.name, name)
		}
		last, name = step.at, step.name
	}
	if s := e.DrawClosesSeconds; s != 0 && (s < MinDrawClosesSeconds || s > MaxDrawClosesSeconds) {
		add("drawClosesSeconds is %d, must be between %d and %d", s, MinDrawClosesSeconds, MaxDrawClosesSeconds)
	}
	switch e.Order {
	case "", OrderArrival:
	case OrderDraw:
		if !o.Settles.After(o.PreQueue) {
			add("with a draw, preQueueAt must be more than drawClosesSeconds before opensAt")
		}
	default:
		add("order %q must be arrival or draw", e.Order)
	}
	if e.Recurs != "" {
		if _, err := schedule(e.Recurs); err != nil {
			add("recurs %q is no schedule as cron has it, such as 0 12 * * 5: %v", e.Recurs, err)
		}
	}
	for _, texts := range []map[string]string{e.Texts.Before, e.Texts.During, e.Texts.After} {
		for language, text := range texts {
			if len(language) == 0 || len(language) > MaxNameLength || len(text) > MaxTextLength {
				add("texts: %q must be a language, as en, with a text of at most %d bytes", language, MaxTextLength)
			}
		}
	}
	return faults
}

// Fault says what is wrong with a list, in a sentence that lacks its subject; "" for nothing. ChangeFault says what
// speaks against replacing another list by it.
func Fault(list []Event) string {
	if len(list) > MaxEvents {
		return fmt.Sprintf("has %d events, must have at most %d", len(list), MaxEvents)
	}
	names := make(map[string]bool, len(list))
	for _, e := range list {
		if faults := e.faults(); len(faults) > 0 {
			return fmt.Sprintf("%q: %s", e.Name, strings.Join(faults, "; "))
		}
		if names[e.Name] {
			return fmt.Sprintf("has two events %q", e.Name)
		}
		names[e.Name] = true
	}
	return overlap(list)
}

// overlap says which two occurrences of a list overlap; "" for none.
func overlap(list []Event) string {
	var all []Occurrence
	for _, e := range list {
		o, err := e.first()
		for n := 0; err == nil && n < looked; n++ {
			all = append(all, o)
			next, recurs := e.Next(o.Opens)
			if !recurs {
				break
			}
			o = next
		}
	}
	slices.SortStableFunc(all, func(a, b Occurrence) int { return a.Opens.Compare(b.Opens) })
	for i := range len(all) - 1 {
		a, b := all[i], all[i+1]
		if a.overlaps(b) {
			return a.inTheWayOf(b)
		}
	}
	return ""
}

func (o Occurrence) overlaps(other Occurrence) bool {
	return !other.PreQueue.After(o.last()) && !o.PreQueue.After(other.last())
}

// inTheWayOf says in a sentence that two occurrences overlap.
func (o Occurrence) inTheWayOf(other Occurrence) string {
	if other.Opens.Before(o.Opens) {
		o, other = other, o
	}
	return fmt.Sprintf("%q overlaps %q: that begins at %s, this is not over until %s",
		o.Event.Name, other.Event.Name, other.PreQueue.Format(time.RFC3339), o.last().Format(time.RFC3339))
}

// from is the first occurrence of an event that is not over at the time.
func (e Event) from(t time.Time) (o Occurrence, ok bool) {
	first, err := e.first()
	if err != nil {
		return o, false
	}
	return e.Next(t.Add(first.Opens.Sub(first.last()) - 1))
}

// last is the time of the last step.
func (o Occurrence) last() time.Time {
	last := o.Opens
	for _, t := range []time.Time{o.Closes, o.Ends} {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// ChangeFault says why a list may not take the place of another, in a sentence; "" if it may. It looks at events that
// are new or have other times: such an event must open after now, and must not overlap with any other of the list.
// Events whose times have not changed are not looked at.
func ChangeFault(was, list []Event, now time.Time) string {
	var changed []Event
	for _, e := range list {
		if i := slices.IndexFunc(was, func(w Event) bool { return w.Name == e.Name }); i >= 0 && was[i].sameTimes(e) {
			continue
		}
		if o, ok := e.Next(now); !ok {
			return fmt.Sprintf("%q is in the past: it opens at %s", e.Name, o.Opens.Format(time.RFC3339))
		}
		changed = append(changed, e)
	}
	for _, e := range changed {
		for _, other := range list {
			if e.Name == other.Name {
				continue
			}
			// Only a number of occurrences is searched. Those of the event that recurs more seldom reach farther into the future.
			if fault := cmp.Or(e.meets(other, now), other.meets(e, now)); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// meets says which of the next occurrences of an event overlaps with one of another event; "" for none.
func (e Event) meets(other Event, now time.Time) string {
	o, ok := e.Next(now)
	for n := 0; ok && n < looked; n++ {
		if near, comes := other.from(o.PreQueue); comes && o.overlaps(near) {
			return o.inTheWayOf(near)
		}
		o, ok = e.Next(o.Opens)
	}
	return ""
}

func (e Event) sameTimes(other Event) bool {
	return e.PreQueueAt == other.PreQueueAt && e.OpensAt == other.OpensAt && e.ClosesAt == other.ClosesAt &&
		e.EndsAt == other.EndsAt && e.Recurs == other.Recurs
}

// ValidName reports whether an event can have the name.
func ValidName(name string) bool {
	return len(name) <= MaxNameLength && name != "." && name != ".." && validName.MatchString(name)
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
