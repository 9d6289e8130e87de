// Package zone holds a zone's settings: what an operator may set, what each
// setting means, its default and its limits. It knows nothing of lines, stores
// or HTTP.
package zone

import (
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/setting"
)

// Texts is one text in several languages.
type Texts = setting.Texts

// DefaultText is the tag of the text for who reads none of the languages.
const DefaultText = setting.DefaultText

// Mode says what a zone does with those who come.
type Mode string

// The three modes of a zone.
const (
	// ModeQueue admits at the limit and lines up the rest.
	ModeQueue Mode = "queue"
	// ModeOpen admits everybody at once; admissions are still counted, so
	// that a return to ModeQueue starts from the true state of the window.
	ModeOpen Mode = "open"
	// ModeClosed takes no newcomers; those who wait go on being admitted.
	ModeClosed Mode = "closed"
)

// FailurePolicy says what a server answers while the zone's store is away.
type FailurePolicy string

// Renewal says whether a session is prolonged.
type Renewal string

// The two kinds of renewal.
const (
	// RenewalUse gives an active visitor a new session when half of the old one is over.
	RenewalUse Renewal = "use"
	// RenewalOff ends a session when its time is over.
	RenewalOff Renewal = "off"
)

// The two failure policies.
const (
	// FailureHold answers 503 and keeps everybody's place.
	FailureHold FailurePolicy = "hold"
	// FailureAdmit lets each server admit at its share of the limit.
	FailureAdmit FailurePolicy = "admit"
)

// Defaults of a new zone, and the ranges of what may be set.
const (
	// DefaultPerMinute admits ten visitors a second: enough for a small shop.
	DefaultPerMinute = 600
	// DefaultWindowSeconds is the sliding window of the contract.
	DefaultWindowSeconds = 6
	// DefaultIdleTimeoutSeconds is three times the longest polling period.
	DefaultIdleTimeoutSeconds = 60
	// DefaultKeepPlaceSeconds is a quarter of an hour: as long as others keep the place of a phone in a pocket.
	DefaultKeepPlaceSeconds = 900
	// passTTL gives five minutes to begin what one waited for. passTTLInside is that where a pass holds a slot that nobody else gets.
	passTTL       = 5 * time.Minute
	passTTLInside = time.Minute
	// DefaultSessionSeconds is what analytics count as one visit.
	DefaultSessionSeconds = 1800

	// MaxPerMinute is a hundred thousand admissions a second, above what one
	// store node decides.
	MaxPerMinute = 6_000_000
	// MaxWindowSeconds is the minute that the second limit is counted over.
	MaxWindowSeconds = 60
	// MinIdleTimeoutSeconds leaves room for two polls at the shortest period.
	MinIdleTimeoutSeconds = 5
	// MaxIdleTimeoutSeconds is an hour: longer would keep a dead line alive.
	MaxIdleTimeoutSeconds = 3600
	// DefaultSoonSeconds is for a push message, and for its reader to come back.
	DefaultSoonSeconds = 120
	// MaxSoonSeconds is an hour, as long as a place is set aside at most.
	MaxSoonSeconds = 3600
	// MaxKeepPlaceSeconds is an hour: servers remember departures for as long.
	MaxKeepPlaceSeconds = 3600
	// MinPassTTLSeconds covers a slow redirect.
	MinPassTTLSeconds = 10
	// MaxPassTTLSeconds is a day. The log of admissions is kept this long.
	MaxPassTTLSeconds = 86_400
	// MinSessionSeconds leaves room for one page and the next.
	MinSessionSeconds = 60
	// MaxSessionSeconds is a day.
	MaxSessionSeconds = 86_400
	// MaxBypasses and MaxBypassLength bound the lists of what is never queued: they are
	// gone through with each request that has no session.
	MaxBypasses     = 50
	MaxBypassLength = 256
	// MaxInvitationLength is in bytes.
	MaxInvitationLength = 64
	// MaxMaxInside bounds the largest cap.
	MaxMaxInside = 10_000_000
	// MaxMaxWaiting bounds the largest line that can be asked for.
	MaxMaxWaiting = 100_000_000
	// MaxMaxWaitMinutes is half of the longest wait that is ever told: nobody joins a line for longer.
	MaxMaxWaitMinutes = 720
)

// ErrInvalid is wrapped by every error of Validate.
var ErrInvalid = errors.New("zone: invalid settings")

// Settings are all that an operator sets for one zone. The row of a field in Table says what the setting does, its unit, its
// bounds and its default; a comment here says what is not there. Compare with Equal: a setting may be a list.
type Settings struct {
	_ [0]func() // no ==
	// ZoneID names the zone: 1-64 of A-Z a-z 0-9 . _ -
	ZoneID             string
	PerMinute          int64
	Mode               Mode
	WindowSeconds      int64
	Burst              int64
	IdleTimeoutSeconds int64
	KeepPlaceSeconds   int64
	SoonSeconds        int64
	PassTTLSeconds     int64
	MaxWaiting         int64
	MaxWaitMinutes     int64
	OnStoreFailure     FailurePolicy
	MaxPerSecond       PerSecond
	Sites              []string
	PageTitle          string
	PageColor          string
	PageLogo           string
	// PageHeader, PageAside and PageFooter are HTML, PageStyle is CSS: package markup cleans them before they are shown.
	PageLinks                         Links
	PageHeader, PageAside, PageFooter Texts
	PageStyle                         string
	PageSources                       []string
	Message                           Texts
	MessageNear                       Texts
	MessageSeverity                   Severity
	// SoldOut is why there is nothing to wait for any more; empty while there is. See InForce.
	SoldOut        Texts
	Invitation     string
	SessionSeconds int64
	SessionRenewal Renewal
	CookieDomain   string
	MaxInside      int64
	InsideBy       InsideBy
	DonePaths      []string
	InsideState    InsideState
	Pilot          Pilot
	// PilotMin and PilotMax bound what the autopilot sets, PilotP95Millis and PilotErrorPercent say up to where a site is healthy.
	PilotMin, PilotMax, PilotP95Millis, PilotErrorPercent int64
	// PilotState is the last step that the autopilot made, which the servers set.
	PilotState PilotStep
	// SiteGate is the setting gate: see GateObserve.
	SiteGate     string
	BypassPaths  []string
	BypassCommon string
	BypassAgents []string
	// BypassNetworks are networks whose visitors the gate never queues: see Network.
	BypassNetworks         []string
	Challenge              Challenge
	ChallengeWhen          string
	ChallengeMillis        int64
	ChallengeWithoutScript string
	OnChallengeFailure     FailurePolicy
	MaxShareByNetwork      int64
	// NetworkShares are networks that have another share, such as AS64500=1: see OwnShare.
	NetworkShares []string
	CORSOrigins   []string
	// Events are the sales that have a time. EventState is how far they are, which the
	// servers set.
	Events     []event.Event
	EventState event.State
}

