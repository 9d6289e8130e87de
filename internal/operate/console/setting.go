package console

import (
	"net/url"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/window"
)

func count(n int64) string         { return setting.Count(n) }
func seconds(n int64) string       { return count(n) + " s" }
func rate(v float64) string        { return setting.Rate(v) }
func percent(share float64) string { return setting.Percent(share) }

// unknown stands where there is no figure.
const unknown = "–"

// span writes milliseconds. A day, the longest estimate, may be more.
func span(millis int64) string {
	if millis >= window.MaxEstimateMillis {
		return "a day or more"
	}
	return setting.Span(time.Duration(millis) * time.Millisecond)
}

// field is a setting in a form.
type field struct {
	Name, Label, Hint, Value string
	// Choices are all values, where there are few; Number asks for digits, Lines for some
	// lines of text, Time for a time.
	Choices             []setting.Choice
	Number, Lines, Time bool
}

// fieldsOf are the settings that a form sets.
func fieldsOf[T any](t setting.Table[T], s T) []field {
	all := make([]field, 0, len(t))
	for i := range t {
		x := &t[i]
		if x.Of != "" {
			continue // no form sets it
		}
		_, number := x.Value(s).(int64)
		_, texts := x.Value(s).(setting.Texts)
		all = append(all, field{x.Name, x.Label, x.Hint, x.Text(s), x.Options(), number, texts || x.Lines, x.Time})
	}
	return all
}

// readSettings sets in s what the form has under names with this prefix. What the form has as it is in s stays.
func readSettings[T any](t setting.Table[T], form url.Values, prefix string, s T) (T, []string) {
	var faults []string
	for i := range t {
		values := form[prefix+t[i].Name]
		if len(values) > 0 && strings.TrimSpace(strings.ReplaceAll(values[0], "\r\n", "\n")) != strings.TrimSpace(t[i].Text(s)) {
			if fault := t[i].Type(&s, values[0]); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	return s, faults
}
