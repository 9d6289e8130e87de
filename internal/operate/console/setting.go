package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/openqueue/waitingroom/internal/zone"
)

// setting is one of the settings of a T, a zone's or a policy's, as forms and the
// record of changes show it. All of what the console knows of a setting is in such
// a table.
type setting[T any] struct {
	// Name is the setting's in JSON and in forms.
	Name, Label, Hint string
	// Least and Most bound a number; Choices are all values of a choice.
	Least, Most int64
	Choices     []choice
	// number or text is where it is kept; the other is nil. Both are for what is
	// no single value, which forms do not set: whole takes it over from another.
	number func(*T) *int64
	text   func(*T) *string
	whole  func(to *T, from T)
	// say writes the value for a person.
	say func(T) string
}

type choice struct{ Value, Label string }

func seconds(n int64) string { return count(n) + " s" }

// settings are a zone's.
var settings = []setting[zone.Settings]{
	{
		Name: "perMinute", Label: "Limit", Hint: "How many may enter in any 60 s. 0 holds everybody.",
		Least: 0, Most: zone.MaxPerMinute,
		number: func(s *zone.Settings) *int64 { return &s.PerMinute },
		say: func(s zone.Settings) string {
			if s.PerMinute == 0 {
				return "0 a minute (paused)"
			}
			return count(s.PerMinute) + " a minute"
		},
	},
	{
		Name: "mode", Label: "Mode", Hint: "Queue lines people up; open lets all in; closed takes no newcomers.",
		Choices: []choice{{"queue", "queue"}, {"open", "open"}, {"closed", "closed to newcomers"}},
		text:    func(s *zone.Settings) *string { return (*string)(&s.Mode) },
		say:     func(s zone.Settings) string { return modeWord(s.Mode) },
	},
	{
		Name: "windowSeconds", Label: "Window", Hint: "Seconds over which admissions are spread, 1 to 60.",
		Least: 1, Most: zone.MaxWindowSeconds,
		number: func(s *zone.Settings) *int64 { return &s.WindowSeconds },
		say:    func(s zone.Settings) string { return seconds(s.WindowSeconds) },
	},
	{
		Name: "burst", Label: "Burst", Hint: "Extra admissions in one window while nobody waits. The minute's limit holds.",
		Least: 0, Most: zone.MaxPerMinute,
		number: func(s *zone.Settings) *int64 { return &s.Burst },
		say:    func(s zone.Settings) string { return count(s.Burst) },
	},
	{
		Name: "maxWaiting", Label: "Most waiting", Hint: "Newcomers are turned away when so many wait. 0 sets no bound.",
		Least: 0, Most: zone.MaxMaxWaiting,
		number: func(s *zone.Settings) *int64 { return &s.MaxWaiting },
		say: func(s zone.Settings) string {
			if s.MaxWaiting == 0 {
				return "no bound"
			}
			return count(s.MaxWaiting)
		},
	},
	{
		Name: "idleTimeoutSeconds", Label: "Idle timeout", Hint: "Seconds without a poll after which a place is given up, 5 to 3600.",
		Least: zone.MinIdleTimeoutSeconds, Most: zone.MaxIdleTimeoutSeconds,
		number: func(s *zone.Settings) *int64 { return &s.IdleTimeoutSeconds },
		say:    func(s zone.Settings) string { return seconds(s.IdleTimeoutSeconds) },
	},
	{
		Name: "passTtlSeconds", Label: "Life of a pass", Hint: "Seconds in which one who was admitted may enter the service, 10 to 86400.",
		Least: zone.MinPassTTLSeconds, Most: zone.MaxPassTTLSeconds,
		number: func(s *zone.Settings) *int64 { return &s.PassTTLSeconds },
		say:    func(s zone.Settings) string { return seconds(s.PassTTLSeconds) },
	},
	{
		Name: "onStoreFailure", Label: "When the store is away",
		Hint:    "Hold keeps all places and lets nobody in; admit lets each server admit at its share of the limit.",
		Choices: []choice{{"hold", "hold"}, {"admit", "admit"}},
		text:    func(s *zone.Settings) *string { return (*string)(&s.OnStoreFailure) },
		say:     func(s zone.Settings) string { return string(s.OnStoreFailure) },
	},
}