// Defaults returns the settings of a new zone.
func Defaults(zoneID string) Settings {
	s := Settings{ZoneID: zoneID}
	Table.Fill(&s)
	return s
}

// InForce is what the settings come to for a line: in a zone that is sold out nobody enters, and nobody takes a place. Visitors
// with a place keep it while they poll, in case the operator takes the sold-out text back.
func (s Settings) InForce() Settings {
	if len(s.SoldOut) > 0 {
		s.Mode, s.PerMinute = ModeClosed, 0
	}
	return s
}

// Window is the length of the sliding window.
func (s Settings) Window() time.Duration { return time.Duration(s.WindowSeconds) * time.Second }

// IdleTimeout is how long a visitor may be silent.
func (s Settings) IdleTimeout() time.Duration {
	return time.Duration(s.IdleTimeoutSeconds) * time.Second
}

// KeepPlace is for how long the place of a visitor who was swept is set aside; 0 for not at all.
func (s Settings) KeepPlace() time.Duration { return time.Duration(s.KeepPlaceSeconds) * time.Second }

// KeptFor is for how long a visitor who falls silent can come back to the place, from when the next poll is due: longer by up to the
// time between two sweeps, and less if as many places as may be are set aside.
func (s Settings) KeptFor() time.Duration { return s.IdleTimeout() + s.KeepPlace() }

// MaxAside is how many places of a zone are set aside at most, where maxWaiting sets no bound: some 310 MB of Redis.
const MaxAside = 4_000_000

// MostAside is how many places are set aside at most.
func (s Settings) MostAside() int64 {
	if s.MaxWaiting > 0 {
		return s.MaxWaiting
	}
	return MaxAside
}

// MaxWait is the longest expected wait with which a newcomer gets a place; 0 for no bound.
func (s Settings) MaxWait() time.Duration { return time.Duration(s.MaxWaitMinutes) * time.Minute }

// passTTLExact is up to which time to live a store keeps a pass's to the second; see lua/line/include/expiry.lua.
const passTTLExact = 45 * time.Minute

// PassTTL is how long a pass is good for: what PassTTLSeconds says, above 45 minutes rounded up to whole minutes. Where it says 0, that
// depends on whether there is a cap.
func (s Settings) PassTTL() time.Duration {
	ttl := time.Duration(s.PassTTLSeconds) * time.Second
	switch {
	case ttl > passTTLExact:
		return (ttl + time.Minute - 1).Truncate(time.Minute)
	case ttl == 0 && s.MaxInside > 0:
		return passTTLInside
	case ttl == 0:
		return passTTL
	}
	return ttl
}

func (s Settings) passTTLFault() string {
	if s.PassTTLSeconds > 0 && s.PassTTLSeconds < MinPassTTLSeconds {
		return fmt.Sprintf("is %d, must be 0 or between %d and %d", s.PassTTLSeconds, MinPassTTLSeconds, MaxPassTTLSeconds)
	}
	return ""
}

func (s Settings) sayPassTTL() string {
	said := setting.Count(int64(s.PassTTL()/time.Second)) + " s"
	if s.PassTTLSeconds == 0 {
		said += " (by default)"
	}
	return said
}

// Session is how long a session at the gate lasts.
func (s Settings) Session() time.Duration { return time.Duration(s.SessionSeconds) * time.Second }

// maxIDLength bounds a zone's name.
const maxIDLength = 64

// ValidID reports whether the name can be a zone's: 1-64 of A-Z a-z 0-9 . _ -
// (no braces, so that it can be a Redis hash tag as it is).
// "." and ".." cannot: clients take them out of a path.
func ValidID(id string) bool {
	if len(id) == 0 || len(id) > maxIDLength || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Validate reports all Faults, in one error that wraps ErrInvalid.
func (s Settings) Validate() error {
	var errs []error
	for _, fault := range s.Faults() {
		errs = append(errs, fmt.Errorf("%w: %s", ErrInvalid, fault))
	}
	return errors.Join(errs...)
}

// Faults are all settings that are out of their range, a sentence each, which says what is allowed.
func (s Settings) Faults() []string {
	faults := Table.Check(s)
	if fault := s.eventFault(); fault != "" {
		faults = append(faults, fault)
	}
	if !ValidID(s.ZoneID) {
		faults = append([]string{fmt.Sprintf("zoneId %q must be 1 to 64 of A-Z a-z 0-9 . _ -", s.ZoneID)}, faults...)
	}
	return faults
}
