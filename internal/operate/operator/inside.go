package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// IdleAfter is for how long a session has asked for nothing to be listed as idle.
const IdleAfter = 3 * time.Minute

// MaxListed is the most that Sessions and Networks return.
const MaxListed = 1000

func checkMost(most int) error {
	if most < 1 || most > MaxListed {
		return &serve.FieldError{Field: "limit", Reason: fmt.Sprintf("must be between 1 and %d", MaxListed)}
	}
	return nil
}

// Sessions are the sessions of a zone with a cap that asked this server. Other servers know of others.
type Sessions struct {
	ZoneID   string         `json:"zoneId"`
	Known    int64          `json:"known" doc:"How many sessions asked this server and go on." example:"297"`
	Idle     int64          `json:"idle" doc:"How many of them have asked for nothing for three minutes." example:"120"`
	Sessions []line.Session `json:"sessions" doc:"The newest of them."`
}

// Idle counts the sessions of a zone that asked this server, and those that have asked for nothing for IdleAfter.
func (s *Service) Idle(zoneID string) (sessions, idle int64) { return s.Zones.Idle(zoneID, IdleAfter) }

// Sessions returns the newest sessions of a zone, at most so many, 1 to MaxListed. It returns a *serve.FieldError for
// another number, and for a name that can be no zone's.
func (s *Service) Sessions(ctx context.Context, zoneID string, most int) (Sessions, error) {
	if err := checkMost(most); err != nil {
		return Sessions{}, err
	}
	if _, err := s.Get(ctx, zoneID); err != nil {
		return Sessions{}, err
	}
	known, idle := s.Idle(zoneID)
	return Sessions{ZoneID: zoneID, Known: known, Idle: idle, Sessions: append([]line.Session{}, s.Zones.Sessions(zoneID, most)...)}, nil
}

// InsideVerb is what an operator does to those inside.
type InsideVerb string

// The verbs.
const (
	// Revoke ends admissions: their sessions are refused everywhere within a second.
	Revoke InsideVerb = "revoke"
	// Reset says that nobody is inside but those whom the store knows.
	Reset InsideVerb = "reset"
)

// insideVerb is the part of a path that has it.
type insideVerb struct {
	Do InsideVerb `json:"do" enum:"revoke|reset" doc:"What to do." example:"revoke"`
}

// InsideAct is what an operator does to those inside. To revoke it has a JTI, or All.
type InsideAct struct {
	Do InsideVerb `json:"-"`
	Whom
}

// Whom an act is about. With DryRun nothing is changed.
type Whom struct {
	JTI    string `yaml:"jti"    json:"jti,omitempty"    format:"uuid" doc:"To revoke: the jti of a pass of this zone."`
	All    bool   `yaml:"all"    json:"all,omitempty"    doc:"To revoke: all admissions."`
	DryRun bool   `yaml:"dryRun" json:"dryRun,omitempty" doc:"Say how many admissions it is about, and change nothing."`
}

// InsideDone is what an act has done, or with DryRun would do.
type InsideDone struct {
	ZoneID string `json:"zoneId"`
	Count  int64  `json:"count" doc:"How many admissions it was about: those inside, or those that may have been lost." example:"297"`
	DryRun bool   `json:"dryRun" doc:"Nothing was changed." example:"true"`
}

// ActInside revokes admissions of a zone with a cap, or forgets those that may have been lost. It returns a
// *serve.FieldError or a *serve.InvalidError with nothing changed where that cannot be.
func (s *Service) ActInside(ctx context.Context, zoneID string, act InsideAct, by audit.By) (InsideDone, error) {
	return retry(func() (InsideDone, error) { return s.actInside(ctx, zoneID, act, by) })
}

func (s *Service) actInside(ctx context.Context, zoneID string, act InsideAct, by audit.By) (InsideDone, error) {
	was, err := s.Get(ctx, zoneID)
	if err != nil {
		return InsideDone{}, err
	}
	stats, err := s.Zones.Stats(ctx, zoneID)
	if errors.Is(err, line.ErrStoreUnavailable) && act.Do == Revoke { // the brake works all the same
		stats.State, err = s.Zones.KnownInside(zoneID), nil
	}
	if err != nil {
		return InsideDone{}, fmt.Errorf("operator: those inside: %w", err)
	}
	next, count, fault := act.on(was, stats.State)
	if fault != "" {
		return InsideDone{}, &serve.InvalidError{Faults: []string{fault}}
	}
	if !act.DryRun {
		if _, err := s.Zones.PutZone(ctx, next, &was, by); err != nil {
			return InsideDone{}, fmt.Errorf("operator: those inside: %w", err)
		}
		s.Logger.InfoContext(ctx, "those inside changed", "zone", zoneID, "do", act.Do, "jti", act.JTI, "count", count, "by", by.Who())
	}
	return InsideDone{zoneID, count, act.DryRun}, nil
}

// on returns the zone after the act and how many admissions it is about, by what the store counts. fault is a sentence
// where that cannot be. The zone's clock may be behind an earlier act, after a loss: an act counts all the same, and takes nothing back.
func (a InsideAct) on(was zone.Settings, now line.State) (next zone.Settings, count int64, fault string) {
	next = was
	switch {
	case was.MaxInside == 0:
		return was, 0, "maxInside is 0: the zone counts nobody inside"
	case a.Do == Reset:
		next.InsideState.ResetAtMillis = max(now.NowMillis, was.InsideState.ResetAtMillis+1)
		return next, now.InsideLost, ""
	case a.Do != Revoke:
		return was, 0, fmt.Sprintf("%q must be revoke or reset", a.Do)
	case a.All == (a.JTI != ""):
		return was, 0, "either jti or all must be there"
	case a.All:
		// Who was admitted in this second is revoked, too, wherever it was.
		next.InsideState.RevokedUpToMillis = max(now.NowMillis+time.Second.Milliseconds(), was.InsideState.RevokedUpToMillis)
		return next, now.Inside, ""
	}
	jti, err := uuid.Parse(a.JTI)
	if _, ok := line.AdmissionOf(was.ZoneID, jti); err != nil || !ok {
		return was, 0, "jti is not one of this zone's passes"
	}
	next.InsideState = was.InsideState.Revoke(jti.String())
	return next, 1, ""
}
