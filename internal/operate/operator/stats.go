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

// Stats is a zone as an operator watches it.
type Stats struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode"`
	// State says in a word or two what the zone does with those who come: see zone.Settings.State.
	State string `json:"state"`
	// Waiting is how many are in the line; Released of them may be admitted
	// when they poll. Of those, Live are expected, and Overdue did not come
	// when told to.
	Waiting  int64 `json:"waiting"`
	Released int64 `json:"released"`
	Overdue  int64 `json:"overdue"`
	Live     int64 `json:"live"`
	// AdmittedInWindow is how many were admitted within the last window, of at
	// most WindowLimit (Burst apart); after a loss of the store's data it
	// includes those that may have been lost.
	AdmittedInWindow int64 `json:"admittedInWindow"`
	WindowLimit      int64 `json:"windowLimit"`
	// AdmittedInMinute is how many were admitted within the last 60 s, of at
	// most PerMinute.
	AdmittedInMinute int64 `json:"admittedInMinute"`
	PerMinute        int64 `json:"perMinute"`
	// MostInSecond is the most admissions in any 1,000 ms of the last one to two
	// minutes; SecondLimit the most that may be while there is a line.
	MostInSecond int64 `json:"mostInSecond"`
	SecondLimit  int64 `json:"secondLimit"`
	// Inside is how many are inside, of at most MaxInside, in a zone with a cap; InsideUnknown of them may be inside, since
	// the store has lost data. Full says that the cap holds the line up. StayP50Millis and StayP95Millis are how long those
	// stayed who are inside no longer, since the zone's data began.
	Inside        int64 `json:"inside"`
	InsideUnknown int64 `json:"insideUnknown"`
	MaxInside     int64 `json:"maxInside"`
	Full          bool  `json:"full"`
	StayP50Millis int64 `json:"stayP50Millis"`
	StayP95Millis int64 `json:"stayP95Millis"`
	// WindowUse is AdmittedInWindow of WindowLimit, from 0 to 1: a burst is
	// not shown above 1. Of a limit of 0 it is 0.
	WindowUse float64 `json:"windowUse"`
	// EstimatedWait is that of one who joins now, in milliseconds.
	EstimatedWait int64 `json:"estimatedWait"`
	// EstimatedWaitRange holds that four times of five; nil where it is not known.
	EstimatedWaitRange *Range `json:"estimatedWaitRange"`
	// Totals count since the zone's data began.
	Totals line.Totals `json:"totals"`
	// At is the moment that the above is of, on the zone's clock, in Unix
	// milliseconds.
	At int64 `json:"at"`
	// Rates are those of the latest full second.
	Rates
}

// Range is from how long to how long a wait may be. Both are milliseconds.
type Range struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Rates are what happened in the last minute, as History has it: see
// watch.Sample. What is not known is null: all of it when the zone was made just
// now or its store did not answer a second ago, the waits when nobody was admitted.
type Rates struct {
	// SampledAt is the second that the rates are of, in Unix milliseconds.
	SampledAt   *int64 `json:"sampledAt"`
	RateSeconds *int64 `json:"rateSeconds"`

	JoinsPerMinute      *float64 `json:"joinsPerMinute"`
	AdmittedPerMinute   *float64 `json:"admittedPerMinute"`
	DeparturesPerMinute *float64 `json:"departuresPerMinute"`
	SweptPerMinute      *float64 `json:"sweptPerMinute"`
	PollsPerSecond      *float64 `json:"pollsPerSecond"`
	// RefusedPerMinute is how many requests of the zone this server alone refused.
	RefusedPerMinute *float64 `json:"refusedPerMinute"`
	// Restored is how many lost places were put back in RateSeconds.
	Restored *int64 `json:"restored"`

	WaitP50Millis *int64 `json:"waitP50Millis"`
	WaitP95Millis *int64 `json:"waitP95Millis"`
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
	stats, err := s.store.Stats(ctx, zoneID)
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
	if sample, ok := s.seen.Latest(zoneID); ok {
		out.Rates = ratesOf(&sample)
	}
	return out, nil
}

// MaxHistorySeconds is how long a zone's history is: an hour.
const MaxHistorySeconds = watch.Kept

// History is the last hour of a zone, or less: a row for each second from Start
// on, StepMillis apart, Rows many, with an array in Columns for each field of a
// sample.
type History struct {
	ZoneID     string        `json:"zoneId"`
	Start      int64         `json:"start"`
	StepMillis int64         `json:"stepMillis"`
	Rows       int           `json:"rows"`
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
	columns := watch.NewColumns(s.seen.History(zoneID), seconds)
	return History{
		ZoneID: zoneID, Start: columns.Start, StepMillis: watch.StepMillis, Rows: columns.Len(), Columns: columns,
	}, nil
}
