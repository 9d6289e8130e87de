package console

import (
	"net/url"

	"github.com/openqueue/waitingroom/internal/setting"
)

// table are the settings of a zone or of a policy.
type table[T any] = setting.Table[T]

func count(n int64) string   { return setting.Count(n) }
func seconds(n int64) string { return count(n) + " s" }

// field is a setting in a form.
type field struct {
	Name, Label, Hint, Value string
	// Choices are all values, where there are few; Number asks for digits, Lines for some
	// lines of text.
	Choices       []setting.Choice
	Number, Lines bool
}

func fieldsOf[T any](t table[T], s T) []field {
	all := make([]field, 0, len(t))
	for i := range t {
		x := &t[i]
		if x.Of != "" {
			continue // no form sets it
		}
		_, number := x.Value(s).(int64)
		_, lines := x.Value(s).(setting.Texts)
		all = append(all, field{x.Name, x.Label, x.Hint, x.Text(s), x.Options(), number, lines})
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
func differences[T any](t table[T], was, now T) []difference {
	var all []difference
	for _, x := range t.Differences(was, now) {
		all = append(all, difference{
			Name: x.Name, Label: x.Label, Was: x.Words(was), Now: x.Words(now),
			WasValue: x.Text(was), NowValue: x.Text(now),
		})
	}
	return all
}

// merge sets in current, which is the caller's own, what the change from was to now
// set, if all of that is still as it was. If not, it returns what somebody else has
// set meanwhile.
func merge[T any](t table[T], current, was, now T) (next T, others []difference) {
	next, theirs := t.Merge(current, was, now)
	for _, x := range theirs {
		others = append(others, difference{Name: x.Name, Label: x.Label, Was: x.Words(was), Now: x.Words(current)})
	}
	return next, others
}

// readSettings sets in s, which is the caller's own, what the form has under names
// with this prefix.
func readSettings[T any](t table[T], form url.Values, prefix string, s T) (T, []string) {
	var faults []string
	for i := range t {
		if values := form[prefix+t[i].Name]; len(values) > 0 {
			if fault := t[i].Type(&s, values[0]); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	return s, faults
}
