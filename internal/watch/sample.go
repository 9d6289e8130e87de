package watch

import (
	"cmp"
	"reflect"
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
// the waits when nobody was admitted, the error and the coverage of fewer than 50 estimates. In Go
// they are 0 then, and Known, RateSeconds, WaitCount and EstimateErrorCount tell.
//
// The tag known says when a figure is known, by its name in knownWhen; "" while the
// store answers. The tag kept says how it is kept: times so many, in 32 bits; "-" is
// what follows from others.
type Sample struct {
	// At is the second, in Unix milliseconds.
	At int64 `json:"at" known:"always" kept:"0.001"`
	// Store is StoreOK or StoreFailing; FailingSince the second of the first
	// sample of a row of failing ones, in Unix milliseconds, else 0.
	Store        string `json:"store" known:"always" kept:"-"`
	FailingSince int64  `json:"failingSince" known:"failing" kept:"0.001"`

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
	// MostInSecond is the most admissions in any 1,000 ms of the last one to two minutes.
	MostInSecond int64 `json:"mostInSecond"`
	// Mode is the zone's.
	Mode zone.Mode `json:"mode"`
	// Use is InWindow of WindowLimit, from 0 to 1.
	Use float64 `json:"use" kept:"-"`

	// RateSeconds is over how many seconds the rates were measured: 60, and
	// fewer at the beginning; 0 before there are any.
	RateSeconds int64 `json:"rateSeconds"`
	// Rates, all servers together, with one decimal: Joins, Admitted,
	// Departures (who said so) and Swept (who went silently) in a minute, and
	// polls that the store answered in a second. Admitted is at most InMinute.
	JoinsPerMinute      float64 `json:"joinsPerMinute" known:"rates" kept:"10"`
	AdmittedPerMinute   float64 `json:"admittedPerMinute" known:"rates" kept:"10"`
	DeparturesPerMinute float64 `json:"departuresPerMinute" known:"rates" kept:"10"`
	SweptPerMinute      float64 `json:"sweptPerMinute" known:"rates" kept:"10"`
	PollsPerSecond      float64 `json:"pollsPerSecond" known:"rates" kept:"10"`
	// Restored is how many lost places were put back in RateSeconds.
	Restored int64 `json:"restored" known:"rates"`

	// WaitP50Millis and WaitP95Millis are how long they had waited who were
	// admitted in RateSeconds, WaitCount many.
	WaitP50Millis int64 `json:"waitP50Millis" known:"waits"`
	WaitP95Millis int64 `json:"waitP95Millis" known:"waits"`
	WaitCount     int64 `json:"waitCount" known:"rates"`
	// EstimateMillis is the expected wait of one who joins now.
	EstimateMillis int64 `json:"estimateMillis"`
	// EstimateLowMillis and EstimateHighMillis hold that four times of five.
	EstimateLowMillis  int64 `json:"estimateLowMillis" known:"range"`
	EstimateHighMillis int64 `json:"estimateHighMillis" known:"range"`
	// EstimateError is the median of |estimate - real| / real, EstimateCoverage the share of
	// ranges that held the real wait, of EstimateErrorCount that this server told some of
	// those who were admitted in the last ten minutes.
	EstimateError      float64 `json:"estimateError" known:"judged" kept:"1000"`
	EstimateCoverage   float64 `json:"estimateCoverage" known:"judged" kept:"1000"`
	EstimateErrorCount int64   `json:"estimateErrorCount"`

	// Stalled: for a minute nobody was let in, and at each second of it people waited who might have been. It is of
	// Latest alone, and in no JSON.
	Stalled bool `json:"-"`
}

// Known reports whether the store answered, and so the sample has figures.
func (s *Sample) Known() bool { return s.Store == StoreOK }

// Judged reports whether so many estimates were judged that it is said how good they were.
func (s *Sample) Judged() bool { return s.Known() && s.EstimateErrorCount >= enoughJudged }

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

// column is one field of a sample.
type column struct {
	name  string // in JSON
	field int
	known func(*Sample) bool
	// scale is by what it is multiplied to be kept; 0 is not kept.
	scale float64
}

// knownWhen are the conditions under which figures are known.
var knownWhen = map[string]func(*Sample) bool{
	"always":  func(*Sample) bool { return true },
	"failing": func(s *Sample) bool { return !s.Known() },
	"":        (*Sample).Known,
	"rates":   func(s *Sample) bool { return s.Known() && s.RateSeconds > 0 },
	"waits":   func(s *Sample) bool { return s.Known() && s.WaitCount > 0 },
	"range":   func(s *Sample) bool { return s.Known() && s.EstimateHighMillis > 0 },
	"judged":  (*Sample).Judged,
}

// columns are all fields of a sample, in the order in which they are written.
var columns = func() (all []column) {
	for f := range reflect.TypeFor[Sample]().Fields() {
		if f.Tag.Get("json") == "-" {
			continue
		}
		scale, err := strconv.ParseFloat(cmp.Or(f.Tag.Get("kept"), "1"), 64)
		if err != nil { // "-"
			scale = 0
		}
		all = append(all, column{f.Tag.Get("json"), f.Index[0], knownWhen[f.Tag.Get("known")], scale})
	}
	return all
}()

func (c *column) in(s *Sample) reflect.Value { return reflect.ValueOf(s).Elem().Field(c.field) }

func (c *column) append(b []byte, s *Sample) []byte {
	if !c.known(s) {
		return append(b, "null"...)
	}
	switch v := c.in(s); v.Kind() {
	case reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Float64:
		return strconv.AppendFloat(b, v.Float(), 'f', -1, 64)
	default:
		return strconv.AppendQuote(b, v.String())
	}
}
