package operator

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Stats is a zone as an operator watches it. The tags say what each figure is.
type Stats struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode" doc:"As in the zone's settings." example:"queue"`
	// State is zone.Settings.State.
	State    string `json:"state" doc:"What the zone does with those who come, for people: 'sold out'; 'opening held', while people gather for an event whose opening is held; else its mode, with 'paused' at a limit of 0, and after 'gathering' while people gather." example:"gathering"`
	Waiting  int64  `json:"waiting" doc:"How many are in the line." example:"5000"`
	Released int64  `json:"released" doc:"Of those waiting: who may be admitted when they poll." example:"161"`
	Overdue  int64  `json:"overdue" doc:"Of those released: who did not poll when told to. They may still come, until the idle timeout." example:"11"`
	Live     int64  `json:"live" doc:"Of those released: who is expected." example:"150"`

	AdmittedInWindow int64 `json:"admittedInWindow" doc:"Admitted within the last window. After the store has lost its data, those that may have been lost count, too." example:"59"`
	WindowLimit      int64 `json:"windowLimit" doc:"The most that a window may admit, the burst apart." example:"60"`
	AdmittedInMinute int64 `json:"admittedInMinute" doc:"Admitted within the last 60 s." example:"597"`
	PerMinute        int64 `json:"perMinute" maximum:"6000000" doc:"The most of that, as set." example:"600"`
	MostInSecond     int64 `json:"mostInSecond" doc:"The most that were admitted within any 1,000 ms which ended in this minute or the one before." example:"13"`
	SecondLimit      int64 `json:"secondLimit" doc:"The most that any 1,000 ms may admit while there is a line. While nobody waits, only the other limits hold." example:"13"`

	Inside        int64 `json:"inside" doc:"How many are inside, in a zone with maxInside; after a loss, those that may be inside, too. 0 in other zones." example:"480"`
	InsideUnknown int64 `json:"insideUnknown" doc:"How many of them may be inside, since the store has lost data, and nothing else is known of them." example:"0"`
	MaxInside     int64 `json:"maxInside" maximum:"10000000" doc:"The cap, as set; 0 for none." example:"500"`
	Full          bool  `json:"full" doc:"There is less than a window's worth of room inside, so that visitors enter as others leave." example:"true"`
	StayP50Millis int64 `json:"stayP50Millis" doc:"How long half of those who are inside no longer had stayed at most, since the zone's data began." example:"240000"`
	StayP95Millis int64 `json:"stayP95Millis" doc:"The same of 95 %." example:"900000"`

	WindowUse          float64     `json:"windowUse" maximum:"1" doc:"admittedInWindow of windowLimit. A burst is not shown above 1; of a limit of 0 it is 0." example:"0.9833333333333333"`
	EstimatedWait      int64       `json:"estimatedWait" maximum:"86400000" doc:"Milliseconds that one who joins now will wait, as far as can be told." example:"461000"`
	EstimatedWaitRange *Range      `json:"estimatedWaitRange" doc:"That wait lies in this range four times of five; null where it is not known." example:"{low: 392000, high: 540000}"`
	Totals             line.Totals `json:"totals"`
	At                 int64       `json:"at" doc:"The moment that the above is of, in Unix milliseconds on the zone's clock." example:"1795223373123"`
	// Rates are those of the latest full second.
	Rates
}

// Range is from how long to how long a wait may be.
type Range struct {
	Low  int64 `json:"low" maximum:"86400000" doc:"Milliseconds." example:"392000"`
	High int64 `json:"high" maximum:"86400000" doc:"Milliseconds." example:"540000"`
}

// Rates are what happened in the last minute, as History has it: see
// watch.Sample. What is not known is null: all of it when the zone was made just
// now or its store did not answer a second ago, the waits when nobody was admitted.
type Rates struct {
	SampledAt   *int64 `json:"sampledAt" doc:"The second, in Unix milliseconds, that the rates are of; null, as they are, while there is no sample." example:"1795223373000"`
	RateSeconds *int64 `json:"rateSeconds" doc:"Over how many seconds the rates were measured, 60, and fewer at the beginning." example:"60"`

	JoinsPerMinute      *float64 `json:"joinsPerMinute" doc:"Places taken in a minute, on all servers." example:"911"`
	AdmittedPerMinute   *float64 `json:"admittedPerMinute" doc:"Visitors admitted in a minute." example:"597"`
	DeparturesPerMinute *float64 `json:"departuresPerMinute" doc:"Places given up in a minute." example:"31"`
	SweptPerMinute      *float64 `json:"sweptPerMinute" doc:"Places lost by silence in a minute." example:"22"`
	PollsPerSecond      *float64 `json:"pollsPerSecond" doc:"Polls of places that the store answered, in a second." example:"540.2"`
	RefusedPerMinute    *float64 `json:"refusedPerMinute" doc:"Requests of the zone in a minute that this server refused, with any problem. Other servers count their own." example:"12"`
	Restored            *int64   `json:"restored" doc:"Lost places put back in rateSeconds." example:"0"`

	WaitP50Millis *int64 `json:"waitP50Millis" doc:"The median wait of those admitted in rateSeconds; null when nobody was." example:"300032"`
	WaitP95Millis *int64 `json:"waitP95Millis" doc:"The wait that 95 % of them did not exceed." example:"321536"`
}

