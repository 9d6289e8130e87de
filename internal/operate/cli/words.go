package cli

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// How figures are written for people.

// grouped writes 12340 as 12,340.
func grouped(n int64) string {
	const group = 3
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - group; at > 0; at -= group {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// span writes a duration in its two largest units: 42 s, 20 m 34 s, 2 h 05 m.
func span(d time.Duration) string {
	const sixty = 60
	s := int64(math.Round(d.Seconds()))
	switch {
	case s < sixty:
		return fmt.Sprintf("%d s", s)
	case s < sixty*sixty && s%sixty == 0:
		return fmt.Sprintf("%d m", s/sixty)
	case s < sixty*sixty:
		return fmt.Sprintf("%d m %02d s", s/sixty, s%sixty)
	case s/sixty%sixty == 0:
		return fmt.Sprintf("%d h", s/(sixty*sixty))
	}
	return fmt.Sprintf("%d h %02d m", s/(sixty*sixty), s/sixty%sixty)
}

func seconds(n int64) string { return span(time.Duration(n) * time.Second) }
func millis(n int64) string  { return span(time.Duration(n) * time.Millisecond) }

// percent writes a share from 0 to 1.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// rate writes what happens in a minute or a second; unknown is a dash.
func rate(r *float64) string {
	switch {
	case r == nil:
		return "-"
	case *r > 0 && *r < 10:
		return strings.TrimSuffix(strconv.FormatFloat(*r, 'f', 1, 64), ".0")
	}
	return grouped(int64(math.Round(*r)))
}

// counted writes a number and what is counted: 1 zone, 2 zones.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// state says in a word or two what a zone does with those who come.
func state(mode zone.Mode, perMinute int64) string {
	switch {
	case mode == zone.ModeOpen:
		return "open"
	case mode == zone.ModeClosed && perMinute == 0:
		return "closed, paused"
	case mode == zone.ModeClosed:
		return "closed"
	case perMinute == 0:
		return "paused"
	}
	return string(mode)
}

// setting is one setting of a zone by its name in JSON and YAML.
type setting struct {
	name  string
	value any // int64 or a string
}

const (
	// zoneIDKey is the one that is no setting but the zone's name.
	zoneIDKey = "zoneId"
	// perMinuteKey is the limit.
	perMinuteKey = "perMinute"
)

// settingsOf returns all settings of a zone but its name, in the order of the
// type. Being read off the type, it cannot miss one.
func settingsOf(s zone.Settings) []setting {
	v := reflect.ValueOf(s)
	all := make([]setting, 0, v.NumField())
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Tag.Get("json"), v.Field(i)
		switch {
		case name == zoneIDKey:
		case field.Kind() == reflect.String:
			all = append(all, setting{name, field.String()})
		default:
			all = append(all, setting{name, field.Interface()})
		}
	}
	return all
}

// assign writes settings as zones set takes them: a=1 b=2, with a blank before
// each.
func assign(all []difference, value func(difference) any) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, " %s=%v", d.Name, value(d))
	}
	return b.String()
}

// difference is one setting that two have otherwise. Was is null for a new zone.
type difference struct {
	Name string `json:"name"`
	Was  any    `json:"was"`
	Now  any    `json:"now"`
}

func (d difference) String() string { return fmt.Sprintf("%s %v -> %v", d.Name, d.Was, d.Now) }

// differences returns what is otherwise in now than in was.
func differences(was, now zone.Settings) []difference {
	var all []difference
	before := settingsOf(was)
	for i, s := range settingsOf(now) {
		if s.value != before[i].value {
			all = append(all, difference{s.name, before[i].value, s.value})
		}
	}
	return all
}
