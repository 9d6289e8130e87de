package login_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/issuer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var groups = login.Groups{
	{Group: "heads", Role: route.Admin},
	{Group: "shop", Role: route.Operator, Zones: []string{"SHOP", "SALE-*"}},
	{Group: "all", Role: route.Viewer, Zones: []string{"TEST-*"}},
	{Group: "dave@shop.example", Role: route.Admin, Zones: []string{"*"}},
	{Group: "many", Role: route.Viewer, Zones: strings.Split(strings.Repeat(strings.Repeat("z", 64)+" ", 31)+"z", " ")},
	{Group: "more", Role: route.Operator, Zones: strings.Split(strings.Repeat(strings.Repeat("z", 64)+" ", 31)+"z", " ")},
}

// desk is a provider, and two servers that trust it.
type desk struct {
	*testing.T
	*parts.Clock
	issuer   *issuer.Issuer
	one, two *login.Provider
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, Clock: parts.NewClock()}
	d.issuer = issuer.New(t, d.Now)
	o := login.ProviderOptions{
		Issuer: d.issuer.URL, ClientID: issuer.Client, ClientSecret: issuer.Secret, Scopes: []string{"openid"}, NameClaim: "email",
		RolesClaim: "groups", AdminURL: "https://queue-admin.example/", Groups: groups, Secrets: parts.Secrets(), Now: d.Now,
	}
	d.one, d.two = login.NewProvider(o), login.NewProvider(o)
	d.issuer.LogIn(map[string]any{"sub": "7", "email": "anna@shop.example", "groups": []string{"all", "shop"}}, nil)
	return d
}

// atProvider follows the browser to the provider, and returns with what the provider sends it back.
func (d *desk) atProvider(to string) url.Values {
	d.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(d.Context(), http.MethodGet, to, nil)
	parts.Must(d, err)
	answer, err := client.Do(r)
	parts.Must(d, err)
	parts.Must(d, answer.Body.Close())
	back, err := answer.Location()
	if err != nil || !strings.HasPrefix(back.String(), "https://queue-admin.example/console/login/callback?") {
		d.Fatalf("the provider sends the browser to %v: %v", back, err)
	}
	return back.Query()
}

// TestLogIn begins on one server and ends on another, with what each group of the person gives in its zones.
func TestLogIn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	to, kept, err := d.one.Begin(t.Context(), "/console/zones/SHOP")
	parts.Must(t, err)
	who, next, err := d.two.Finish(t.Context(), kept, d.atProvider(to))
	parts.Must(t, err)
	if who.Name != "anna@shop.example" || who.Proof != audit.OIDC || who.ID != "7" || !who.May(route.Operator, "SALE-1") || who.May(route.Viewer, "OTHER") ||
		!who.May(route.Viewer, "TEST-1") || who.May(route.Operator, "TEST-1") || next != "/console/zones/SHOP" {
		t.Errorf("logged in: %+v, to %q", who, next)
	}
	// Groups that only userinfo has, and of another subject.
	for sub, want := range map[string]error{"7": nil, "8": login.ErrRefused} {
		d.issuer.LogIn(map[string]any{"sub": "7", "email": "anna@shop.example"}, map[string]any{"sub": sub, "email": "eve@shop.example", "groups": "heads"})
		to, kept, err = d.one.Begin(t.Context(), "/console/")
		parts.Must(t, err)
		if who, _, err = d.one.Finish(t.Context(), kept, d.atProvider(to)); !errors.Is(err, want) || want == nil && (!who.MayAll(route.Admin) || who.Name != "anna@shop.example") {
			t.Errorf("userinfo of %s: %+v, %v, want %v", sub, who, err, want)
		}
	}
}

