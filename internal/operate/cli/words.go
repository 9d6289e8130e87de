package cli

import (
	"cmp"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// How figures are written for people.

// grouped writes 12340 as 12,340.
func grouped(n int64) string { return setting.Count(n) }

// span writes a duration in its two largest units: 42 s, 20 m 34 s, 2 h 05 m.
func span(d time.Duration) string { return setting.Span(d) }

func seconds(n int64) string { return span(time.Duration(n) * time.Second) }
func millis(n int64) string  { return span(time.Duration(n) * time.Millisecond) }

// percent writes a share from 0 to 1.
func percent(share float64) string { return setting.Percent(share) }

// rate writes what happens in a minute or a second; unknown is a dash.
func rate(r *float64) string {
	if r == nil {
		return "-"
	}
	return setting.Rate(*r)
}

// whole writes how many people do something in a minute: there are no tenths of a person.
func whole(r *float64) string {
	switch {
	case r == nil:
		return "-"
	case *r > 0 && *r < 1:
		return "fewer than 1"
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

// stateOf says in a word or two what a zone does with those who come. A server of an older version does not say it.
func stateOf(s *operator.Stats) string {
	return cmp.Or(s.State, zone.Settings{Mode: s.Mode, PerMinute: s.PerMinute}.State())
}

// perMinuteKey is the limit, eventsKey the list of events.
const (
	perMinuteKey = "perMinute"
	eventsKey    = "events"
)

// cell writes a setting for a table: in short, and a dash for a 0 that means none.
func cell(x *zone.Setting, z zone.Settings) string {
	switch n, isNumber := x.Value(z).(int64); {
	case !isNumber:
		return x.Text(z)
	case n == 0 && x.None != "":
		return "-"
	case x.Unit == "s":
		return seconds(n)
	default:
		return grouped(n)
	}
}

// assign writes settings as zones set takes them: a=1 b=2, with a blank before each,
// and quotes for a shell about what needs them. What the servers set is left out: zones set
// refuses it.
func assign(all []change.Difference, value func(change.Difference) string) string {
	var b strings.Builder
	for _, d := range all {
		if zone.Table.Find(d.Name).Own {
			continue
		}
		word := d.Name + "=" + value(d)
		if strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("=._,-/:@+", r)
		}) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		b.WriteString(" " + word)
	}
	return b.String()
}
