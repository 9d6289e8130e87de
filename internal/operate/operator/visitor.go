package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
)

// Visitor is what a support desk is told of a visitor's place. Times are absent where there are none.
type Visitor struct {
	ZoneID          string `json:"zoneId"`
	PlaceID         string `json:"placeId" doc:"The reference, as answers and pages show it." example:"067KMNBQ20H9JS"`
	State           string `json:"state" enum:"waiting|aside|admitted|inside|gone" doc:"In the line; set aside, since the visitor does not poll; admitted; admitted and counted inside, in a zone with maxInside; or none of these: the visitor left, was away for too long, or the admission has expired." example:"waiting"`
	Position        int64  `json:"position,omitempty" doc:"In the line, from 1." example:"1234"`
	ArrivedAtMicros int64  `json:"arrivedAtMicros,omitempty" doc:"When the place was taken, in Unix microseconds; of one in the line or set aside." example:"1795223373123456"`
	PolledAt        int64  `json:"polledAt,omitempty" doc:"When the visitor last polled, in Unix milliseconds; of one in the line." example:"1795223434123"`
	AsideAt         int64  `json:"asideAt,omitempty" doc:"When the place was set aside." example:"1795223434123"`
	KeptUntil       int64  `json:"keptUntil,omitempty" doc:"Until when a place that is set aside is kept." example:"1795224334123"`
	AdmittedAt      int64  `json:"admittedAt,omitempty" doc:"When the visitor was admitted." example:"1795223434123"`
	ExpiresAt       int64  `json:"expiresAt,omitempty" doc:"When that pass expires." example:"1795223734123"`
	InsideUntil     int64  `json:"insideUntil,omitempty" doc:"Until when the visitor counts as inside." example:"1795225234123"`
	Used            bool   `json:"used,omitempty" doc:"In a zone with maxInside: the session has begun." example:"true"`
	Pseudonym       string `json:"pseudonym,omitempty" doc:"What the visitor is called in the logs of admissions, for an arrival on the day; absent where there is no key of that day." example:"q3ZzX0bY1m2n"`
	Day             string `json:"day" format:"date" doc:"The day of the arrival (UTC), or the one that was asked for." example:"2026-12-01"`
}

// visited says of which visitor.
type visited struct {
	Day string `json:"day" format:"date" doc:"The day of the arrival (UTC), for the pseudonym of a visitor who is gone; today when absent." example:"2026-12-01"`
}

// Visitor returns what the store has of the visitor with a reference. It returns a *serve.FieldError for what is no reference or no day.
func (s *Service) Visitor(ctx context.Context, zoneID, ref, day string) (v Visitor, err error) {
	id, err := line.ParsePlaceID(ref)
	if err != nil {
		return v, &serve.FieldError{Field: "ref", Reason: "must be a reference: 14 digits and letters, as the visitor's page shows them"}
	}
	arrived, err := time.Parse(time.DateOnly, day)
	if day != "" && err != nil {
		return v, &serve.FieldError{Field: "day", Reason: "must be a day, such as 2026-12-01"}
	}
	settings, err := s.Get(ctx, zoneID)
	if err != nil {
		return v, err
	}
	f, err := s.Zones.FindVisitor(ctx, zoneID, id)
	stats, err2 := s.Zones.Stats(ctx, zoneID)
	if err := errors.Join(err, err2); err != nil {
		return v, fmt.Errorf("operator: visitor: %w", err)
	}
	now := stats.State.NowMillis
	if day == "" {
		arrived = time.UnixMilli(now)
	}
	v = Visitor{ZoneID: zoneID, PlaceID: id.PlaceID(), State: "gone"}
	kept := f.AsideAtMillis + settings.KeepPlace().Milliseconds()
	switch {
	case f.Position > 0:
		v.State, v.Position, v.PolledAt = "waiting", f.Position, f.PolledAtMillis
	case f.InsideUntilMillis > now:
		v.State, v.InsideUntil, v.Used = "inside", f.InsideUntilMillis, f.Used
	case f.ExpiresAtMillis > now:
		v.State = "admitted"
	case f.AsideAtMillis > 0 && kept > now:
		v.State, v.AsideAt, v.KeptUntil = "aside", f.AsideAtMillis, kept
	}
	if v.State == "waiting" || v.State == "aside" {
		v.ArrivedAtMicros, arrived = f.ArrivedAtMicros, time.UnixMicro(f.ArrivedAtMicros)
	} else {
		v.AdmittedAt, v.ExpiresAt = f.AdmittedAtMillis, f.ExpiresAtMillis
	}
	v.Day = arrived.UTC().Format(time.DateOnly)
	key, err := writer.Key(ctx, s.Zones, zoneID, writer.Day(arrived.UnixMicro()))
	if key != nil {
		v.Pseudonym = writer.PseudonymOf(key, id)
	}
	return v, err
}
