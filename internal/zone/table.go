package zone

import (
	"encoding/json"

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
		Column: "PER MINUTE",
		Choose: "the most admissions in any 60 s. 80 % of what the service bore in the load test. 0 pauses the zone",
	},
	{
		Name: "mode", At: func(s *Settings) any { return (*string)(&s.Mode) },
		Default: string(ModeQueue), Choices: []setting.Choice{
			{Value: string(ModeQueue), Label: "queue", Means: "admit at the limit, line up the rest"},
			{Value: string(ModeOpen), Label: "open", Means: "everybody is admitted, and counted"},
			{Value: string(ModeClosed), Label: "closed to newcomers", Means: "no newcomers; those who wait go on"},
		},
		Label: "Mode", Hint: "Queue lines people up; open admits all; closed takes no newcomers.",
		Choose: "`queue`: at the limit, in order; `open` admits everybody, and counts them; `closed` takes no newcomers, and " +
			"admits visitors who wait",
	},
	{
		Name: "windowSeconds", At: func(s *Settings) any { return &s.WindowSeconds },
		Default: int64(DefaultWindowSeconds), Least: 1, Most: MaxWindowSeconds, Unit: "s",
		Label: "Window", Hint: "Seconds over which admissions are spread, 1 to 60.",
		Column: "WINDOW",
		Choose: "the interval over which admissions are spread, 1-60 s. Up to `ceil(perMinute * windowSeconds / 60)` visitors may " +
			"enter in one moment while nobody waits. Shorten it if the service minds that. Below 6 s, the order after a loss " +
			"of data is less exact",
	},
	{
		Name: "burst", At: func(s *Settings) any { return &s.Burst },
		Default: int64(0), Least: 0, Most: MaxPerMinute,
		Label: "Burst", Hint: "Extra admissions in one window while nobody waits. The minute's limit holds.",
		Column: "BURST",
		Choose: "extra admissions in one window *while nobody waits*, so that ten who come together on a quiet day do not become " +
			"a line: what the service takes at once, less the window's limit. The limit of the minute holds",
	},
	{
		Name: "idleTimeoutSeconds", At: func(s *Settings) any { return &s.IdleTimeoutSeconds },
		Default: int64(DefaultIdleTimeoutSeconds), Least: MinIdleTimeoutSeconds, Most: MaxIdleTimeoutSeconds, Unit: "s",
		Label: "Idle timeout", Hint: "Seconds without a poll after which a place is taken out of the line, 5 to 3600.",
		Column: "IDLE",
		Choose: "how long a visitor may miss polls and keep the place, 5-3600 s. Set 120 to 300 for apps that poll only in the " +
			"foreground. **Set 180 for crowds of millions**: visitors with 200,000 ahead then poll once a minute, and cost a " +
			"third. A visitor who is silent stays in the line until `idleTimeoutSeconds` after the missed poll. The next sweep " +
			"sets the place aside for `keepPlaceSeconds`. A poll is due at most 20 s after the last one (60 s far back). A " +
			"shorter time holds for each visitor from the next poll on",
	},
	{
		Name: "keepPlaceSeconds", At: func(s *Settings) any { return &s.KeepPlaceSeconds },
		Default: int64(DefaultKeepPlaceSeconds), Least: 0, Most: MaxKeepPlaceSeconds, Unit: "s", None: "not kept",
		Label: "Place kept", Hint: "Seconds for which the place of a silent visitor is set aside after the idle timeout, 0 to 3600.",
		Choose: "how long the place of a visitor who fell silent is set aside, 0-3600 s, from the sweep on. It then counts in no " +
			"position and holds nobody up; whoever comes back stands at the old arrival again. At most `maxWaiting` places " +
			"of a zone are set aside, or 4,000,000. The default suits apps and phones, which sleep in a pocket. 0 gives the places up. " +
			"[How the times go together](#a-visitor-who-falls-silent)",
	},
	{
		Name: "soonSeconds", At: func(s *Settings) any { return &s.SoonSeconds },
		Default: int64(DefaultSoonSeconds), Least: 0, Most: MaxSoonSeconds, Unit: "s", None: "not told",
		Label: "Told before the turn", Hint: "Seconds before the expected turn at which webhooks are told of a place set aside, 0 to 3600.",
		Choose: "how long before the expected turn [webhooks](../integrate/webhooks.md) are told of a place that is set aside (`place.soon`), " +
			"0-3600 s. 0 does not tell",
	},
	{
		Name: "passTtlSeconds", At: func(s *Settings) any { return &s.PassTTLSeconds },
		Default: int64(0), Least: 0, Most: MaxPassTTLSeconds, Unit: "s", Fault: Settings.passTTLFault, Say: Settings.sayPassTTL,
		Label: "Life of a pass", Hint: "Seconds in which an admitted visitor may enter the service, 10 to 86400. 0: 300, or 60 with a cap.",
		Column: "PASS",
		Choose: "the time from the admission to the first request to the service, 10-86400 s. 0 is 300 s, or 60 s with `maxInside`, " +
			"where nobody else gets the slot of an unused pass. The log of admissions is kept as " +
			"long. A change concerns later admissions only. Values above 2700 are rounded up to whole minutes",
	},
	{
		Name: "maxWaiting", At: func(s *Settings) any { return &s.MaxWaiting },
		Default: int64(0), Least: 0, Most: MaxMaxWaiting, None: "no bound",
		Label: "Most waiting", Hint: "Newcomers are refused when so many wait. 0 sets no bound.",
		Column: "MAX WAITING",
		Choose: "the most visitors in the line; further newcomers get 429. Set it to what you can still serve today: (hours left) " +
			"x 60 x `perMinute`. 0 sets no bound",
	},
	{
		Name: "maxWaitMinutes", At: func(s *Settings) any { return &s.MaxWaitMinutes },
		Default: int64(0), Least: 0, Most: MaxMaxWaitMinutes, Unit: "min", None: "no bound",
		Label: "Longest wait", Hint: "Newcomers are refused while they would wait longer, in minutes. 0 sets no bound.",
		Choose: "the longest expected wait, in minutes, with which a newcomer gets a place, 0-720. Further newcomers get 429, with the " +
			"time after which the wait is likely to be shorter. Visitors who have a place keep it, also when their wait grows. " +
			"The bound refuses nobody while `perMinute` is 0, since no wait can be expected then (to refuse newcomers during a pause, set " +
			"`mode: closed`), nobody while people gather for an event or its draw, since they have no order yet, and nobody " +
			"in mode `open`, where nobody waits. The time until an event opens does not count. 0 sets no bound",
	},
	{
		Name: "onStoreFailure", At: func(s *Settings) any { return (*string)(&s.OnStoreFailure) },
		Default: string(FailureHold), Choices: []setting.Choice{
			{Value: string(FailureHold), Label: "hold", Means: "answer 503, keep the place"},
			{Value: string(FailureAdmit), Label: "admit", Means: "each server admits its share"},
		},
		Label:  "When the store is away",
		Hint:   "Hold keeps all places and admits nobody; admit lets each server admit at its share of the limit.",
		Column: "OUTAGE",
		Choose: "while Redis is away: `hold` admits nobody, and nobody loses a place. `admit` has each server admit its share, " +
			"`perMinute` divided by `QUEUE_SERVERS`. It begins after 3 s and a window (a minute where the zone has a `burst`, " +
			"or where its limit is no whole number a window). It never exceeds the limit, and keeps the order only roughly. " +
			"Choose it for outages longer than a few windows; not with `maxInside`",
	},
	{
		Name: "maxPerSecond", At: func(s *Settings) any { return &s.MaxPerSecond },
		Default: PerSecondAuto, Fault: Settings.perSecondFault,
		Label: "Most in a second", Hint: "Most admissions in any second while there is a line: a number, none, or auto, 1.25 times the mean.",
		Say: Settings.sayPerSecond,
		Choose: "the most admissions in any second *while there is a line*. `auto` is 1.25 times the mean: leave it, unless the " +
			"load test says that the service bears less in a second (a number, 1-100000), or that a whole window at once does " +
			"no harm (`none`). A number below the mean slows the line down",
	},
	{
		Name: "sites", At: func(s *Settings) any { return &s.Sites },
		Default: []string{}, Most: MaxSites, MaxLength: MaxSiteLength, None: "the page's own origin", Fault: Settings.siteFault,
		Label: "Sites", Hint: "Origins that the waiting page may lead to, such as https://shop.example; paths lead to the first.",
		Choose: "origins to which the waiting page may lead, such as `https://shop.example`. A path leads to the first of them. " +
			"Without any, the page leads to its own origin only",
	},
	{
		Name: "pageTitle", At: func(s *Settings) any { return &s.PageTitle },
		Default: "", MaxLength: MaxTitleLength,
		Label: "Page title", Hint: "Stands above the waiting page: the name of the shop or of the event.",
		Choose: "the name above the waiting page, at most 120 bytes",
	},
	{
		Name: "pageColor", At: func(s *Settings) any { return &s.PageColor },
		Default: "", MaxLength: len("#rrggbb"), None: "the page's own", Fault: Settings.colourFault,
		Label: "Page colour", Hint: "Of the waiting page's buttons and bar, such as #1d4ed8. Text on it is white or black.",
		Choose: "the colour of the page's bar and buttons, `#rrggbb`. Text on it is black or white, whichever is easier to read. " +
			"Its preview is in the console",
	},
	{
		Name: "pageLogo", At: func(s *Settings) any { return &s.PageLogo },
		Default: "", MaxLength: MaxLogoLength, Fault: Settings.logoFault, Say: Settings.sayLogo,
		Label: "Page logo", Hint: "A data: URL of a png, jpeg, webp or svg+xml image in base64, of at most 16 KB.",
		Choose: "an image as a `data:` URL in base64 (png, jpeg, webp, svg+xml), at most 16 KB; 4 KB are better, because every " +
			"page and every recorded change carries it",
	},
	{
		Name: "pageLinks", At: func(s *Settings) any { return &s.PageLinks },
		Default: Links{}, Most: MaxLinks, Lines: true, None: "none", Fault: Settings.linksFault, Say: Settings.sayLinks,
		Label: "Page links", Hint: "Imprint, privacy, help: a line each, such as /imprint Imprint | de: Impressum. They are always there.",
		Choose: "up to six links below the waiting page: imprint, privacy, help. `[{url: /imprint, text: {default: Imprint, de: Impressum}}]`, " +
			"or typed, a line each: `/imprint Imprint | de: Impressum`. A path is one of the first of `sites`; put it into `bypassPaths`, " +
			"lest it be queued",
	},
	{
		Name: "pageHeader", At: func(s *Settings) any { return &s.PageHeader },
		Default: Texts{}, Flat: true, MaxLength: MaxSlots, Fault: Settings.slotsFault, Say: func(s Settings) string { return size(s.PageHeader.String()) },
		Label: "Page header", Hint: "HTML above the waiting page, at most 16 rem high. In other languages: a line that begins with de: and so on.",
		Choose: "HTML above the waiting page, in languages. [What it may have](../integrate/page.md). Header, aside and footer have at most 32 KB together",
	},
	{
		Name: "pageAside", At: func(s *Settings) any { return &s.PageAside },
		Default: Texts{}, Flat: true, MaxLength: MaxSlots, Fault: Settings.slotsFault, Say: func(s Settings) string { return size(s.PageAside.String()) },
		Label: "Page aside", Hint: "HTML beside the waiting page; below it on a phone.",
		Choose: "HTML beside the waiting page, below it on a phone",
	},
	{
		Name: "pageFooter", At: func(s *Settings) any { return &s.PageFooter },
		Default: Texts{}, Flat: true, MaxLength: MaxSlots, Fault: Settings.slotsFault, Say: func(s Settings) string { return size(s.PageFooter.String()) },
		Label: "Page footer", Hint: "HTML below the waiting page.",
		Choose: "HTML below the waiting page",
	},
	{
		Name: "pageStyle", At: func(s *Settings) any { return &s.PageStyle },
		Default: "", Flat: true, Lines: true, MaxLength: MaxStyle, Say: func(s Settings) string { return size(s.PageStyle) },
		Label: "Page style", Hint: "CSS: the page's custom properties on :root, such as --card: #fffbe6, and rules for what is in header, aside and footer.",
		Choose: "CSS for the waiting page, at most 32 KB: colours, fonts, radius and background of the page, and rules for what is in the slots. " +
			"[What it may have](../integrate/page.md)",
	},
	{
		Name: "pageSources", At: func(s *Settings) any { return &s.PageSources },
		Default: []string{}, Most: MaxSites, MaxLength: MaxSiteLength, None: "none", Fault: Settings.sourcesFault,
		Label: "Page sources", Hint: "Hosts of images in header, aside, footer and style, such as images.shop.example. These hosts see every visitor.",
		Choose: "names of hosts that images of the slots may come from, such as `images.shop.example`. **These hosts see every visitor**: " +
			"name them in your privacy notice, or use `data:` URLs",
	},
	{
		Name: "message", At: func(s *Settings) any { return &s.Message },
		Default: Texts{}, MaxLength: MaxMessageLength,
		Label: "Message", Hint: "To all who wait. They see it when they poll next. In other languages: a line each, such as de: Text.",
		Choose: "a text to all who wait, at most 1,000 bytes; they see it at their next poll: `queue-server zones set SALE " +
			"message=\"The doors open at 12:10.\"`. Empty removes it. In several languages: " +
			"[below](#texts-in-several-languages)",
	},
	{
		Name: "messageSeverity", At: func(s *Settings) any { return (*string)(&s.MessageSeverity) },
		Default: string(SeverityInfo), Choices: []setting.Choice{
			{Value: string(SeverityInfo), Label: "information", Means: "the message stands in the page's colour"},
			{Value: string(SeverityWarning), Label: "warning", Means: "the message stands out, and is read aloud at once"},
		},
		Label: "Severity of the message", Hint: "A warning stands out, and screen readers say it at once.",
		Choose: "`info`, or `warning`: the message stands out, and screen readers say it at once",
	},
	{
		Name: "messageNear", At: func(s *Settings) any { return &s.MessageNear },
		Default: Texts{}, MaxLength: MaxMessageLength,
		Label: "Message near the front", Hint: "Besides, to those who wait for at most two more minutes: have your card ready.",
		Choose: "a second text to visitors whose expected wait is at most two minutes: *have your card ready*",
	},
	{
		Name: "soldOut", At: func(s *Settings) any { return &s.SoldOut },
		Default: Texts{}, MaxLength: MaxMessageLength, None: "no",
		Label: "Sold out", Hint: "Why there is nothing left to wait for: it ends the wait of everybody. Empty: the line goes on.",
		Choose: "the reason why nobody need wait any more. It ends the line: [sold out](#sold-out)",
	},
	{
		Name: "invitation", At: func(s *Settings) any { return &s.Invitation },
		Default: "", MaxLength: MaxInvitationLength,
		Label: "By invitation", Hint: "What a ticket must be for, such as spring-sale: visitors need one to join. Empty: anybody may join.",
		Choose: "the name of an invitation: a visitor then needs a ticket for it to join. [By invitation](#by-invitation)",
	},
	{
		Name: "sessionSeconds", At: func(s *Settings) any { return &s.SessionSeconds },
		Default: int64(DefaultSessionSeconds), Least: MinSessionSeconds, Most: MaxSessionSeconds, Unit: "s",
		Label: "Session", Hint: "Seconds for which an admitted visitor comes and goes without queueing again, 60 to 86400.",
		Choose: "[before a site](../integrate/site.md): how long an admitted visitor comes and goes without queueing again, " +
			"60-86400 s. Longer than a purchase takes",
	},
	{
		Name: "sessionRenewal", At: func(s *Settings) any { return (*string)(&s.SessionRenewal) },
		Default: string(RenewalUse), Choices: []setting.Choice{
			{Value: string(RenewalUse), Label: "by use", Means: "an active visitor stays in"},
			{Value: string(RenewalOff), Label: "never", Means: "a session ends when its time is over"},
		},
		Label: "Renewal of sessions", Hint: "By use: a visitor who comes again after half of the session gets a new one.",
		Choose: "`use`: active visitors stay in; `off`: everybody queues again when the session ends",
	},
	{
		Name: "cookieDomain", At: func(s *Settings) any { return &s.CookieDomain },
		Default: "", MaxLength: MaxSiteLength, None: "each host has its own", Fault: Settings.cookieDomainFault,
		Label: "Domain of sessions", Hint: "Such as shop.example: a visitor admitted at shop.example is admitted at www.shop.example, too.",
		Choose: "one domain for the sessions of several hosts: `shop.example` for `shop.example` and `www.shop.example`. Programs " +
			"of all these hosts see the cookies. [Several hosts](../integrate/site.md#several-hosts)",
	},
	{
		Name: "maxInside", At: func(s *Settings) any { return &s.MaxInside },
		Default: int64(0), Least: 0, Most: MaxMaxInside, None: "no cap", Fault: Settings.capFault,
		Label: "Most inside", Hint: "How many may be inside at a time. 0 sets no cap.",
		Choose: "the most visitors inside at a time: checkouts, carts, seats. Set `perMinute` as well, because a cap alone admits " +
			"a full shop's worth at once. Not with `onStoreFailure: admit`. [How many are inside](../operate/inside.md)",
	},
	{
		Name: "insideBy", At: func(s *Settings) any { return (*string)(&s.InsideBy) },
		Default: string(InsideBySession), Choices: []setting.Choice{
			{Value: string(InsideBySession), Label: "sessions", Means: "as the gate tells of sessions"},
			{Value: string(InsideByAdmission), Label: "admissions", Means: "each admission for sessionSeconds"},
		},
		Label: "Inside by", Hint: "Session: a visitor counts until the session ends. Admission: for sessionSeconds.",
		Choose: "`session`: a visitor counts until the session at the gate ends, or until the pass expires unused; `admission`: " +
			"each admission counts for `sessionSeconds` unless it is reported as done. Use it where no gate reports sessions",
	},
	{
		Name: "donePaths", At: func(s *Settings) any { return &s.DonePaths },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none",
		Label: "Paths that end a visit", Hint: "Of the site, such as /checkout/thanks*: a visitor who asks for one is no longer inside.",
		Choose: "paths of the site that end a visit, such as `/checkout/thanks*`. A visitor who asks for one gets it, and its " +
			"files for a minute, and gives the slot back. A `*` is any text",
	},
	{
		Name: "insideState", At: func(s *Settings) any { return &s.InsideState }, Of: "what was revoked", Own: true,
		Default: InsideState{}, Say: Settings.sayInsideState,
		Label: "Revoked", Hint: "The admissions that operators have revoked, and when they reset the count. The servers set it.",
	},
	{
		Name: "pilot", At: func(s *Settings) any { return (*string)(&s.Pilot) },
		Default: string(PilotOff), Fault: Settings.pilotFault, Choices: []setting.Choice{
			{Value: string(PilotOff), Label: "off", Means: "maxInside is what an operator sets"},
			{Value: string(PilotAdvise), Label: "advise", Means: "the autopilot says what it would set, and sets nothing"},
			{Value: string(PilotSteer), Label: "steer", Means: "the autopilot sets maxInside, by how the site does"},
		},
		Label: "Autopilot", Hint: "Advise: says what it would set. Steer: sets maxInside between pilotMin and pilotMax, by how the site does.",
		Choose: "`steer`: the server sets `maxInside` by how fast the site behind answers, between `pilotMin` and `pilotMax`; `advise`: it says what it " +
			"would set. It needs the gateway in the box, or `QUEUE_PILOT_SIGNAL_URL`. [Autopilot](../operate/pilot.md)",
	},
	{
		Name: "pilotMin", At: func(s *Settings) any { return &s.PilotMin },
		Default: int64(1), Least: 1, Most: MaxMaxInside,
		Label: "Autopilot’s least", Hint: "The autopilot sets no less: what a site in trouble still bears.",
		Choose: "the least that the autopilot sets: what a site in trouble still bears. A site that fails half of its answers falls to it at once",
	},
	{
		Name: "pilotMax", At: func(s *Settings) any { return &s.PilotMax },
		Default: int64(0), Least: 0, Most: MaxMaxInside,
		Fault: Settings.pilotMaxFault, None: "not set",
		Label: "Autopilot’s most", Hint: "The autopilot sets no more.",
		Choose: "the most that the autopilot sets; `advise` and `steer` need it. `queue-server simulate --site` shows what bounds lead to",
	},
	{
		Name: "pilotP95Millis", At: func(s *Settings) any { return &s.PilotP95Millis },
		Default: int64(DefaultPilotP95Millis), Least: 1, Most: maxPilotP95Millis, Unit: "ms",
		Label: "Autopilot’s bound on time", Hint: "95 % of the site’s answers to visitors inside must begin within so many milliseconds, 1 to 60000.",
		Choose: "the time within which 95 % of the site's answers to visitors inside must begin, 1-60000 ms. Three times what they take on a quiet day is a good start",
	},
	{
		Name: "pilotErrorPercent", At: func(s *Settings) any { return &s.PilotErrorPercent },
		Default: int64(DefaultPilotErrorPercent), Least: 0, Most: 100, Unit: "%",
		Label: "Autopilot’s bound on errors", Hint: "The most of the site’s answers to visitors inside that may fail, in per cent.",
		Choose: "the most of the site's answers to visitors inside that may fail: 500 and above, and lost connections",
	},
	{
		Name: "pilotState", At: func(s *Settings) any { return &s.PilotState }, Of: "the autopilot's last step", Own: true,
		Default: PilotStep{}, Say: func(s Settings) string { return s.PilotState.String() },
		Label: "Autopilot’s last step", Hint: "The servers set it.",
	},
	{
		Name: "gate", At: func(s *Settings) any { return &s.SiteGate },
		Default: "on", Choices: []setting.Choice{
			{Value: "on", Label: "on", Means: "the gate before a site leads browsers to the waiting page, and refuses others, as the line demands"},
			{Value: GateObserve, Label: "observe", Means: "the gate before a site refuses nobody, and keeps which requests would wait or be refused"},
		},
		Label: "Gate", Hint: "Observe: the gate before a site refuses nobody, and keeps what would wait or be refused.",
		Choose: "`observe`: the gate before a site lets everybody go on, also in a pause, and keeps which requests would wait or be refused. " +
			"Begin with it [before a site](../integrate/site.md#observe-first). Joins by the API go on as always",
	},
	{
		Name: "bypassPaths", At: func(s *Settings) any { return &s.BypassPaths },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none", Fault: Settings.pathFault,
		Label: "Paths never queued", Hint: "Of the site, such as /assets/*, /healthz, /payment/callback, /?wc-api=WC_Gateway_*. &* at the end: with other parameters, too.",
		Choose: "paths of the site that are never queued: `/assets/*`, `/healthz`, `/payment/callback`. A `*` is any text. Behind " +
			"a `?` stand parameters that the request must have, and no others unless `&*` ends it: `/index.php?route=extension/payment*&*`",
	},
	{
		Name: "bypassCommon", At: func(s *Settings) any { return &s.BypassCommon },
		Default: "on", Choices: []setting.Choice{
			{Value: "on", Label: "never queued", Means: "icons, manifests, feeds, sitemaps, robots.txt and /.well-known/ are never queued"},
			{Value: CommonOff, Label: "queued", Means: "icons, manifests, feeds, sitemaps, robots.txt and /.well-known/ are queued like all else"},
		},
		Label: "Files fetched without cookies", Hint: "Icons, manifests, feeds, sitemaps, robots.txt and /.well-known/, with GET and HEAD.",
		Choose: "`on`: files that browsers and machines fetch without cookies are never queued, with GET and HEAD: " +
			"`/.well-known/`, manifests, icons, feeds, sitemaps, `robots.txt`. [The list](../integrate/site.md#what-is-never-queued)",
	},
	{
		Name: "bypassAgents", At: func(s *Settings) any { return &s.BypassAgents },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none", Fault: Settings.agentFault,
		Label: "User agents never queued", Hint: "Parts of the User-Agent, such as Googlebot. Anybody can write one.",
		Choose: "parts of `User-Agent` that are never queued: `Googlebot`. For search engines only, because anybody can write one",
	},
	{
		Name: "bypassNetworks", At: func(s *Settings) any { return &s.BypassNetworks },
		Default: []string{}, Most: MaxBypasses, MaxLength: MaxBypassLength, None: "none", Fault: Settings.networkFault,
		Label: "Networks never queued", Hint: "Of the site's own servers, such as 192.0.2.0/24. All who share an address get in.",
		Choose: "networks of the site's own servers, which call the site themselves (`wp-cron`): `192.0.2.10`, `2001:db8::/64`. " +
			"The gateway decides which address counts: [read this first](../integrate/site.md#what-is-never-queued)",
	},
	{
		Name: "challenge", At: func(s *Settings) any { return (*string)(&s.Challenge) },
		Default: string(ChallengeNone), Choices: []setting.Choice{
			{Value: string(ChallengeNone), Label: "none", Means: "nobody has to show anything"},
			{Value: string(ChallengeWork), Label: "work", Means: "browsers do some work before they take a place"},
			{Value: string(ChallengeTurnstile), Label: "Turnstile", Means: "Cloudflare's Turnstile checks each browser"},
			{Value: string(ChallengeHCaptcha), Label: "hCaptcha", Means: "hCaptcha checks each browser"},
			{Value: string(ChallengeReCaptcha), Label: "reCAPTCHA", Means: "Google's reCAPTCHA checks each browser"},
		},
		Label: "Challenge", Hint: "What a visitor has to show for a place. Work is done by the browser, unseen; the others ask their providers.",
		Choose: "what a join has to show, so that bots pay for each place. `work`: the browser computes, unseen, with no third " +
			"party. `turnstile`, `hcaptcha`, `recaptcha`: that provider checks, with your own keys. " +
			"[Challenges](../operate/challenge.md)",
	},
	{
		Name: "challengeWhen", At: func(s *Settings) any { return &s.ChallengeWhen },
		Default: ChallengeInLine, Choices: []setting.Choice{
			{Value: ChallengeInLine, Label: "while there is a line", Means: "nobody is asked while there is room"},
			{Value: ChallengeAlways, Label: "always", Means: "each newcomer is asked"},
		},
		Label: "When it is asked for", Hint: "While there is a line or people gather, or always.",
		Choose: "`line`: only while people wait or gather, so a quiet day stays without a page; `always`: each newcomer is asked, " +
			"and the gate sends each browser to the waiting page first",
	},
	{
		Name: "challengeMillis", At: func(s *Settings) any { return &s.ChallengeMillis },
		Default: int64(DefaultChallengeMillis), Least: MinChallengeMillis, Most: MaxChallengeMillis, Unit: "ms",
		Label: "Work", Hint: "Milliseconds that the work takes in the mean on all cores of a middling phone, or on one core of a bot, 500 to 5000.",
		Choose: "the mean time of the work on all cores of a middling phone, 500-5000 ms. One core of a bot takes about as long: " +
			"at 1000 it takes 60 places a minute. One visitor in twenty works three times as long",
	},
	{
		Name: "challengeWithoutScript", At: func(s *Settings) any { return &s.ChallengeWithoutScript },
		Default: WithoutScriptRefuse, Choices: []setting.Choice{
			{Value: WithoutScriptRefuse, Label: "take no place", Means: "browsers without JavaScript are told to switch it on"},
			{Value: WithoutScriptWait, Label: "wait", Means: "browsers without JavaScript take a place after 60 s"},
		},
		Label: "Without JavaScript", Hint: "Wait: a browser without JavaScript takes a place at the end of the line after 60 s. Bots can do that, too.",
		Choose: "browsers without JavaScript: `refuse` gives them no place; `wait` gives them a place at the end of the line " +
			"after 60 s, and bots as well. [Browsers that are slow](../operate/challenge.md#without-javascript) get one either way",
	},
	{
		Name: "onChallengeFailure", At: func(s *Settings) any { return (*string)(&s.OnChallengeFailure) },
		Default: string(FailureHold), Choices: []setting.Choice{
			{Value: string(FailureHold), Label: "hold", Means: "newcomers are asked to come again"},
			{Value: string(FailureAdmit), Label: "admit", Means: "newcomers take a place without its word"},
		},
		Label: "When the provider is away", Hint: "Of Turnstile, hCaptcha or reCAPTCHA. Hold: newcomers come again. Admit: they take a place without.",
		Choose: "while the provider does not answer: `hold` asks newcomers to come again; `admit` gives them places without its " +
			"check. Visitors who wait go on either way",
	},
	{
		Name: "maxShareByNetwork", At: func(s *Settings) any { return &s.MaxShareByNetwork },
		Default: int64(0), Least: 0, Most: 100, Unit: "%", None: "no bound",
		Label: "Most by network", Hint: "Most of the latest joins that one network gets while there is a line, in per cent. 0 sets no bound.",
		Choose: "the most of a line that the visitors of one network get, in per cent of the joins of the last ten minutes, or of `keepPlaceSeconds` if that is longer. A network is each /64, " +
			"/56 and /48 of IPv6, each /24 and /20 of IPv4 and, with `QUEUE_ASN_FILE`, each provider. While there is room, nobody is refused, " +
			"but for unused passes with `maxInside`. 0 sets no bound. See " +
			"[challenge.md](../operate/challenge.md#places-by-network). 0-100",
	},
	{
		Name: "networkShares", At: func(s *Settings) any { return &s.NetworkShares },
		Default: []string{}, Most: MaxNetworkShares, MaxLength: maxNetworkShare, None: "none", Fault: Settings.networkShareFault,
		Label: "Shares of networks", Hint: "Of networks with another share, in per cent, such as AS64500=1. 0 refuses all joins of the network.",
		Choose: "networks that have another share, higher or lower: `AS64500=40`, `2001:db8:1:2::/64=0.5`. 0 refuses all joins of the network, " +
			"also while there is room",
	},
	{
		Name: "corsOrigins", At: func(s *Settings) any { return &s.CORSOrigins },
		Default: []string{}, Most: MaxSites, MaxLength: MaxSiteLength, None: "none", Fault: Settings.originFault,
		Label: "Origins that call the site", Hint: "Other sites whose pages call this one, such as https://www.shop.example.",
		Choose: "other origins whose pages call this site, such as `https://www.shop.example` where the site is an API. Their " +
			"pages can read the gate's refusals, and get a session while there is room",
	},
	{
		Name: "events", At: func(s *Settings) any { return &s.Events }, Of: "a list of events", Most: event.MaxEvents,
		Default: []event.Event{}, Fault: func(s Settings) string { return event.Fault(s.Events) }, Say: Settings.sayEvents,
		Label: "Events", Hint: "Sales that have a time: when people gather, when it opens, closes and ends.",
		Choose: "up to 20 sales with a fixed time: when people gather, when it opens, closes and ends. " +
			"[Events](../operate/events.md). The servers set `eventState` beside it",
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
