package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
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
	GivenUp         bool   `json:"givenUp,omitempty" doc:"Where a place was to be given up: it was there, in this state, and is gone." example:"true"`
	Day             string `json:"day" format:"date" doc:"The day of the arrival (UTC), or the one that was asked for." example:"2026-12-01"`
}

// States of a visitor, of whom the store may have nothing that goes on.
const (
	waiting = "waiting"
	aside   = "aside"
	inside  = "inside"
	gone    = "gone"
)

// Words say where the visitor stands: the end of a sentence.
func (v *Visitor) Words() string {
	at := func(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }
	arrived := "arrived " + at(v.ArrivedAtMicros/1000)
	switch v.State {
	case waiting:
		return fmt.Sprintf("%s, waits at position %d, last polled %s", arrived, v.Position, at(v.PolledAt))
	case aside:
		return fmt.Sprintf("%s, was silent, and is set aside since %s. The place is kept until %s", arrived, at(v.AsideAt), at(v.KeptUntil))
	case "admitted":
		return fmt.Sprintf("admitted %s. The pass is good until %s", at(v.AdmittedAt), at(v.ExpiresAt))
	case inside:
		used := "has not used the pass yet"
		if v.Used {
			used = "has used the pass"
		}
		return fmt.Sprintf("admitted %s, %s, and counts as inside until %s", at(v.AdmittedAt), used, at(v.InsideUntil))
	}
	return "not in the line, and not inside. The visitor left, was away for too long, or the admission has expired"
}

// HasPlace reports whether there is a place that can be given up.
func (v *Visitor) HasPlace() bool { return v.State == waiting || v.State == aside || v.State == inside }

// visited says of which visitor.
type visited struct {
	Day string `json:"day" format:"date" doc:"The day of the arrival (UTC), for the pseudonym of a visitor who is gone; today when absent." example:"2026-12-01"`
}

// pseudonymsDay names whose pseudonyms are forgotten.
type pseudonymsDay struct {
	Day string `json:"day" format:"date" doc:"The day of the arrivals (UTC)." example:"2026-12-01"`
}

// readDay reads a day. It returns a *serve.FieldError for what is none.
func readDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, &serve.FieldError{Field: "day", Reason: "must be a day, such as 2026-12-01"}
	}
	return day, nil
}

// Visitor returns what the store has of the visitor with a reference. It returns a *serve.FieldError for what is no reference or no day.
func (s *Service) Visitor(ctx context.Context, zoneID, ref, day string) (v Visitor, err error) {
	id, err := line.ParsePlaceID(ref)
	if err != nil {
		return v, &serve.FieldError{Field: "ref", Reason: "must be a reference: 14 digits and letters, as the visitor's page shows them"}
	}
	var arrived time.Time
	if day != "" {
		if arrived, err = readDay(day); err != nil {
			return v, err
		}
	}
	settings, err := s.Get(ctx, zoneID)
	if err != nil {
		return v, err
	}
	stats, err := s.Zones.Stats(ctx, zoneID)
	now := stats.State.NowMillis
	var f line.Found
	var visit store.Visit
	if invitation := settings.InvitationAt(time.UnixMilli(now)); err == nil && invitation != "" && settings.MaxInside > 0 {
		visit, err = s.Zones.Visit(ctx, ticket.Key(zoneID, invitation, id), visit)
	}
	if err == nil {
		f, err = s.Zones.FindVisitor(ctx, zoneID, line.Admission{ID: id, AtMillis: visit.AtMillis})
	}
	if err != nil {
		return v, fmt.Errorf("operator: visitor: %w", err)
	}
	if day == "" {
		arrived = time.UnixMilli(now)
	}
	v = Visitor{ZoneID: zoneID, PlaceID: id.PlaceID(), State: gone}
	kept := f.AsideAtMillis + settings.KeepPlace().Milliseconds()
	switch {
	case f.Position > 0:
		v.State, v.Position, v.PolledAt = waiting, f.Position, f.PolledAtMillis
	case f.InsideUntilMillis > now:
		v.State, v.InsideUntil, v.Used = inside, f.InsideUntilMillis, f.Used
	case f.ExpiresAtMillis > now:
		v.State = "admitted"
	case f.AsideAtMillis > 0 && kept > now:
		v.State, v.AsideAt, v.KeptUntil = aside, f.AsideAtMillis, kept
	}
	if v.State == waiting || v.State == aside {
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

// GiveUp takes the place of the visitor with a reference out of the line, from those set aside or from inside, as when the visitor leaves; nobody
// else is moved. The visitor may join again, at the end. Who was admitted in a zone without a cap stays admitted. It returns what there was, with
// GivenUp; where there was nothing to give up, what there is. It can be repeated. Errors are those of Visitor.
func (s *Service) GiveUp(ctx context.Context, zoneID, ref string, by audit.By) (Visitor, error) {
	v, err := s.Visitor(ctx, zoneID, ref, "")
	if err != nil || !v.HasPlace() {
		return v, err
	}
	place := line.Place{ArrivedAtMicros: v.ArrivedAtMicros}
	if v.State == inside { // the arrival was no later
		place.ArrivedAtMicros, place.AdmittedAtMillis = 1000*v.AdmittedAt, v.AdmittedAt
	}
	id, err := line.ParsePlaceID(ref)
	z, err2 := s.Zones.Find(ctx, zoneID)
	if err = errors.Join(err, err2); err == nil {
		place.ID = id
		err = z.Leave(ctx, place)
	}
	if err != nil {
		return v, fmt.Errorf("operator: give up: %w", err)
	}
	s.Admissions.Left(z, place, true)
	s.People.Note(ctx, by, "gave up place", fmt.Sprintf("%s %s, %s", zoneID, v.PlaceID, v.State))
	s.Logger.InfoContext(ctx, "place given up", "zone", zoneID, "was", v.State, "by", by.Who())
	v.GivenUp = true
	return v, nil
}

// Forget destroys the key by which visitors of a zone who arrived on a day are named in the logs of admissions, also of a zone that is deleted.
// Nobody can say any more who was who. Servers name those who are still there by another key, within two seconds. It can be repeated. It returns a
// *serve.FieldError for what is no zone's name or no day.
func (s *Service) Forget(ctx context.Context, zoneID, day string, by audit.By) error {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return err
	}
	of, err := readDay(day)
	if err != nil {
		return err
	}
	if err := writer.Forget(ctx, s.Zones, zoneID, writer.Day(of.UnixMicro()), s.Keep); err != nil {
		return fmt.Errorf("operator: forget pseudonyms: %w", err)
	}
	s.People.Note(ctx, by, "forgot pseudonyms", zoneID+" "+day)
	s.Logger.InfoContext(ctx, "pseudonyms forgotten", "zone", zoneID, "day", day, "by", by.Who())
	return nil
}
