package console

import (
	"net/url"
	"slices"
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
	// Key is the setting's in YAML and on the command line, "" where a form has no such name.
	Key string
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
		all = append(all, field{x.Name, x.Label, x.Hint, x.Text(s), x.Name, x.Options(), number, texts || x.Lines, x.Time})
	}
	return all
}

// group is a part of a form. That of an expert is shown on demand.
type group struct {
	Title  string
	Expert bool
	Fields []field
}

// settingGroups are the parts of the form of a zone's settings, with the settings of each in order. What none of them names is in
// the last one.
var settingGroups = []struct {
	title string
	names []string
}{
	{"Everyday", []string{"maxWaiting", "maxInside", "sessionSeconds", "idleTimeoutSeconds", "bypassPaths", "invitation", "challenge", "onStoreFailure"}},
	{"The waiting page", append(slices.Clone(pageSettings), "soldOut")},
	{"Expert: the line", []string{"windowSeconds", "burst", "maxPerSecond", "maxWaitMinutes", "passTtlSeconds"}},
	{"Expert: sessions, and who is inside", []string{"sessionRenewal", "cookieDomain", "insideBy", "donePaths"}},
	{"Expert: the autopilot", []string{"pilot", "pilotMin", "pilotMax", "pilotP95Millis", "pilotErrorPercent"}},
	{"Expert: what is never queued", []string{"gate", "bypassCommon", "bypassAgents", "bypassNetworks", "corsOrigins"}},
	{"Expert: bots", []string{
		"challengeWhen", "challengeMillis", "challengeWithoutScript", "onChallengeFailure", "maxShareByNetwork", "networkShares",
	}},
	{"Expert: others", nil},
}

// grouped puts fields into settingGroups. A group without fields is left out.
func grouped(fields []field) (all []group) {
	for i, g := range settingGroups {
		one := group{Title: g.title, Expert: i > 0}
		for _, name := range g.names {
			if at := slices.IndexFunc(fields, func(f field) bool { return f.Name == name }); at >= 0 {
				one.Fields = append(one.Fields, fields[at])
				fields = slices.Delete(slices.Clone(fields), at, at+1)
			}
		}
		if i == len(settingGroups)-1 {
			one.Fields = fields
		}
		if len(one.Fields) > 0 {
			all = append(all, one)
		}
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
