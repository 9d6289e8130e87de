package setting

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // an image without a system has no time zones
)

// ParseTime reads a time as RFC 3339 has it, alone or with its time zone behind it, as RFC 9557 has it:
// 2027-03-28T12:00:00+02:00[Europe/Berlin]. The errors are sentences without their subject. A time with an offset that the
// time zone does not have then is one: the clocks skip 02:30 on that day, and who wrote it means another moment.
func ParseTime(text string) (time.Time, error) {
	stamp, place, placed := strings.Cut(text, "[")
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil || t.Year() < 1970 {
		return time.Time{}, errors.New("must be a time such as 2026-12-01T12:00:00+01:00, from 1970 on")
	}
	if !placed {
		return t, nil
	}
	place, closed := strings.CutSuffix(place, "]")
	zone, err := time.LoadLocation(place)
	if err != nil || !closed || place == "" || place == "Local" {
		return t, errors.New("must have no time zone behind it, or one such as [Europe/Berlin]")
	}
	there := t.In(zone)
	if _, offset := t.Zone(); !strings.HasSuffix(stamp, "Z") && offset != offsetOf(there) {
		return t, fmt.Errorf("is no time in %s: the clocks there show %s then", place, there.Format(time.RFC3339))
	}
	return there, nil
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}
