package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/gateway"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/operate/webhook"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/sweeper"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

// The stores that there are.
const (
	storeEmbedded = "embedded"
	storeRedis    = "redis"
)

// The values of the setting of the guard.
const (
	guardOn  = "on"
	guardOff = "off"
)

// What if Redis may evict keys, and what if tokens of operators cross a network in plain text.
const (
	refuse = "refuse"
	allow  = "allow"
)

// Bounds of settings.
const (
	// maxSweepEvery is an hour, the longest idle timeout: with a longer period
	// a zone would be swept less often than anybody becomes idle.
	maxSweepEvery = time.Hour
	// maxHistoryDays lets last year's event be compared, maxRecordDays is as long as auditors ask for.
	maxHistoryDays = 400
	maxRecordDays  = 3650
	// maxServers bounds a slip of the finger. With as many, a zone is held in an
	// outage unless it lets 1,000 in every window.
	maxServers = 1000
	// maxDrainDelay is above what any load balancer takes to notice, and below
	// what an orchestrator waits before it kills.
	maxDrainDelay = 5 * time.Minute
	// maxSiteTimeout is for a site that makes reports, maxIdleTimeout above any balancer's.
	maxSiteTimeout = time.Hour
	maxIdleTimeout = time.Hour
)

// settings are all that can be set, each by flag, environment and file.
type settings struct {
	Config              string        `setting:"QUEUE_CONFIG" placeholder:"FILE" help:"YAML file with any of these settings, by the names of their flags, and with zones and limits to create when absent."`
	Addr                string        `setting:"QUEUE_ADDR" default:":8080" help:"Public listener, for visitors."`
	AdminAddr           string        `setting:"QUEUE_ADMIN_ADDR" default:"127.0.0.1:8081" help:"Address of the operators' listener: console, zones, metrics, profiles. Never public."`
	AdminPlaintext      string        `setting:"QUEUE_ADMIN_PLAINTEXT" default:"refuse" help:"What to do if other machines can reach the operators' listener, and it speaks no TLS. refuse: the server does not start; allow: it does, for a network in which nobody else can listen."`
	TLSCert             string        `setting:"QUEUE_TLS_CERT_FILE" placeholder:"FILE" help:"PEM file with a certificate and its chain. The public listener then speaks TLS, and so does the operators' if other machines reach it. Read again when it changes. Without it, a balancer in front must end TLS."`
	TLSKey              string        `setting:"QUEUE_TLS_KEY_FILE" placeholder:"FILE" help:"PEM file with the key of that certificate."`
	Store               string        `setting:"QUEUE_STORE" default:"embedded" help:"embedded: in this process, for one server; redis: for several servers."`
	RedisURL            string        `setting:"QUEUE_REDIS_URL" default:"redis://127.0.0.1:6379" help:"Where Redis is: redis://host:6379 for one, redis://a:6379,b:6379 for a cluster, redis+cluster://a:6379 for one that has one name, redis+sentinel://a:26379,b:26379/name for Sentinel; rediss:// for TLS, and user:password@ before the host."`
	RedisCA             string        `setting:"QUEUE_REDIS_CA" placeholder:"FILE" help:"PEM file of the authorities that sign Redis's certificates. This machine's own when absent."`
	RedisCert           string        `setting:"QUEUE_REDIS_CERT_FILE" placeholder:"FILE" help:"PEM file with the certificate that this server shows to a Redis that asks for one. Read again at each connection."`
	RedisKey            string        `setting:"QUEUE_REDIS_KEY_FILE" placeholder:"FILE" help:"PEM file with the key of that certificate."`
	RedisUserFile       string        `setting:"QUEUE_REDIS_USER_FILE" placeholder:"FILE" help:"File with the name of the user in Redis, in place of the URL's. Read again at each connection."`
	RedisPasswordFile   string        `setting:"QUEUE_REDIS_PASSWORD_FILE" placeholder:"FILE" help:"File with the password for Redis, in place of the URL's. Read again at each connection, so that the password can be changed while the server runs."`
	RedisEviction       string        `setting:"QUEUE_REDIS_EVICTION" default:"refuse" help:"What to do if Redis may evict keys (its maxmemory-policy is not noeviction). refuse: the server does not start, or an alert fires; allow: it goes on, and heals each lost key as a loss of data."`
	Servers             int64         `setting:"QUEUE_SERVERS" default:"1" help:"The most servers that may share the Redis at a time, rolling deploys included. With onStoreFailure: admit, each admits that part of the limit while Redis is away."`
	Secret              string        `setting:"QUEUE_SECRET" hidden:"" flag:"never"`
	SecretFile          string        `setting:"QUEUE_SECRET_FILE" placeholder:"FILE" help:"File with the secret that signs tokens and passes: 32 bytes or more, the same on all servers; several, newest first, while rotating. QUEUE_SECRET holds the secret itself. Made at the first start, and stored in the data folder, when absent."`
	PassIssuer          string        `setting:"QUEUE_PASS_ISSUER" default:"waitingroom" placeholder:"TEXT" help:"Claim iss of passes, the same on all servers: a name, or the URL of this installation. Gateways compare it."`
	PassAlgorithm       []string      `setting:"QUEUE_PASS_ALGORITHM" default:"EdDSA" placeholder:"NAME,..." help:"Algorithm that signs passes: EdDSA, ES256 or RS256. Of several the first signs, and the keys of all are published: name the other one, too, while you change it."`
	PassRSAKey          string        `setting:"QUEUE_PASS_RSA_KEY_FILE" placeholder:"FILE" help:"PEM file with the private keys for RS256, newest first, the same on all servers. The keys of the other algorithms follow from the secret."`
	AdminToken          string        `setting:"QUEUE_ADMIN_TOKEN" hidden:"" flag:"never"`
	AdminTokenFile      string        `setting:"QUEUE_ADMIN_TOKEN_FILE" placeholder:"FILE" help:"File with the root token of operators, which may do everything. QUEUE_ADMIN_TOKEN holds the token itself. off: there is none, once somebody else is admin. Made at the first start, and stored in the file admin-token of the data folder, when absent."`
	AdminHosts          []string      `setting:"QUEUE_ADMIN_HOSTS" placeholder:"NAME,..." help:"Names, without ports, of the proxies in front of the operators' listener; http://NAME for one without TLS. A listener on a loopback address answers as localhost, 127.0.0.1 and these names only; on another address as any name when absent."`
	AdminURL            string        `setting:"QUEUE_ADMIN_URL" placeholder:"URL" help:"Where browsers reach the console, such as https://queue-admin.example: the provider of QUEUE_OIDC_ISSUER sends them back there. Commands ask the server at this URL."`
	AdminUserHeader     string        `setting:"QUEUE_ADMIN_USER_HEADER" placeholder:"NAME" help:"Header in which a proxy that logs operators in names who asks, such as X-Forwarded-Email. The proxy must remove what browsers send under that name. None when absent."`
	AdminGroupsHeader   string        `setting:"QUEUE_ADMIN_GROUPS_HEADER" placeholder:"NAME" help:"Header in which that proxy names the groups of who asks, with commas between, such as X-Forwarded-Groups. When absent, groups in the file of QUEUE_CONFIG names persons."`
	AdminProxies        []string      `setting:"QUEUE_ADMIN_PROXIES" placeholder:"CIDR,..." help:"Networks of the proxies that log operators in. These headers count from their addresses alone: let nobody else connect from there."`
	OIDCIssuer          string        `setting:"QUEUE_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect provider by which operators log in to the console. groups in the file of QUEUE_CONFIG says what they may do. None when absent."`
	OIDCClientID        string        `setting:"QUEUE_OIDC_CLIENT_ID" placeholder:"TEXT" help:"Name of this waiting room at the provider."`
	OIDCClientSecret    string        `setting:"QUEUE_OIDC_CLIENT_SECRET" hidden:"" flag:"never"`
	OIDCSecretFile      string        `setting:"QUEUE_OIDC_CLIENT_SECRET_FILE" placeholder:"FILE" help:"File with the secret of that client. QUEUE_OIDC_CLIENT_SECRET holds the secret itself. A public client when absent."`
	OIDCScopes          []string      `setting:"QUEUE_OIDC_SCOPES" default:"openid,profile,email" placeholder:"NAME,..." help:"Scopes that the provider is asked for: openid, and those that its claims of name and groups need."`
	OIDCNameClaim       string        `setting:"QUEUE_OIDC_NAME_CLAIM" default:"email" help:"Claim with the name for the record of changes. Choose one that people cannot change by themselves."`
	OIDCRolesClaim      string        `setting:"QUEUE_OIDC_ROLES_CLAIM" default:"groups" help:"Claim with the groups of who logs in, or its path, such as realm_access.roles."`
	OIDCSession         time.Duration `setting:"QUEUE_OIDC_SESSION" default:"1h" help:"How long a session lasts that the provider has begun: 5 minutes to 12 hours. A group that somebody loses at the provider counts until then."`
	MetricsAccess       string        `setting:"QUEUE_METRICS_ACCESS" default:"auto" help:"Access to /metrics. open: everybody who reaches the operators' listener; token: with the metrics' or the operators' token; auto: open on a loopback address without a metrics' token, else token."`
	MetricsToken        string        `setting:"QUEUE_METRICS_TOKEN" hidden:"" flag:"never"`
	MetricsFile         string        `setting:"QUEUE_METRICS_TOKEN_FILE" placeholder:"FILE" help:"File with a token that opens /metrics and nothing else, for Prometheus. QUEUE_METRICS_TOKEN holds the token itself. None when absent."`
	Room                string        `setting:"QUEUE_ROOM" placeholder:"NAME" help:"Name of this installation, such as production: the label room of all its metrics, so that one Prometheus can watch several."`
	DataDir             string        `setting:"QUEUE_DATA_DIR" default:"./data" help:"Folder of the embedded store's files, and of secrets that the server made at its first start."`
	SweepEvery          time.Duration `setting:"QUEUE_SWEEP_EVERY" default:"30s" help:"How often silent visitors are removed from the line, in whole seconds."`
	HistoryDays         int64         `setting:"QUEUE_HISTORY_DAYS" default:"30" help:"For how many days the minutes of each zone are kept, from which reports are made: 1 to 400."`
	RecordDays          int64         `setting:"QUEUE_RECORD_DAYS" default:"90" help:"For how many days an entry of the record of changes is kept, 10,000 entries a zone at most: 1 to 3650. Older ones go with the next changes of the zone."`
	RecordLog           string        `setting:"QUEUE_RECORD_LOG" default:"off" help:"on: each entry of the record of changes is a line of the log, too, with its number, hash and text, for a SIEM; off: it is not."`
	TrustedProxies      []string      `setting:"QUEUE_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"Networks of the balancers, CDNs and gateways in front, whose X-Forwarded-For counts. Without it, all visitors behind a proxy count as one client."`
	ProxyProtocolFrom   []string      `setting:"QUEUE_PROXY_PROTOCOL_FROM" placeholder:"CIDR,..." help:"Networks of balancers that speak the PROXY protocol, version 1 or 2, to the public and the sites' listener: each of their connections must begin with its header, within 2 s. Others must not."`
	ClientIPFrom        []string      `setting:"QUEUE_CLIENT_IP_FROM" placeholder:"CIDR,..." help:"Networks of your backends that join for their users: clientIp in the body of their joins counts. Never name a proxy that forwards what visitors write."`
	AllowedOrigins      []string      `setting:"QUEUE_ALLOWED_ORIGINS" placeholder:"ORIGIN,..." help:"Other sites whose pages may join and poll from the browser, such as https://shop.example; * for any. Only this server's own pages when absent."`
	LimitsAddr          string        `setting:"QUEUE_LIMITS_ADDR" placeholder:"ADDR" help:"Address of the limits' listener, such as 127.0.0.1:8082, where services and gateways ask whether a client may go on. Never public. None when absent."`
	LimitsAPIKeys       string        `setting:"QUEUE_LIMITS_API_KEYS" placeholder:"FILE" help:"File of the X-API-Keys that count as clients of their own: on each line the key's SHA-256 in hexadecimal, and its tier. any: every key counts, for a gateway that has checked it. None when absent."`
	LimitsJWKS          string        `setting:"QUEUE_LIMITS_JWKS" placeholder:"FILE|URL" help:"Keys that verify bearer tokens: a JWK set in a file or at an https URL. Tokens are ignored when absent."`
	LimitsIssuer        string        `setting:"QUEUE_LIMITS_JWT_ISSUER" placeholder:"TEXT" help:"What iss of a bearer token must be. Not checked when absent."`
	LimitsAudience      string        `setting:"QUEUE_LIMITS_JWT_AUDIENCE" placeholder:"TEXT" help:"What aud of a bearer token must have. Not checked when absent."`
	LimitsClaim         string        `setting:"QUEUE_LIMITS_JWT_CLAIM" default:"sub" help:"Claim of a bearer token that names the client."`
	LimitsTier          string        `setting:"QUEUE_LIMITS_JWT_TIER_CLAIM" default:"tier" help:"Claim of a bearer token that names the tier."`
	TicketsJWKS         string        `setting:"QUEUE_TICKETS_JWKS" placeholder:"FILE|URL" help:"Keys that verify tickets of invitations: a JWK set in a file or at an https URL. Tickets are refused when absent."`
	TicketsIssuer       string        `setting:"QUEUE_TICKETS_ISSUER" placeholder:"TEXT" help:"What iss of a ticket must be. Not checked when absent."`
	ChallengeSiteKey    string        `setting:"QUEUE_CHALLENGE_SITE_KEY" placeholder:"TEXT" help:"Your site key at Turnstile, hCaptcha or reCAPTCHA, for zones with such a challenge. None when absent."`
	ChallengeSecret     string        `setting:"QUEUE_CHALLENGE_SECRET" hidden:"" flag:"never"`
	ChallengeSecretFile string        `setting:"QUEUE_CHALLENGE_SECRET_FILE" placeholder:"FILE" help:"File with the secret of that site key. QUEUE_CHALLENGE_SECRET holds the secret itself."`
	ChallengeHosts      []string      `setting:"QUEUE_CHALLENGE_HOSTS" placeholder:"HOST,..." help:"Hosts on whose pages visitors may solve a provider's challenge, such as queue.shop.example. Not checked when absent."`
	ChallengeVerifyURL  string        `setting:"QUEUE_CHALLENGE_VERIFY_URL" placeholder:"URL" help:"URL that verifies the provider's tokens. The provider's own siteverify when absent."`
	ASNFile             string        `setting:"QUEUE_ASN_FILE" placeholder:"FILE" help:"MMDB file that says which provider (AS) announces an address, such as GeoLite2-ASN.mmdb: joins are then counted by provider, too. Read again when it changes. None when absent."`
	SiteAddr            string        `setting:"QUEUE_SITE_ADDR" placeholder:"ADDR" help:"Address of the site's listener, such as 127.0.0.1:8083, where a gateway in front of a site asks about each request. Never public. None when absent."`
	SiteRoomURL         string        `setting:"QUEUE_SITE_ROOM_URL" placeholder:"URL" help:"URL where visitors of the site reach the public listener, such as https://queue.shop.example. The site itself when absent: its gateway leads /wait/ and /traffic/ here."`
	Upstream            string        `setting:"QUEUE_UPSTREAM" placeholder:"URL" help:"Site that this server stands in front of, as its gateway, such as http://127.0.0.1:8000. Visitors then come to the sites' listener. Several sites: sites in the file of QUEUE_CONFIG. None when absent."`
	Zone                string        `setting:"QUEUE_ZONE" placeholder:"NAME=PERMINUTE" help:"Zone of the visitors of that site, such as SHOP=600: made, with so many admissions a minute, when absent. NAME alone for one that is there."`
	SitesAddr           string        `setting:"QUEUE_SITES_ADDR" placeholder:"ADDR" help:"Address of the sites' listener, for visitors of the sites that this server stands in front of. :8088 when absent, if there are any."`
	SitesAnswerTimeout  time.Duration `setting:"QUEUE_SITES_ANSWER_TIMEOUT" default:"60s" help:"How long a site may take to begin an answer; then its visitor gets a 504."`
	SitesStallTimeout   time.Duration `setting:"QUEUE_SITES_STALL_TIMEOUT" default:"60s" help:"How long a visitor of a site may send or take nothing of a body, or the site take nothing of it; then the connection ends."`
	SitesMaxBody        int64         `setting:"QUEUE_SITES_MAX_BODY" default:"0" help:"The most bytes that a request to a site may have in its body; 0 for no bound but the site's own."`
	PilotSignalURL      string        `setting:"QUEUE_PILOT_SIGNAL_URL" placeholder:"URL" help:"URL that tells the autopilot how a site does, with {zone} for the zone's name: it answers {\"p95Millis\": 180, \"errorPercent\": 0.4}, or 204. What the gateway in the box sees when absent."`
	IdleTimeout         time.Duration `setting:"QUEUE_IDLE_TIMEOUT" default:"75s" help:"How long an idle connection is kept. Longer than the balancer in front keeps one: Google's keeps them for 600 s."`
	DoorLimits          string        `setting:"QUEUE_DOOR_LIMITS" default:"on" help:"on: joins are limited by address and clientId, and early polls are answered from memory; off: neither, for load tests."`
	DrainDelay          time.Duration `setting:"QUEUE_DRAIN_DELAY" default:"5s" help:"How long the server answers requests after SIGTERM while /readyz says 503. Longer than the balancer takes to notice."`
	AdmissionsLog       string        `setting:"QUEUE_ADMISSIONS_LOG" placeholder:"DIR" help:"Folder in which this server logs who took a place, was admitted and left, under pseudonyms, with signed hashes: from it anybody can check afterwards that the limits held. Kept for QUEUE_HISTORY_DAYS. None when absent."`
	Webhooks            string        `setting:"QUEUE_WEBHOOKS" placeholder:"FILE" help:"YAML file that lists services to tell of places set aside whose turn is near, and of changes of zones, with their secrets. None when absent."`
	LogLevel            string        `setting:"QUEUE_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	LogFormat           string        `setting:"QUEUE_LOG_FORMAT" default:"text" help:"text or json."`
}

// checked is what the settings say, once checked.
type checked struct {
	settings
	// given is empty where it is to be made or loaded.
	given
	redisAccess lua.Access
	passKeys    pass.Keys
	// hooks are the webhooks.
	hooks []webhook.Hook
	// asn is nil without a file.
	asn *network.File
	// sites are those that this server stands in front of.
	sites []gateway.Site
	// ownZone is the zone that QUEUE_ZONE has made when absent, nil for none.
	ownZone *zone.Settings
	// groups are those of the file, and adminProxy names operators; nil without one.
	groups     login.Groups
	adminProxy *login.Proxy
	// proxies are the trusted ones.
	proxies []netip.Prefix
	// balancers are those that speak the PROXY protocol.
	balancers []netip.Prefix
	// backends are those whose clientIp is believed.
	backends []netip.Prefix
	// origins are the sites whose pages may ask.
	origins *cors.Policy
	level   slog.Level
}

// check returns what the settings say, or a cli.UsageError that lists all that is
// wrong with them. where names a setting as the operator knows it, and file has the sites.
func (s settings) check(where func(flag string) string, file *configfile.File) (checked, error) {
	c := checked{settings: s}
	var faults []error
	fault := func(flag, format string, a ...any) {
		faults = append(faults, fmt.Errorf("%s: %w", where(flag), fmt.Errorf(format, a...)))
	}
	look := func(flag string, err error) {
		if err != nil {
			fault(flag, "%w", err)
		}
	}
	oneOf := func(flag, value string, of ...string) {
		if !slices.Contains(of, value) {
			fault(flag, "%q is none of %s", value, strings.Join(of, ", "))
		}
	}
	between := func(flag string, value, least, most time.Duration) {
		if value < least || value > most {
			fault(flag, "%v is out of range, must be between %v and %v", value, least, most)
		}
	}

	look("addr", serve.CheckAddr(s.Addr))
	look("admin-addr", serve.CheckAddr(s.AdminAddr))
	oneOf("admin-plaintext", s.AdminPlaintext, refuse, allow)
	look("tls-cert-file", checkCertificate(s.TLSCert, s.TLSKey))
	if s.LimitsAddr != "" {
		look("limits-addr", serve.CheckAddr(s.LimitsAddr))
	}
	if s.SiteAddr != "" {
		look("site-addr", serve.CheckAddr(s.SiteAddr))
	}
	look("site-room-url", checkRoomURL(s.SiteRoomURL))
	c.readSites(file, look)
	between("sites-answer-timeout", s.SitesAnswerTimeout, time.Second, maxSiteTimeout)
	between("sites-stall-timeout", s.SitesStallTimeout, time.Second, maxSiteTimeout)
	if s.SitesMaxBody < 0 {
		fault("sites-max-body", "%d is below 0", s.SitesMaxBody)
	}
	if s.PilotSignalURL != "" {
		look("pilot-signal-url", steer.CheckURL(s.PilotSignalURL))
	}
	between("idle-timeout", s.IdleTimeout, time.Second, maxIdleTimeout)
	// Read here only to see that they can be.
	keys := func(flag string, o identity.FinderOptions) {
		_, err := identity.New(o)
		look(flag, err)
	}
	keys("limits-jwks", identity.FinderOptions{JWKS: s.LimitsJWKS})
	keys("tickets-jwks", identity.FinderOptions{JWKS: s.TicketsJWKS})
	keys("limits-api-keys", identity.FinderOptions{APIKeys: s.LimitsAPIKeys})
	if s.ASNFile != "" {
		var err error
		c.asn, err = network.OpenFile(s.ASNFile)
		look("asn-file", err)
	}
	if s.Webhooks != "" {
		var err error
		c.hooks, err = webhook.Read(s.Webhooks)
		look("webhooks", err)
	}
	oneOf("store", s.Store, storeEmbedded, storeRedis)
	if s.Store == storeRedis {
		look("redis-url", lua.CheckURL(s.RedisURL))
		oneOf("redis-eviction", s.RedisEviction, refuse, allow)
		c.redisAccess = lua.Access{CertFile: s.RedisCert, KeyFile: s.RedisKey, UserFile: s.RedisUserFile, PasswordFile: s.RedisPasswordFile}
		look("redis-password-file", lua.Access{UserFile: s.RedisUserFile, PasswordFile: s.RedisPasswordFile}.Check())
		look("redis-cert-file", lua.Access{CertFile: s.RedisCert, KeyFile: s.RedisKey}.Check())
		if s.RedisCA != "" {
			var err error
			c.redisAccess.Roots, err = lua.ReadRoots(s.RedisCA)
			look("redis-ca", err)
		}
		for flag, file := range map[string]string{"redis-ca": s.RedisCA, "redis-cert-file": s.RedisCert} {
			if file != "" && !lua.HasTLS(s.RedisURL) {
				fault(flag, "is set, and the redis URL asks for no TLS; begin it with rediss")
			}
		}
	}
	if s.Servers < 1 || s.Servers > maxServers {
		fault("servers", "%d is out of range, must be between 1 and %d", s.Servers, maxServers)
	}
	c.given = s.readGiven(where, fault)
	between("oidc-session", s.OIDCSession, minLoginAge, people.SessionAge)
	if (s.ChallengeSiteKey == "") != (c.challengeSecret == "") {
		fault("challenge-site-key", "and %s belong together: set both", where("challenge-secret-file"))
	}
	if u, err := url.Parse(s.ChallengeVerifyURL); s.ChallengeVerifyURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		fault("challenge-verify-url", "%q must be an https:// URL", s.ChallengeVerifyURL)
	}
	if u, err := url.Parse(s.RedisURL); err == nil && where("redis-url") == "--redis-url" {
		if _, has := u.User.Password(); has {
			fault("redis-url", "has a password, and %s; set QUEUE_REDIS_URL, and another password", everybodyReads)
		}
	}
	oneOf("metrics-access", s.MetricsAccess, metricsAuto, metricsOpen, metricsToken)
	for _, name := range s.AdminHosts {
		look("admin-hosts", checkHost(name))
	}
	look("pass-issuer", pass.CheckIssuer(s.PassIssuer))
	for _, name := range s.PassAlgorithm {
		oneOf("pass-algorithm", name, pass.Algorithms...)
	}
	c.passKeys.Algorithms = s.PassAlgorithm
	if s.PassRSAKey != "" {
		var err error
		c.passKeys.RSA, err = pass.ReadRSA(s.PassRSAKey)
		look("pass-rsa-key-file", err)
	} else if slices.Contains(s.PassAlgorithm, "RS256") {
		fault("pass-algorithm", "RS256 needs a key, which does not follow from the secret: name its file in QUEUE_PASS_RSA_KEY_FILE")
	}
	if s.DataDir == "" {
		fault("data-dir", "is empty; name a folder that this server may write to")
	}
	between("sweep-every", s.SweepEvery, sweeper.MinEvery, maxSweepEvery)
	if s.SweepEvery%time.Second != 0 {
		fault("sweep-every", "%v is not in whole seconds", s.SweepEvery)
	}
	if s.RecordDays < 1 || s.RecordDays > maxRecordDays {
		fault("record-days", "%d must be between 1 and %d", s.RecordDays, maxRecordDays)
	}
	if s.HistoryDays < 1 || s.HistoryDays > maxHistoryDays {
		fault("history-days", "%d must be between 1 and %d", s.HistoryDays, maxHistoryDays)
	}
	oneOf("door-limits", s.DoorLimits, guardOn, guardOff)
	oneOf("record-log", s.RecordLog, guardOn, guardOff)
	between("drain-delay", s.DrainDelay, 0, maxDrainDelay)
	networks := func(flag string, all []string) (out []netip.Prefix) {
		for _, text := range all {
			network, err := parseNetwork(text)
			look(flag, err)
			out = append(out, network)
		}
		return out
	}
	c.proxies = networks("trusted-proxies", s.TrustedProxies)
	c.balancers = networks("proxy-protocol-from", s.ProxyProtocolFrom)
	c.readLogins(file, networks("admin-proxies", s.AdminProxies), look)
	c.backends = networks("client-ip-from", s.ClientIPFrom)
	var err error
	c.origins, err = cors.New(s.AllowedOrigins)
	look("allowed-origins", err)
	oneOf("log-level", s.LogLevel, "debug", "info", "warn", "error")
	if err := c.level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		c.level = slog.LevelInfo // reported above
	}
	oneOf("log-format", s.LogFormat, "text", "json")

	if len(faults) > 0 {
		return checked{}, cli.UsageError{Err: errors.Join(faults...)}
	}
	return c, nil
}

// parseNetwork reads a network in CIDR notation, or one address.
func parseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	prefix, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return prefix, fmt.Errorf("%q is neither a network (10.0.0.0/8) nor an address", text)
	}
	return prefix.Masked(), nil
}

// checkHost refuses what cannot be a host's name in a request, or has its port.
func checkHost(name string) error {
	if name = strings.TrimPrefix(name, operator.PlainPrefix); name == "" || strings.ContainsAny(name, "/:@[]*? ") {
		return fmt.Errorf("%q is no name of a host; write it without a port, such as queue.example", name)
	}
	return nil
}

// checkRoomURL returns what is wrong with where the waiting page is.
func checkRoomURL(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.String() != text ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("%q is no address such as https://queue.shop.example", text)
	}
	if strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("%q has a path, below which the waiting page does not work: give the room a name of its own, such as https://queue.shop.example", text)
	}
	return nil
}
