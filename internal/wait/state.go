package wait

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// StateMaxAge is how old the line in a state may be, and for how long caches may keep an answer.
const StateMaxAge = time.Second

// State is what everybody may know of a zone.
type State struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode"`
	// Waiting is how many are in the line.
	Waiting int64 `json:"waiting"`
	// EstimatedWait is how long a visitor who joins now will wait, in milliseconds.
	EstimatedWait int64 `json:"estimatedWait"`
	// Message is the operator's message to all who wait, in the reader's language. Notice is its number in the answers
	// to polls. Both are absent where there is no message.
	Message string `json:"message,omitempty"`
	Notice  int64  `json:"notice,omitempty"`
	// SoldOut is why there is nothing to wait for; absent while there is.
	SoldOut string `json:"soldOut,omitempty"`

	// Event is the event that is next or under way, else the last that took place; absent where there is none.
	Event *Event `json:"event,omitempty"`

	// Site is what a gate goes by that runs at a CDN's edge.
	Site Site `json:"site"`

	// Heads are signed heads of this server's log of admissions, the newest first: see package admissionlog. Absent without a log.
	Heads []string `json:"heads,omitempty"`

	messages, soldOut, texts zone.Texts
}

// Newcomers is what a gate does with those who have neither a session nor a pass.
type Newcomers string

// What a gate does with newcomers.
const (
	NewcomersEnter Newcomers = "enter" // everybody goes on
	NewcomersJoin  Newcomers = "join"  // who joins may be admitted at once
	NewcomersWait  Newcomers = "wait"  // who joins lines up, or is refused
)

// Site is what everybody may know of how the zone stands before a site. The settings have the meaning of those of the zone. User
// agents and networks that are never queued are not among them: who knows these could go round the line.
type Site struct {
	Newcomers      Newcomers    `json:"newcomers"`
	SessionSeconds int64        `json:"sessionSeconds"`
	SessionRenewal zone.Renewal `json:"sessionRenewal"`
	BypassCommon   string       `json:"bypassCommon"`
	// Gate is zone.GateObserve if the gate refuses nobody; absent otherwise.
	Gate         string   `json:"gate,omitempty"`
	BypassPaths  []string `json:"bypassPaths,omitempty"`
	CORSOrigins  []string `json:"corsOrigins,omitempty"`
	CookieDomain string   `json:"cookieDomain,omitempty"`
	Sites        []string `json:"sites,omitempty"`
	// Counted: those inside are counted (maxInside), or come by invitation, so the room is told of sessions, and of DonePaths.
	Counted   bool     `json:"counted,omitempty"`
	DonePaths []string `json:"donePaths,omitempty"`
	// RevokedUpTo: sessions of admissions up to this time are refused, in Unix milliseconds; 0 for none.
	RevokedUpTo int64 `json:"revokedUpTo,omitempty"`
}

// siteOf returns what a gate goes by. waits says that people wait, and that a newcomer would wait, too.
func siteOf(z zone.Settings, waits bool, nowMillis int64) Site {
	now := time.UnixMilli(nowMillis)
	s := Site{
		Newcomers: NewcomersJoin, SessionSeconds: z.SessionSeconds, SessionRenewal: z.SessionRenewal, BypassCommon: z.BypassCommon,
		BypassPaths: z.BypassPaths, CORSOrigins: z.CORSOrigins, CookieDomain: z.CookieDomain, Sites: z.Sites, RevokedUpTo: z.InsideState.RevokedUpToMillis,
	}
	if z.SiteGate == zone.GateObserve {
		s.Gate = z.SiteGate
	}
	if s.Counted = z.MaxInside > 0 || z.InvitationAt(now) != ""; z.MaxInside > 0 {
		s.DonePaths = z.DonePaths
	}
	f := z.InForce()
	switch {
	case z.OpenAt(now):
		s.Newcomers = NewcomersEnter
	case f.Mode == zone.ModeClosed, f.PerMinute == 0, z.InvitationAt(now) != "", z.Gate().Holds(nowMillis), waits,
		z.Challenges() && z.ChallengeWhen == zone.ChallengeAlways:
		s.Newcomers = NewcomersWait
	}
	return s
}

// PhaseEnded: the event is over, and no other is to come.
const PhaseEnded event.Phase = "ended"

