package zone

import (
	"encoding/json"
	"fmt"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/setting"
)

// IDName is the zone's name in JSON, YAML and forms; it is no setting.
const IDName = "zoneId"

// Setting is a setting of a zone.
type Setting = setting.Setting[Settings]

// Table is all that is known of a zone's settings. Whoever reads, writes, compares or
// shows them takes names, kinds and bounds from here: to add one is a field of Settings
// and a row of this table. The order is that of JSON and of forms.
var Table = setting.Table[Settings]{
	{
		Name: "perMinute", At: func(s *Settings) any { return &s.PerMinute },
		Default: int64(DefaultPerMinute), Least: 0, Most: MaxPerMinute,
		Label: "Limit", Hint: "How many may enter in any 60 s. 0 holds everybody.",
		Say: func(s Settings) string {
			if s.PerMinute == 0 {
				return "0 a minute (paused)"
			}
			return setting.Count(s.PerMinute) + " a minute"
		},
		Means: func(s Settings) string {
			if s.PerMinute == 0 {
				return "nobody is let in"
			}
			return "most admissions in any 60 s"
		},
		Column: "PER MINUTE",
	},
	{
		Name: "mode", At: func(s *Settings) any { return (*string)(&s.Mode) },
		Default: string(ModeQueue), Choices: []setting.Choice{
			{Value: string(ModeQueue), Label: "queue", Means: "let in at the limit, line up the rest"},
			{Value: string(ModeOpen), Label: "open", Means: "everybody is let in, and counted"},
			{Value: string(ModeClosed), Label: "closed to newcomers", Means: "no newcomers; those who wait go on"},
		},
		Label: "Mode", Hint: "Queue lines people up; open lets all in; closed takes no newcomers.",
	},
	{
		Name: "windowSeconds", At: func(s *Settings) any { return &s.WindowSeconds },
		Default: int64(DefaultWindowSeconds), Least: 1, Most: MaxWindowSeconds, Unit: "s",
		Label: "Window", Hint: "Seconds over which admissions are spread, 1 to 60.",
		Means: func(s Settings) string {
			return fmt.Sprintf("most in any %s: %s", setting.Span(s.Window()), setting.Count((s.PerMinute*s.WindowSeconds+59)/60))
		},
		Column: "WINDOW",
	},
	{
		Name: "burst", At: func(s *Settings) any { return &s.Burst },
		Default: int64(0), Least: 0, Most: MaxPerMinute,
		Label: "Burst", Hint: "Extra admissions in one window while nobody waits. The minute's limit holds.",
		Means:  func(Settings) string { return "more in a window, while nobody waits" },
		Column: "BURST", Spare: 3,
	},
	{
		Name: "idleTimeoutSeconds", At: func(s *Settings) any { return &s.IdleTimeoutSeconds },
		Default: int64(DefaultIdleTimeoutSeconds), Least: MinIdleTimeoutSeconds, Most: MaxIdleTimeoutSeconds, Unit: "s",
		Label: "Idle timeout", Hint: "Seconds without a poll after which a place is given up, 5 to 3600.",
		Means:  func(Settings) string { return "who is silent for longer loses the place" },
		Column: "IDLE", Spare: 2,
	},
	{
		Name: "passTtlSeconds", At: func(s *Settings) any { return &s.PassTTLSeconds },
		Default: int64(DefaultPassTTLSeconds), Least: MinPassTTLSeconds, Most: MaxPassTTLSeconds, Unit: "s",
		Label: "Life of a pass", Hint: "Seconds in which one who was admitted may enter the service, 10 to 86400.",
		Means:  func(s Settings) string { return "how long a pass is good for: " + setting.Span(s.PassTTL()) },
		Column: "PASS", Spare: 4,
	},
	{
		Name: "maxWaiting", At: func(s *Settings) any { return &s.MaxWaiting },
		Default: int64(0), Least: 0, Most: MaxMaxWaiting, None: "no bound",
		Label: "Most waiting", Hint: "Newcomers are turned away when so many wait. 0 sets no bound.",
		Means: func(s Settings) string {
			if s.MaxWaiting == 0 {
				return "as many may wait as come"
			}
			return "newcomers get 429 at so many waiting"
		},
		Column: "MAX WAITING", Spare: 1,
	},
	{
		Name: "onStoreFailure", At: func(s *Settings) any { return (*string)(&s.OnStoreFailure) },
		Default: string(FailureHold), Choices: []setting.Choice{
			{Value: string(FailureHold), Label: "hold", Means: "answer 503, keep the place"},
			{Value: string(FailureAdmit), Label: "admit", Means: "each server lets in its share"},
		},
		Label:  "When the store is away",
		Hint:   "Hold keeps all places and lets nobody in; admit lets each server admit at its share of the limit.",
		Column: "OUTAGE", Spare: 5,
	},
	{
		Name: "maxPerSecond", At: func(s *Settings) any { return &s.MaxPerSecond },
		Default: PerSecondAuto, Fault: Settings.perSecondFault,
		Label: "Most in a second", Hint: "Most admissions in any second while there is a line: a number, none, or auto, 1.25 times the mean.",
		Say: Settings.sayPerSecond, Means: Settings.meanPerSecond,
	},
	{
		Name: "sites", At: func(s *Settings) any { return &s.Sites },
		Default: []string{}, Most: MaxSites, MaxLength: MaxSiteLength, None: "the page's own origin", Fault: Settings.siteFault,
		Label: "Sites", Hint: "Origins that the waiting page may lead to, such as https://shop.example; paths lead to the first.",
	},
	{
		Name: "pageTitle", At: func(s *Settings) any { return &s.PageTitle },
		Default: "", MaxLength: MaxTitleLength,
		Label: "Page title", Hint: "Stands above the waiting page: the name of the shop or of the event.",
	},
	{
		Name: "pageColor", At: func(s *Settings) any { return &s.PageColor },
		Default: "", MaxLength: len("#rrggbb"), None: "the page's own", Fault: Settings.colourFault,
		Label: "Page colour", Hint: "Of the waiting page's buttons and bar, such as #1d4ed8. Text on it is white or black.",
	},
	{
		Name: "pageLogo", At: func(s *Settings) any { return &s.PageLogo },
		Default: "", MaxLength: MaxLogoLength, Fault: Settings.logoFault, Say: Settings.sayLogo,
		Label: "Page logo", Hint: "A data: URL of a png, jpeg, webp or svg+xml image in base64, of at most 16 KB.",
		Means: func(Settings) string { return "stands above the waiting page" },
	},
	{
		Name: "message", At: func(s *Settings) any { return &s.Message },
		Default: Texts{}, MaxLength: MaxMessageLength,
		Label: "Message", Hint: "To all who wait. They see it when they poll next. In other languages: a line each, such as de: Text.",
	},
	{
		Name: "soldOut", At: func(s *Settings) any { return &s.SoldOut },
		Default: Texts{}, MaxLength: MaxMessageLength, None: "no",
		Label: "Sold out", Hint: "Why nobody need wait any more: it ends the wait of all who wait or come. Empty: it goes on.",
	},
	{
		Name: "invitation", At: func(s *Settings) any { return &s.Invitation },
		Default: "", MaxLength: MaxInvitationLength,
		Label: "By invitation", Hint: "What tickets must be for, such as spring-sale: only who shows one may join. Empty: anybody may.",
	},
	{
		Name: "sessionSeconds", At: func(s *Settings) any { return &s.SessionSeconds },
		Default: int64(DefaultSessionSeconds), Least: MinSessionSeconds, Most: MaxSessionSeconds, Unit: "s",
		Label: "Session", Hint: "Seconds in which one who was let into the site comes and goes without queueing again, 60 to 86400.",
		Means: func(s Settings) string { return "who was let in is not queued again for " + setting.Span(s.Session()) },
	},
	{
		Name: "sessionRenewal", At: func(s *Settings) any { return (*string)(&s.SessionRenewal) },
		Default: string(RenewalUse), Choices: []setting.Choice{
			{Value: string(RenewalUse), Label: "by use", Means: "who is active stays in"},
			{Value: string(RenewalOff), Label: "never", Means: "a session ends when its time is over"},
		},
		Label: "Renewal of sessions", Hint: "By use: who comes again when half the session is over gets a new one.",
	},
	{
		Name: "bypassPaths", At: func(s *Settings) any { return &s.BypassPaths },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none",
		Label: "Paths never queued", Hint: "Of the site, such as /assets/*, /healthz, /payment/callback. A * is any text.",
	},
	{
		Name: "bypassAgents", At: func(s *Settings) any { return &s.BypassAgents },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none",
		Label: "User agents never queued", Hint: "Parts of the User-Agent, such as Googlebot. Anybody can write one.",
	},
	{
		Name: "events", At: func(s *Settings) any { return &s.Events }, Of: "a list of events",
		Default: []event.Event{}, Fault: func(s Settings) string { return event.Fault(s.Events) }, Say: Settings.sayEvents,
		Label: "Events", Hint: "Sales that have a time: when people gather, when it opens, closes and ends.",
	},
	{
		Name: "eventState", At: func(s *Settings) any { return &s.EventState }, Of: "how far the events are", Own: true,
		Default: event.State{}, Say: Settings.sayEventState,
		Label: "Event", Hint: "The event that is next or under way. The servers set it.",
	},
}

// Equal reports whether all settings are the same, and the zone's name.
func (s Settings) Equal(other Settings) bool {
	return s.ZoneID == other.ZoneID && len(Table.Differences(s, other)) == 0
}

// MarshalJSON writes the zone's name and all of its settings.
func (s Settings) MarshalJSON() ([]byte, error) {
	id, err := json.Marshal(s.ZoneID)
	if err != nil {
		return nil, err
	}
	b, err := Table.AppendJSON(append([]byte(`{"`+IDName+`":`), id...), s)
	return append(b, '}'), err
}

// UnmarshalJSON reads settings. What is left out has its default: a version that did not
// know the setting has written it.
func (s *Settings) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	*s = Defaults("")
	if id, given := members[IDName]; given {
		if err := json.Unmarshal(id, &s.ZoneID); err != nil {
			return err
		}
	}
	return Table.ReadJSON(s, members)
}

// String is the settings as JSON, for logs.
func (s Settings) String() string {
	b, err := s.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}
