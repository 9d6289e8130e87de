package adminclient

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Stats is a zone as an operator watches it. Pointers are nil for what the
// server does not know, or is too old to tell.
type Stats struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode"`
	// Waiting is how many are in the line; Released of them may be admitted
	// when they poll, and Overdue of those did not come when told to.
	Waiting  int64 `json:"waiting"`
	Released int64 `json:"released"`
	Overdue  int64 `json:"overdue"`
	// AdmittedInWindow and AdmittedInMinute are those let in lately, of at most
	// WindowLimit and PerMinute; WindowUse is the share, from 0 to 1.
	AdmittedInWindow int64   `json:"admittedInWindow"`
	WindowLimit      int64   `json:"windowLimit"`
	AdmittedInMinute int64   `json:"admittedInMinute"`
	PerMinute        int64   `json:"perMinute"`
	WindowUse        float64 `json:"windowUse"`
	// EstimatedWait is that of one who joins now, in milliseconds.
	EstimatedWait int64 `json:"estimatedWait"`
	// Totals count since the zone's data began.
	Totals line.Totals `json:"totals"`

	// Rates over the last 60 s, all servers together.
	JoinsPerMinute      *float64 `json:"joinsPerMinute"`
	AdmittedPerMinute   *float64 `json:"admittedPerMinute"`
	DeparturesPerMinute *float64 `json:"departuresPerMinute"`
	SweptPerMinute      *float64 `json:"sweptPerMinute"`
	PollsPerSecond      *float64 `json:"pollsPerSecond"`
	// WaitP50Millis and WaitP95Millis are how long those just admitted had waited.
	WaitP50Millis *int64 `json:"waitP50Millis"`
	WaitP95Millis *int64 `json:"waitP95Millis"`
	// EstimateError is the median of |estimate - real| / real.
	EstimateError *float64 `json:"estimateError"`
	// Store is "ok" or "failing", FailingSince in Unix milliseconds.
	Store        string `json:"store"`
	FailingSince *int64 `json:"failingSince"`
}