// TestRefused: what is not what this browser was sent to the provider for.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	claim := func(name string, value any) func(jwt.MapClaims) {
		return func(c jwt.MapClaims) { c[name] = value }
	}
	for name, tt := range map[string]struct {
		spoil  func(jwt.MapClaims)
		sign   func(*issuer.Issuer, jwt.MapClaims) (string, error)
		change func(kept string, q url.Values) string
		want   error
	}{
		"a good one":             {},
		"no group":               {spoil: claim("groups", []string{"others"}), want: login.ErrNoGroup},
		"too much for a cookie":  {spoil: claim("groups", []string{"many", "more"}), want: login.ErrNoGroup},
		"not verified":           {spoil: claim("email_verified", false), want: login.ErrNoGroup},
		"verified":               {spoil: claim("email_verified", true)},
		"groups of another kind": {spoil: claim("groups", map[string]any{"shop": true}), want: login.ErrNoGroup},
		"no name":                {spoil: claim("email", ""), want: login.ErrNoGroup},
		"the name of root":       {spoil: claim("email", "root"), want: login.ErrNoGroup},
		"two lines for a name":   {spoil: claim("email", "anna\nroot"), want: login.ErrNoGroup},
		"another nonce":          {spoil: claim("nonce", "another"), want: login.ErrRefused},
		"no nonce":               {spoil: func(c jwt.MapClaims) { delete(c, "nonce") }, want: login.ErrRefused},
		"another audience":       {spoil: claim("aud", "shop"), want: login.ErrRefused},
		"another client's":       {spoil: claim("azp", "shop"), want: login.ErrRefused},
		"several audiences":      {spoil: claim("aud", []string{issuer.Client, "shop"}), want: login.ErrRefused},
		"another issuer":         {spoil: claim("iss", "https://evil.example"), want: login.ErrRefused},
		"expired":                {spoil: func(c jwt.MapClaims) { c["exp"] = d.Now().Add(-time.Minute).Unix() }, want: login.ErrRefused},
		"alg none":               {sign: issuer.Unsigned, want: login.ErrRefused},
		"another key":            {sign: issuer.Forged, want: login.ErrRefused},
		"the client's secret":    {sign: issuer.Shared, want: login.ErrRefused},
		"another state":          {change: func(kept string, q url.Values) string { q.Set("state", "another"); return kept }, want: login.ErrRefused},
		"no state":               {change: func(kept string, q url.Values) string { q.Del("state"); return kept }, want: login.ErrRefused},
		"no code":                {change: func(kept string, q url.Values) string { q.Del("code"); return kept }, want: login.ErrRefused},
		"another provider's":     {change: func(kept string, q url.Values) string { q.Set("iss", "https://evil.example"); return kept }, want: login.ErrRefused},
		"an error":               {change: func(kept string, q url.Values) string { q.Set("error", "access_denied"); return kept }, want: login.ErrRefused},
		"another browser":        {change: func(string, url.Values) string { return "" }, want: login.ErrRefused},
		"a cookie of one's own": {change: func(kept string, _ url.Values) string {
			c := jwt.MapClaims{}
			_, _, err := jwt.NewParser().ParseUnverified(kept, c)
			parts.Must(t, err)
			text, err := jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
			parts.Must(t, err)
			return text
		}, want: login.ErrRefused},
		"too late": {change: func(kept string, _ url.Values) string { d.Forward(login.PendingAge + time.Second); return kept }, want: login.ErrRefused},
		// The code of somebody else, with a state of one's own.
		"an injected code": {change: func(kept string, q url.Values) string {
			to, _, err := d.two.Begin(t.Context(), "/console/")
			parts.Must(t, err)
			q.Set("code", d.atProvider(to).Get("code"))
			return kept
		}, want: login.ErrRefused},
	} {
		d.issuer.Spoil(tt.spoil, tt.sign)
		to, kept, err := d.one.Begin(t.Context(), "/console/")
		parts.Must(t, err)
		back := d.atProvider(to)
		if tt.change != nil {
			kept = tt.change(kept, back)
		}
		who, _, err := d.two.Finish(t.Context(), kept, back)
		if !errors.Is(err, tt.want) || err != nil && who.Proof != "" {
			t.Errorf("%s: %+v, %v, want %v", name, who, err, tt.want)
		}
		if _, _, err := d.one.Finish(t.Context(), kept, back); tt.want == nil && !errors.Is(err, login.ErrRefused) {
			t.Errorf("%s: a code that was used: %v", name, err)
		}
	}
}