// Event is what everybody may know of an event. Times are Unix milliseconds on the store's clock. The time of a step is
// absent if the step is held or the event does not have it.
type Event struct {
	Name  string      `json:"name"`
	Phase event.Phase `json:"phase"`
	Order event.Order `json:"order"`
	// Now is the time of the answer.
	Now        int64 `json:"now"`
	PreQueueAt int64 `json:"preQueueAt,omitempty"`
	SettlesAt  int64 `json:"settlesAt,omitempty"`
	OpensAt    int64 `json:"opensAt,omitempty"`
	ClosesAt   int64 `json:"closesAt,omitempty"`
	EndsAt     int64 `json:"endsAt,omitempty"`
	// Held is the step that waits for the operator.
	Held event.Step `json:"held,omitempty"`
	// Commitment is the commitment of the draw; absent where there is no draw.
	Commitment string `json:"commitment,omitempty"`
	// Text is the operator's text for this phase, in the reader's language.
	Text string `json:"text,omitempty"`
}

// EventOf returns what may be known of the zone's event at a time of the store's clock, with the event's texts for that
// phase; nil if there is no event.
func EventOf(z zone.Settings, nowMillis int64) (*Event, zone.Texts) {
	s := z.EventState
	p := s.Now
	if p == nil {
		return endedOf(z, nowMillis)
	}
	shown := func(millis int64) int64 {
		if millis == event.Never {
			return 0
		}
		return millis
	}
	e := &Event{
		Name: p.Event.Name, Phase: p.Phase, Order: p.Order, Held: p.Held, Now: nowMillis,
		PreQueueAt: shown(p.PreQueueAtMillis), SettlesAt: shown(p.SettlesAtMillis), OpensAt: shown(p.OpensAtMillis),
		ClosesAt: shown(p.ClosesAtMillis), EndsAt: shown(p.EndsAtMillis),
	}
	if d := s.Draw(); d != nil {
		e.Commitment = d.Commitment
	}
	switch p.Phase {
	case event.PhaseOpen:
		return e, p.Event.Texts.During
	case event.PhaseClosed:
		return e, p.Event.Texts.After
	default:
		return e, p.Event.Texts.Before
	}
}

// endedOf returns the last event of the list that took place.
func endedOf(z zone.Settings, nowMillis int64) (*Event, zone.Texts) {
	for _, done := range slices.Backward(z.EventState.Done) {
		i := slices.IndexFunc(z.Events, func(e event.Event) bool { return e.Name == done.Event })
		if i >= 0 && done.AtMillis <= nowMillis { // else it is no longer listed, or was skipped
			e := z.Events[i]
			return &Event{Name: e.Name, Phase: PhaseEnded, Order: cmp.Or(e.Order, event.OrderArrival), Now: nowMillis}, e.Texts.After
		}
	}
	return nil, nil
}

// in returns the state in the language that accept, an Accept-Language header, asks for. alike reports whether the state
// is the same in every language.
func (s State) in(accept string) (_ State, alike bool) {
	s.Message, s.SoldOut = serve.TextFor(s.messages, accept), serve.TextFor(s.soldOut, accept)
	if s.Event != nil {
		e := *s.Event
		e.Text = serve.TextFor(s.texts, accept)
		s.Event = &e
	}
	return s, len(s.messages.Languages())+len(s.soldOut.Languages())+len(s.texts.Languages()) == 0
}

// State returns the zone's public state, at most StateMaxAge old. It returns an error of the store, or ctx's.
func (s *Service) State(ctx context.Context, at *zones.Zone) (State, error) {
	z := at.Settings()
	stats, err := at.Latest(ctx)
	if err != nil {
		return State{}, answer.InZone(z.ZoneID, fmt.Errorf("wait: state: %w", err))
	}
	shown, texts := EventOf(*z, stats.State.NowMillis)
	return State{
		Event: shown, texts: texts,
		Site:   siteOf(*z, stats.State.Waiting > 0 && stats.EstimateMillis > 0, stats.State.NowMillis),
		ZoneID: z.ZoneID, Mode: z.Mode,
		Waiting: stats.State.Waiting, EstimatedWait: stats.EstimateMillis,
		Heads:    s.Log.Heads(),
		messages: z.Message, Notice: z.Notice(), soldOut: z.SoldOut,
	}, nil
}