func ratesOf(s *watch.Sample) (r Rates) {
	if !s.Known() {
		return r
	}
	r.SampledAt, r.RateSeconds = &s.At, &s.RateSeconds
	if s.RateSeconds > 0 {
		r.JoinsPerMinute, r.AdmittedPerMinute = &s.JoinsPerMinute, &s.AdmittedPerMinute
		r.DeparturesPerMinute, r.SweptPerMinute = &s.DeparturesPerMinute, &s.SweptPerMinute
		r.PollsPerSecond, r.RefusedPerMinute, r.Restored = &s.PollsPerSecond, &s.RefusedPerMinute, &s.Restored
	}
	if s.WaitCount > 0 {
		r.WaitP50Millis, r.WaitP95Millis = &s.WaitP50Millis, &s.WaitP95Millis
	}
	return r
}

// Stats returns the state of one zone at this moment. It returns a
// *serve.FieldError for a name that can be no zone's.
func (s *Service) Stats(ctx context.Context, zoneID string) (Stats, error) {
	settings, err := s.Get(ctx, zoneID)
	if err != nil {
		return Stats{}, err
	}
	stats, err := s.Zones.Stats(ctx, zoneID)
	if err != nil {
		return Stats{}, fmt.Errorf("operator: stats: %w", err)
	}
	state := settings.State()
	settings = settings.InForce()
	now := stats.State
	out := Stats{
		ZoneID: zoneID, Mode: settings.Mode, State: state,
		Waiting: now.Waiting, Released: now.Released, Overdue: now.Released - now.Live, Live: now.Live,
		AdmittedInWindow: now.InWindow, WindowLimit: now.WindowLimit,
		AdmittedInMinute: now.InMinute, PerMinute: settings.PerMinute,
		MostInSecond: stats.MostInSecond, SecondLimit: window.RatesOf(settings).PerSecond,
		Inside: now.Inside, InsideUnknown: now.InsideLost, MaxInside: settings.MaxInside, Full: now.Full,
		StayP50Millis: window.WaitQuantile(stats.Stays, 0.5), StayP95Millis: window.WaitQuantile(stats.Stays, 0.95),
		WindowUse:     watch.Use(now.InWindow, now.WindowLimit),
		EstimatedWait: stats.EstimateMillis, Totals: stats.Totals, At: now.NowMillis,
	}
	if stats.HighMillis > 0 {
		out.EstimatedWaitRange = &Range{stats.LowMillis, stats.HighMillis}
	}
	if sample, ok := s.Watch.Latest(zoneID); ok {
		out.Rates = ratesOf(&sample)
	}
	return out, nil
}

// MaxHistorySeconds is how long a zone's history is: an hour.
const MaxHistorySeconds = watch.Kept

// History is the last hour of a zone, or less.
type History struct {
	ZoneID     string        `json:"zoneId"`
	Start      int64         `json:"start" doc:"The second of the first row, in Unix milliseconds; 0 of no rows." example:"1795219774000"`
	StepMillis int64         `json:"stepMillis" enum:"1000" doc:"How far apart the rows are."`
	Rows       int           `json:"rows" maximum:"3600" doc:"How many there are." example:"3600"`
	Columns    watch.Columns `json:"columns"`
}

// History returns the last so many seconds of a zone, 1 to MaxHistorySeconds, up
// to the latest that was sampled. It returns a *serve.FieldError for a name that
// can be no zone's.
func (s *Service) History(ctx context.Context, zoneID string, seconds int) (History, error) {
	if seconds < 1 || seconds > MaxHistorySeconds {
		return History{}, &serve.FieldError{
			Field: "seconds", Reason: fmt.Sprintf("must be a whole number between 1 and %d", MaxHistorySeconds),
		}
	}
	if _, err := s.Get(ctx, zoneID); err != nil {
		return History{}, err
	}
	columns := watch.NewColumns(s.Watch.History(zoneID), seconds)
	return History{
		ZoneID: zoneID, Start: columns.Start, StepMillis: watch.StepMillis, Rows: columns.Len(), Columns: columns,
	}, nil
}