// TestProviderAway: it may be away when a server starts, and is found when it is back.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	there := d.issuer.Config.Handler
	d.issuer.Config.Handler = http.NotFoundHandler()
	for range 2 {
		if _, _, err := d.one.Begin(t.Context(), "/console/"); !errors.Is(err, login.ErrAway) {
			t.Errorf("the provider is away: %v", err)
		}
	}
	d.issuer.Config.Handler = there
	d.Forward(6 * time.Second)
	if _, _, err := d.one.Begin(t.Context(), "/console/"); err != nil {
		t.Errorf("the provider is back: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := d.two.Begin(gone, "/console/"); err != nil {
		t.Errorf("a browser that left, before which others would wait: %v", err)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	groupless := &login.Proxy{UserHeader: "X-Forwarded-Email", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, Groups: groups}
	grouped := *groupless
	grouped.GroupsHeader = "X-Forwarded-Groups"
	for name, tt := range map[string]struct {
		from          string
		users, groups []string
		role          route.Role // in SALE-1
		err           error
	}{
		"by the proxy":           {"10.0.0.7:5", []string{"anna@shop.example"}, []string{"all, shop"}, route.Operator, nil},
		"over IPv6":              {"[::ffff:10.0.0.7]:5", []string{"anna@shop.example"}, []string{"heads"}, route.Admin, nil},
		"from elsewhere":         {"10.0.1.7:5", []string{"anna@shop.example"}, []string{"heads"}, "", nil},
		"no group":               {"10.0.0.7:5", []string{"anna@shop.example"}, []string{"others"}, "", login.ErrNoGroup},
		"no groups at all":       {"10.0.0.7:5", []string{"anna@shop.example"}, nil, "", login.ErrNoGroup},
		"nobody":                 {"10.0.0.7:5", nil, []string{"heads"}, "", nil},
		"two users":              {"10.0.0.7:5", []string{"eve", "anna@shop.example"}, []string{"shop"}, "", nil},
		"two headers for groups": {"10.0.0.7:5", []string{"anna@shop.example"}, []string{"heads", "shop"}, "", nil},
		"two users in one":       {"10.0.0.7:5", []string{"eve, anna@shop.example"}, []string{"shop"}, "", nil},
		"somebody with a role":   {"10.0.0.7:5", []string{"dave@shop.example"}, []string{"shop"}, route.Operator, nil},
		"in two groups":          {"10.0.0.7:5", []string{"anna@shop.example"}, []string{"shop,heads"}, route.Admin, nil},
		"a name that is none":    {"10.0.0.7:5", []string{"a\u202eb"}, []string{"heads"}, "", login.ErrNoGroup},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-Email"], r.Header["X-Forwarded-Groups"] = tt.from, tt.users, tt.groups
		r.Header.Set("X-Forwarded-For", "10.0.0.7")
		who, named, err := grouped.Identify(r)
		var role route.Role
		for _, one := range route.Roles {
			if who.May(one, "SALE-1") {
				role = one
			}
		}
		if role != tt.role || named != (tt.role != "") || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %t, %v", name, who, named, err)
		}
		// A proxy that tells no groups: persons have the roles.
		who, named, err = groupless.Identify(r)
		if is := name == "somebody with a role"; who.MayAll(route.Admin) != is || named != is {
			t.Errorf("%s, without groups: %+v, %t, %v", name, who, named, err)
		}
	}
}

func TestGroupsAreChecked(t *testing.T) {
	t.Parallel()
	for says, g := range map[string]login.Group{
		"no name": {Role: route.Admin}, "must be viewer": {Group: "g", Role: "root"}, "no pattern": {Group: "g", Role: route.Viewer, Zones: []string{"["}},
	} {
		if err := (login.Groups{g}).Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", g, err, says)
		}
	}
}
