package watch

import (
	"reflect"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// The two states of a zone's store.
const (
	StoreOK      = "ok"
	StoreFailing = "failing"
)

// Sample is one zone at one second. In the JSON of Columns, figures that are not known are
// null: all of them while the store is failing, the rates in the first second,
// the waits when nobody was admitted. In Go
// they are 0 then, and Known, RateSeconds and WaitCount tell.
//
// The tag known names the condition, in knownWhen, under which a figure is known; "" is: while the store answers.
type Sample struct {
	// At is the second, in Unix milliseconds.
	At int64 `json:"at" doc:"-" known:"always"`
	// Store is StoreOK or StoreFailing. FailingSince is the second since which all samples are failing ones, in Unix
	// milliseconds; 0 while the store answers.
	Store        string `json:"store" known:"always" doc:"ok, or failing when it did not answer."`
	FailingSince int64  `json:"failingSince" known:"failing" doc:"Since when it is failing, in Unix milliseconds."`

	// Waiting is how many are in the line. Released is how many of them may be admitted when they poll. Overdue is how
	// many of the released did not come when told to.
	Waiting  int64 `json:"waiting" doc:"As in the stats."`
	Released int64 `json:"released" doc:"As in the stats."`
	Overdue  int64 `json:"overdue" doc:"As in the stats."`
	// InWindow is how many were admitted within the last window: at most WindowLimit, and Burst more while nobody waits.
	InWindow    int64 `json:"inWindow" doc:"admittedInWindow of the stats."`
	WindowLimit int64 `json:"windowLimit" doc:"As in the stats."`
	Burst       int64 `json:"burst" doc:"As in the zone's settings."`
	// InMinute is how many were admitted within the last 60 s, of at most
	// PerMinute.
	InMinute  int64 `json:"inMinute" doc:"admittedInMinute of the stats."`
	PerMinute int64 `json:"perMinute" doc:"As in the stats."`
	// MostInSecond is the most admissions in any 1,000 ms of the last one to two minutes.
	MostInSecond int64 `json:"mostInSecond" doc:"As in the stats."`
	// Inside is how many are inside a zone with a cap, of at most MaxInside.
	Inside    int64 `json:"inside" known:"capped" doc:"As in the stats. Null in a zone without a cap."`
	MaxInside int64 `json:"maxInside" known:"capped" doc:"As in the stats. Null in a zone without a cap."`
	// Mode is the zone's.
	Mode zone.Mode `json:"mode" doc:"As in the zone's settings."`
	// Use is InWindow of WindowLimit, from 0 to 1.
	Use float64 `json:"use" doc:"windowUse of the stats."`

	// RateSeconds is over how many seconds the rates were measured: 60, and
	// fewer at the beginning; 0 before there are any.
	RateSeconds int64 `json:"rateSeconds" doc:"As in the stats."`
	// Rates of all servers together, with one decimal: joins, admissions, departures (visitors who called leave) and
	// swept visitors in a minute; and polls that the store answered in a second. AdmittedPerMinute is at most InMinute.
	JoinsPerMinute      float64 `json:"joinsPerMinute" known:"rates" doc:"As in the stats."`
	AdmittedPerMinute   float64 `json:"admittedPerMinute" known:"rates" doc:"As in the stats."`
	DeparturesPerMinute float64 `json:"departuresPerMinute" known:"rates" doc:"As in the stats."`
	SweptPerMinute      float64 `json:"sweptPerMinute" known:"rates" doc:"As in the stats."`
	PollsPerSecond      float64 `json:"pollsPerSecond" known:"rates" doc:"As in the stats."`
	// RefusedPerMinute is how many requests of the zone this server alone refused in a minute.
	RefusedPerMinute float64 `json:"refusedPerMinute" known:"rates" doc:"As in the stats."`
	// Restored is how many lost places were put back in RateSeconds.
	Restored int64 `json:"restored" known:"rates" doc:"As in the stats."`

	// WaitP50Millis and WaitP95Millis are percentiles of how long the visitors who were admitted in RateSeconds had
	// waited. WaitCount is how many they are.
	WaitP50Millis int64 `json:"waitP50Millis" known:"waits" doc:"As in the stats."`
	WaitP95Millis int64 `json:"waitP95Millis" known:"waits" doc:"As in the stats."`
	WaitCount     int64 `json:"waitCount" known:"rates" doc:"Of how many those are."`
	// EstimateMillis is the expected wait of a visitor who joins now.
	EstimateMillis int64 `json:"estimateMillis" doc:"estimatedWait of the stats."`
	// EstimateLowMillis and EstimateHighMillis are the range that holds the real wait four times out of five.
	EstimateLowMillis  int64 `json:"estimateLowMillis" known:"range" doc:"estimatedWaitRange of the stats."`
	EstimateHighMillis int64 `json:"estimateHighMillis" known:"range" doc:"estimatedWaitRange of the stats."`

	// Stalled: for a minute nobody was admitted, although in each of its seconds somebody waited who might have been. Only
	// Latest sets it, and it is in no JSON.
	Stalled bool `json:"-"`
}

// Known reports whether the store answered, and so the sample has figures.
func (s *Sample) Known() bool { return s.Store == StoreOK }

// column is one field of a sample.
type column struct {
	name  string // in JSON
	field int
	known func(*Sample) bool
}

// knownWhen are the conditions under which figures are known.
var knownWhen = map[string]func(*Sample) bool{
	"always":  func(*Sample) bool { return true },
	"failing": func(s *Sample) bool { return !s.Known() },
	"":        (*Sample).Known,
	"capped":  func(s *Sample) bool { return s.Known() && s.MaxInside > 0 },
	"rates":   func(s *Sample) bool { return s.Known() && s.RateSeconds > 0 },
	"waits":   func(s *Sample) bool { return s.Known() && s.WaitCount > 0 },
	"range":   func(s *Sample) bool { return s.Known() && s.EstimateHighMillis > 0 },
}

// columns are all fields of a sample, in the order in which they are written. The first is At.
var columns = func() (all []column) {
	for f := range reflect.TypeFor[Sample]().Fields() {
		if f.Tag.Get("json") == "-" {
			continue
		}
		all = append(all, column{f.Tag.Get("json"), f.Index[0], knownWhen[f.Tag.Get("known")]})
	}
	return all
}()

// append appends the figure as JSON, null where there is no sample.
func (c *column) append(b []byte, s *Sample) []byte {
	if s == nil || !c.known(s) {
		return append(b, "null"...)
	}
	switch v := reflect.ValueOf(s).Elem().Field(c.field); v.Kind() {
	case reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Float64:
		return strconv.AppendFloat(b, v.Float(), 'f', -1, 64)
	default:
		return strconv.AppendQuote(b, v.String())
	}
}

// StepMillis is how far apart the rows of Columns are.
const StepMillis = int64(time.Second / time.Millisecond)

// Columns are samples turned into one array for each field, named as in a sample's JSON. Row i is the second Start +
// i*StepMillis. An entry is null if there is no sample of that second, or if its figure is not known.
type Columns struct {
	// Start is the second of the first row, in Unix milliseconds; 0 if there are no rows.
	Start int64
	rows  []*Sample
}

// NewColumns returns the samples, oldest first, of the last so many seconds up to
// the newest sample.
func NewColumns(samples []Sample, seconds int) Columns {
	if len(samples) == 0 || seconds <= 0 {
		return Columns{}
	}
	newest := samples[len(samples)-1].At
	c := Columns{Start: max(samples[0].At, newest-int64(seconds-1)*StepMillis)}
	c.rows = make([]*Sample, (newest-c.Start)/StepMillis+1)
	for i := range samples {
		if s := &samples[i]; s.At >= c.Start {
			c.rows[(s.At-c.Start)/StepMillis] = s
		}
	}
	return c
}

// Len is how many rows there are.
func (c Columns) Len() int { return len(c.rows) }

// MarshalJSON writes the arrays. There is none for the time, which follows from a row's index.
func (c Columns) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 128*(len(c.rows)+8)), '{')
	for n, f := range columns[1:] {
		if n > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, f.name)
		b = append(b, ":["...)
		for i, s := range c.rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.append(b, s)
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}