func modeWord(m zone.Mode) string {
	switch m {
	case zone.ModeOpen:
		return "open"
	case zone.ModeClosed:
		return "closed to newcomers"
	default:
		return "queue"
	}
}

// Value is the setting in s, as a form has it.
func (x *setting[T]) Value(s T) string {
	switch {
	case x.number != nil:
		return strconv.FormatInt(*x.number(&s), 10)
	case x.text != nil:
		return *x.text(&s)
	default:
		return x.say(s)
	}
}

// put sets it in s to what a form says. The fault, if any, is a sentence.
func (x *setting[T]) put(s *T, value string) (fault string) {
	value = strings.TrimSpace(value)
	if x.number == nil {
		for _, c := range x.Choices {
			if c.Value == value {
				*x.text(s) = value
				return ""
			}
		}
		return x.Label + ": choose one of the list."
	}
	// 12,340 and 12 340 as this page writes them, and as people do.
	n, err := strconv.ParseInt(strings.NewReplacer(",", "", " ", "", "\u00a0", "", "\u202f", "").Replace(value), 10, 64)
	if err != nil || n < x.Least || n > x.Most {
		return fmt.Sprintf("%s: write a whole number between %s and %s.", x.Label, count(x.Least), count(x.Most))
	}
	*x.number(s) = n
	return ""
}

// take sets it in s to what it is in another.
func (x *setting[T]) take(s *T, from T) {
	switch {
	case x.number != nil:
		*x.number(s) = *x.number(&from)
	case x.text != nil:
		*x.text(s) = *x.text(&from)
	default:
		x.whole(s, from)
	}
}

// field is a setting in a form.
type field struct {
	Name, Label, Hint, Value string
	Choices                  []choice
}

func fieldsOf[T any](table []setting[T], s T) []field {
	all := make([]field, len(table))
	for i := range table {
		x := &table[i]
		all[i] = field{x.Name, x.Label, x.Hint, x.Value(s), x.Choices}
	}
	return all
}

// difference is one setting that a change sets.
type difference struct {
	Name, Label string
	Was, Now    string // for a person
	WasValue    string // as a form has it
	NowValue    string
}

// differences are what is not the same in two settings of a zone, or of a policy.
func differences[T any](table []setting[T], was, now T) []difference {
	var all []difference
	for i := range table {
		x := &table[i]
		if x.Value(was) != x.Value(now) {
			all = append(all, difference{
				Name: x.Name, Label: x.Label, Was: x.say(was), Now: x.say(now),
				WasValue: x.Value(was), NowValue: x.Value(now),
			})
		}
	}
	return all
}

// merge sets in current, which is the caller's own, what the change from was to now
// set, if all of that is still as it was. If not, it returns what somebody else has
// set meanwhile.
func merge[T any](table []setting[T], current, was, now T) (next T, others []difference) {
	next = current
	for i := range table {
		x := &table[i]
		from := x.Value(was)
		if from == x.Value(now) {
			continue
		}
		if x.Value(current) != from {
			others = append(others, difference{Name: x.Name, Label: x.Label, Was: x.say(was), Now: x.say(current)})
			continue
		}
		x.take(&next, now)
	}
	return next, others
}

// readSettings sets in s, which is the caller's own, what the form has under names
// with this prefix.
func readSettings[T any](table []setting[T], form url.Values, prefix string, s T) (T, []string) {
	var faults []string
	for i := range table {
		x := &table[i]
		if values := form[prefix+x.Name]; len(values) > 0 {
			if fault := x.put(&s, values[0]); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	return s, faults
}
