package setting_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/setting"
)

// TestParseTime: a time that the clocks of its time zone skip is none, whichever offset it is given; one that they show
// twice is told apart by its offset.
func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-12-01T12:00:00+01:00":                "2026-12-01T11:00:00Z",
		"2027-03-28T01:59:59+01:00[Europe/Berlin]": "2027-03-28T00:59:59Z",
		"2027-03-28T03:00:00+02:00[Europe/Berlin]": "2027-03-28T01:00:00Z",
		"2027-10-31T02:30:00+02:00[Europe/Berlin]": "2027-10-31T00:30:00Z",
		"2027-10-31T02:30:00+01:00[Europe/Berlin]": "2027-10-31T01:30:00Z",
		"2027-03-28T01:30:00Z[Europe/Berlin]":      "2027-03-28T01:30:00Z",
		"2027-03-28T01:30:00+00:00[UTC]":           "2027-03-28T01:30:00Z",
	} {
		if got, err := setting.ParseTime(text); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "must be a time", "noon": "must be a time", "2026-02-30T12:00:00Z": "must be a time", "2026-12-01T12:00:00": "must be a time",
		"0001-01-01T00:00:00Z": "from 1970 on", "1969-12-31T23:59:59Z": "from 1970 on",
		"2027-03-28T02:30:00+01:00[Europe/Berlin]": "is no time in Europe/Berlin: the clocks there show 2027-03-28T03:30:00+02:00 then",
		"2027-03-28T02:30:00+02:00[Europe/Berlin]": "is no time in Europe/Berlin: the clocks there show 2027-03-28T01:30:00+01:00 then",
		"2027-04-30T00:00:00+02:00[Africa/Cairo]":  "is no time in Africa/Cairo: the clocks there show 2027-04-30T01:00:00+03:00 then",
		"2027-07-01T12:00:00+01:00[Europe/Berlin]": "is no time in Europe/Berlin",
		"2026-12-01T12:00:00+01:00[Europe/Berlin":  "must have no time zone", "2026-12-01T12:00:00Z[]": "must have no time zone",
		"2026-12-01T12:00:00Z[Local]": "must have no time zone", "2026-12-01T12:00:00Z[../x]": "must have no time zone",
		"2026-12-01T12:00:00Z[Mars/Base]": "must have no time zone",
	} {
		if got, err := setting.ParseTime(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", text, got, err, want)
		}
	}
}
