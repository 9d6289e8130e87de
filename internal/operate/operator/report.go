package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// usualSpan is what a report is of that names neither an event nor a span.
	usualSpan = 24 * time.Hour
	// NoScenarios asks for a report without simulated limits.
	NoScenarios = "none"
)

// ReportQuery says what a report is to be of.
type ReportQuery struct {
	Event  string `json:"event" maxLength:"40" pattern:"^[A-Za-z0-9._-]{1,40}$" doc:"The event: from when people gather or it opens until it ends, or nothing happens any more." example:"noon"`
	From   string `json:"from" format:"date-time" doc:"Without an event: the first moment; a day before to when absent." example:"2026-12-01T11:00:00+01:00"`
	To     string `json:"to" format:"date-time" doc:"Without an event: the moment after the last; now when absent. At most 31 days after from." example:"2026-12-01T15:00:00+01:00"`
	WhatIf string `json:"whatIf" pattern:"^(none|[0-9]{1,7}(,[0-9]{1,7}){0,4})$" doc:"Limits to simulate with the same arrivals, at most five; none for no simulation. A quarter more than the usual limit, half more and twice as many when absent." example:"900,1200"`
}

// Report says how an event or a span of a zone was, also of one that was deleted. It returns a *serve.FieldError for a query that
// cannot be.
func (s *Service) Report(ctx context.Context, zoneID string, q ReportQuery) (*report.Report, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return nil, err
	}
	limits, err := readLimits(q.WhatIf)
	if err != nil {
		return nil, err
	}
	changes, err := s.Zones.AllChanges(ctx, zoneID)
	if err != nil {
		return nil, fmt.Errorf("operator: report: %w", err)
	}
	settings, err := s.Zones.Zone(ctx, zoneID)
	gone := errors.Is(err, line.ErrZoneUnknown) || errors.Is(err, line.ErrZoneDeleted)
	if i := slices.IndexFunc(changes, func(c zone.Change) bool { return c.Was != nil }); gone && i >= 0 {
		settings, err = *changes[i].Was, nil
	}
	if err != nil {
		return nil, fmt.Errorf("operator: report: %w", err)
	}
	now := time.Now()
	if !gone {
		now = s.clock(ctx, zoneID)
	}
	from, to, err := q.span(settings, changes, now)
	if err != nil {
		return nil, err
	}
	minutes, err := history.Read(ctx, s.Zones, zoneID, from, to)
	if err != nil {
		return nil, fmt.Errorf("operator: report: %w", err)
	}
	if n := len(minutes); q.Event != "" && n > 0 {
		to = minutes[n-1].Time().Add(time.Duration(max(1, minutes[n-1].NoData)) * time.Minute)
	}
	r := report.Make(report.Source{
		ZoneID: zoneID, Event: q.Event, From: from, To: to, Now: now, Minutes: minutes, Changes: changes,
	})
	if q.WhatIf == "" {
		limits = r.Limits()
	}
	if len(limits) == 0 {
		return r, nil
	}
	s.simulating.Lock() // a core, for a second or two
	defer s.simulating.Unlock()
	return r, WhatIf(ctx, r, settings, limits)
}

func readLimits(text string) (all []int64, err error) {
	if text == "" || text == NoScenarios {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(one), 10, 64)
		if all = append(all, n); err != nil || n < 1 || n > zone.MaxPerMinute || len(all) > report.MostScenarios {
			return nil, &serve.FieldError{
				Field: "whatIf", Reason: fmt.Sprintf("must be none, or at most %d limits between 1 and %d with commas between them", report.MostScenarios, zone.MaxPerMinute),
			}
		}
	}
	return all, nil
}

// span is what the report is of.
func (q ReportQuery) span(settings zone.Settings, changes []zone.Change, now time.Time) (from, to time.Time, err error) {
	fault := func(field, format string, a ...any) error {
		return &serve.FieldError{Field: field, Reason: fmt.Sprintf(format, a...)}
	}
	if q.Event != "" {
		if q.From != "" || q.To != "" {
			return from, to, fault("event", "does not go with from or to")
		}
		p := listed(q.Event, settings, changes)
		if p == nil {
			return from, to, fault("event", "%q is no event that %s lists or has listed lately", q.Event, settings.ZoneID)
		}
		from, to = time.UnixMilli(p.PreQueueAtMillis), time.UnixMilli(p.EndsAtMillis)
		if p.EndsAtMillis == 0 {
			to = time.UnixMilli(p.OpensAtMillis).Add(usualSpan)
		}
		if to = minTime(to, now); !from.Before(to) {
			return from, to, fault("event", "%q has not begun yet", q.Event)
		}
		return from, minTime(to, from.Add(report.MostDays*24*time.Hour)), nil
	}
	to = now
	if q.To != "" {
		if to, err = setting.ParseTime(q.To); err != nil {
			return from, to, fault("to", "%v", err)
		}
	}
	from = to.Add(-usualSpan)
	if q.From != "" {
		if from, err = setting.ParseTime(q.From); err != nil {
			return from, to, fault("from", "%v", err)
		}
	}
	if !from.Before(to) || to.Sub(from) > report.MostDays*24*time.Hour {
		return from, to, fault("from", "must be before to, by at most %d days", report.MostDays)
	}
	return from, to, nil
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// listed is an event as it is, or was last, in the list of the zone.
func listed(name string, settings zone.Settings, changes []zone.Change) *event.Progress {
	lists := []zone.Settings{settings}
	for _, c := range changes {
		if c.Was != nil {
			lists = append(lists, *c.Was)
		}
	}
	for _, l := range lists {
		if p := l.EventState.Now; p != nil && p.Event.Name == name {
			return p
		}
		for _, e := range l.Events {
			if e.Name == name {
				return e.Listed()
			}
		}
	}
	return nil
}
