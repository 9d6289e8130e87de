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
	// DefaultPassTTLSeconds gives five minutes to begin what one waited for.
	DefaultPassTTLSeconds = 300
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
	MaxBypassLength = 200
	// MaxInvitationLength is in bytes.
	MaxInvitationLength = 64
	// MaxMaxInside bounds the largest cap.
	MaxMaxInside = 10_000_000
	// MaxMaxWaiting bounds the largest line that can be asked for.
	MaxMaxWaiting = 100_000_000
)

// ErrInvalid is wrapped by every error of Validate.
var ErrInvalid = errors.New("zone: invalid settings")

// Settings are all that an operator sets for one zone. Table says of each field what
// it is called, its bounds, and how it is shown. Compare with Equal: a setting may be a
// list.
type Settings struct {
	_ [0]func() // no ==
	// ZoneID names the zone: 1-64 of A-Z a-z 0-9 . _ -
	ZoneID string
	// PerMinute is the limit: the most admissions in any 60 s. 0 holds everybody.
	PerMinute int64
	// Mode is queue, open or closed.
	Mode Mode
	// WindowSeconds is the length of the sliding window, 1-60 s.
	WindowSeconds int64
	// Burst is how many more than the window's limit one window may admit
	// while nobody waits. The limit of the minute still holds.
	Burst int64
	// IdleTimeoutSeconds is how long a visitor may be silent, 5-3600 s.
	IdleTimeoutSeconds int64
	// PassTTLSeconds is how long a pass is good for, 10-86400 s. See PassTTL.
	PassTTLSeconds int64
	// MaxWaiting refuses newcomers at this many waiting. 0 sets no bound.
	MaxWaiting int64
	// OnStoreFailure is hold or admit.
	OnStoreFailure FailurePolicy
	// MaxPerSecond is the most admissions in any 1,000 ms while there is a line.
	MaxPerSecond PerSecond
	// Sites are the origins that the waiting page may lead to; paths lead to the first.
	Sites []string
	// PageTitle stands above the waiting page, as the shop's name does.
	PageTitle string
	// PageColor is that of its buttons, #rrggbb, or "" for the page's own.
	PageColor string
	// PageLogo is an image as a data: URL, or "".
	PageLogo string
	// Message is to all who wait; empty for none.
	Message Texts
	// SoldOut is why there is nothing to wait for any more; empty while there is. See InForce.
	SoldOut Texts
	// Invitation is what a ticket must be for: visitors need one to join. "" lets anybody join.
	Invitation string
	// SessionSeconds is how long a session at the gate lasts, 60-86400 s.
	SessionSeconds int64
	// SessionRenewal is use or off.
	SessionRenewal Renewal
	// CookieDomain is the domain whose hosts share the gate's cookies; "" for none: each host has its own.
	CookieDomain string
	// MaxInside is how many may be inside at a time; 0 for any number.
	MaxInside int64
	// InsideBy says until when an admission is inside.
	InsideBy InsideBy
	// DonePaths are patterns of paths that end a visit; a * is any text.
	DonePaths []string
	// InsideState is what operators have revoked.
	InsideState InsideState
	// BypassPaths are patterns of paths, and of parameters behind a ?, that the gate never queues; a * is any text.
	BypassPaths []string
	// BypassCommon is on or off: on never queues what browsers and machines fetch without cookies.
	BypassCommon string
	// BypassAgents are parts of User-Agents that the gate never queues.
	BypassAgents []string
	// BypassNetworks are networks whose visitors the gate never queues: see Network.
	BypassNetworks []string
	// Challenge is what a join has to show; ChallengeWhen is line or always.
	Challenge     Challenge
	ChallengeWhen string
	// ChallengeMillis is the mean time of the work on a middling phone, 500-5000 ms.
	ChallengeMillis int64
	// ChallengeWithoutScript is refuse or wait: what becomes of who cannot do the work.
	ChallengeWithoutScript string
	// OnChallengeFailure is hold or admit, while the provider of a challenge is away.
	OnChallengeFailure FailurePolicy
	// MaxShareByNetwork is the most of a line that the visitors of one network get, in per cent; 0 for any share.
	MaxShareByNetwork int64
	// NetworkShares are networks that have another share, such as AS64500=1: see OwnShare.
	NetworkShares []string
	// CORSOrigins are origins of other sites, whose pages may read the gate's refusals.
	CORSOrigins []string
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

// passTTLExact is up to which time to live a store keeps a pass's to the second; see lua/line/include/expiry.lua.
const passTTLExact = 45 * time.Minute

// PassTTL is how long a pass is good for: what PassTTLSeconds says, above 45 minutes rounded up to whole minutes.
func (s Settings) PassTTL() time.Duration {
	ttl := time.Duration(s.PassTTLSeconds) * time.Second
	if ttl > passTTLExact {
		ttl = (ttl + time.Minute - 1).Truncate(time.Minute)
	}
	return ttl
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
