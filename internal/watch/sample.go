package watch

import (
	"strconv"

	"github.com/openqueue/waitingroom/internal/zone"
)

// The two states of a zone's store.
const (
	StoreOK      = "ok"
	StoreFailing = "failing"
)

// Sample is one zone at one second. As JSON, figures that are not known are
// null: all of them while the store is failing, the rates in the first second,
// the waits when nobody was admitted, the error when none was measured. In Go
// they are 0 then, and Known, RateSeconds, WaitCount and EstimateErrorCount tell.
type Sample struct {
	// At is the second, in Unix milliseconds.
	At int64 `json:"at"`
	// Store is StoreOK or StoreFailing; FailingSince the second of the first
	// sample of a row of failing ones, in Unix milliseconds, else 0.
	Store        string `json:"store"`
	FailingSince int64  `json:"failingSince"`

	// Waiting is how many are in the line. Released of them may be admitted
	// when they poll; of those, Overdue did not come when told to.
	Waiting  int64 `json:"waiting"`
	Released int64 `json:"released"`
	Overdue  int64 `json:"overdue"`
	// InWindow is how many were admitted within the last window, of at most
	// WindowLimit, and Burst more while nobody waits.
	InWindow    int64 `json:"inWindow"`
	WindowLimit int64 `json:"windowLimit"`
	Burst       int64 `json:"burst"`
	// InMinute is how many were admitted within the last 60 s, of at most
	// PerMinute.
	InMinute  int64 `json:"inMinute"`
	PerMinute int64 `json:"perMinute"`
	// Mode is the zone's.
	Mode zone.Mode `json:"mode"`
	// Use is InWindow of WindowLimit, from 0 to 1.
	Use float64 `json:"use"`

	// RateSeconds is over how many seconds the rates were measured: 60, and
	// fewer at the beginning; 0 before there are any.
	RateSeconds int64 `json:"rateSeconds"`
	// Rates, all servers together, with one decimal: Joins, Admitted,
	// Departures (who said so) and Swept (who went silently) in a minute, and
	// polls that the store answered in a second. Admitted is at most InMinute.
	JoinsPerMinute      float64 `json:"joinsPerMinute"`
	AdmittedPerMinute   float64 `json:"admittedPerMinute"`
	DeparturesPerMinute float64 `json:"departuresPerMinute"`
	SweptPerMinute      float64 `json:"sweptPerMinute"`
	PollsPerSecond      float64 `json:"pollsPerSecond"`
	// Restored is how many lost places were put back in RateSeconds.
	Restored int64 `json:"restored"`

	// WaitP50Millis and WaitP95Millis are how long they had waited who were
	// admitted in RateSeconds, WaitCount many.
	WaitP50Millis int64 `json:"waitP50Millis"`
	WaitP95Millis int64 `json:"waitP95Millis"`
	WaitCount     int64 `json:"waitCount"`
	// EstimateMillis is the expected wait of one who joins now.
	EstimateMillis int64 `json:"estimateMillis"`
	// EstimateError is the median of |estimate - real| / real of the first
	// estimates that this server gave, of EstimateErrorCount admitted lately.
	EstimateError      float64 `json:"estimateError"`
	EstimateErrorCount int64   `json:"estimateErrorCount"`
}

// Known reports whether the store answered, and so the sample has figures.
func (s *Sample) Known() bool { return s.Store == StoreOK }

// MarshalJSON writes all fields, null for what is not known.
func (s Sample) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 640), '{')
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, c.name)
		b = append(b, ':')
		b = c.append(b, &s)
	}
	return append(b, '}'), nil
}

// column is one field of a sample, by its name in JSON.
type column struct {
	name  string
	known func(*Sample) bool
	value func([]byte, *Sample) []byte
}

func (c *column) append(b []byte, s *Sample) []byte {
	if !c.known(s) {
		return append(b, "null"...)
	}
	return c.value(b, s)
}

// When figures are known.
var (
	always    = func(*Sample) bool { return true }
	failing   = func(s *Sample) bool { return !s.Known() }
	known     = (*Sample).Known
	withRates = func(s *Sample) bool { return s.Known() && s.RateSeconds > 0 }
	withWaits = func(s *Sample) bool { return s.Known() && s.WaitCount > 0 }
	withError = func(s *Sample) bool { return s.Known() && s.EstimateErrorCount > 0 }
)

// columns are all fields of a sample, in the order in which they are written.
var columns = []column{
	count("at", always, func(s *Sample) int64 { return s.At }),
	text("store", always, func(s *Sample) string { return s.Store }),
	count("failingSince", failing, func(s *Sample) int64 { return s.FailingSince }),
	count("waiting", known, func(s *Sample) int64 { return s.Waiting }),
	count("released", known, func(s *Sample) int64 { return s.Released }),
	count("overdue", known, func(s *Sample) int64 { return s.Overdue }),
	count("inWindow", known, func(s *Sample) int64 { return s.InWindow }),
	count("windowLimit", known, func(s *Sample) int64 { return s.WindowLimit }),
	count("burst", known, func(s *Sample) int64 { return s.Burst }),
	count("inMinute", known, func(s *Sample) int64 { return s.InMinute }),
	count("perMinute", known, func(s *Sample) int64 { return s.PerMinute }),
	text("mode", known, func(s *Sample) string { return string(s.Mode) }),
	decimal("use", known, func(s *Sample) float64 { return s.Use }),
	count("rateSeconds", known, func(s *Sample) int64 { return s.RateSeconds }),
	decimal("joinsPerMinute", withRates, func(s *Sample) float64 { return s.JoinsPerMinute }),
	decimal("admittedPerMinute", withRates, func(s *Sample) float64 { return s.AdmittedPerMinute }),
	decimal("departuresPerMinute", withRates, func(s *Sample) float64 { return s.DeparturesPerMinute }),
	decimal("sweptPerMinute", withRates, func(s *Sample) float64 { return s.SweptPerMinute }),
	decimal("pollsPerSecond", withRates, func(s *Sample) float64 { return s.PollsPerSecond }),
	count("restored", withRates, func(s *Sample) int64 { return s.Restored }),
	count("waitP50Millis", withWaits, func(s *Sample) int64 { return s.WaitP50Millis }),
	count("waitP95Millis", withWaits, func(s *Sample) int64 { return s.WaitP95Millis }),
	count("waitCount", withRates, func(s *Sample) int64 { return s.WaitCount }),
	count("estimateMillis", known, func(s *Sample) int64 { return s.EstimateMillis }),
	decimal("estimateError", withError, func(s *Sample) float64 { return s.EstimateError }),
	count("estimateErrorCount", known, func(s *Sample) int64 { return s.EstimateErrorCount }),
}

func count(name string, known func(*Sample) bool, of func(*Sample) int64) column {
	return column{name, known, func(b []byte, s *Sample) []byte { return strconv.AppendInt(b, of(s), 10) }}
}

func decimal(name string, known func(*Sample) bool, of func(*Sample) float64) column {
	return column{name, known, func(b []byte, s *Sample) []byte { return strconv.AppendFloat(b, of(s), 'f', -1, 64) }}
}

func text(name string, known func(*Sample) bool, of func(*Sample) string) column {
	return column{name, known, func(b []byte, s *Sample) []byte { return strconv.AppendQuote(b, of(s)) }}
}
