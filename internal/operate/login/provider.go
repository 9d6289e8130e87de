package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// Refusals. Compare with errors.Is.
var (
	// ErrAway: the provider does not answer.
	ErrAway = refusal.New("login: the provider does not answer", refusal.Refusal{
		Status: http.StatusServiceUnavailable, Code: refusal.Unavailable.Code, RetryMin: 5, RetryMax: 5,
		Title: "Your company's log in does not answer", Detail: "Try again in some seconds, or log in with a token. Who is logged in stays so.",
	})
	// ErrRefused: what came back from the provider is not what this browser was sent there for.
	ErrRefused = refusal.New("login: refused", refusal.Refusal{
		Status: http.StatusForbidden, Code: "forbidden", Readers: refusal.Operators,
		Title: "The log in failed", Detail: "It took longer than 10 minutes, began in another browser, or your company's log in refused it. Begin again. The server's log says more.",
	})
)

const (
	// PendingAge is how long somebody may take to log in at the provider.
	PendingAge = 10 * time.Minute
	// CallbackPath is where the provider sends the browser back to.
	CallbackPath = "/console/login/callback"

	// maxGrants bounds what somebody may do, in bytes of JSON: a session has it in Base64, and browsers keep 4 KB.
	maxGrants = 2500

	pendingLabel = "queue-server log in v1"
	// patience bounds each question to the provider, and retryAfter how often one that does not answer is asked where it is.
	patience   = 5 * time.Second
	retryAfter = 5 * time.Second
)

// ProviderOptions of a Provider. All are required but ClientSecret and Now.
type ProviderOptions struct {
	// Issuer is the provider's URL, as its tokens name it. ClientID is this waiting room's name there; without ClientSecret it is a
	// public client.
	Issuer, ClientID, ClientSecret string
	// Scopes are asked for. NameClaim and RolesClaim have the name and the groups: names of claims, or paths in them with dots.
	Scopes                []string
	NameClaim, RolesClaim string
	// AdminURL is where browsers reach the console, without a path.
	AdminURL string
	Groups   Groups
	// Secrets sign what a browser takes to the provider and back, newest first.
	Secrets [][]byte
	// Now defaults to time.Now.
	Now func() time.Time
}

// Provider logs people in by the code flow of OpenID Connect with PKCE (RFC 7636). It keeps nothing between the two halves of a log
// in: what began on one server ends on any other with the same secret. It is safe for concurrent use.
type Provider struct {
	ProviderOptions
	signing jwt.VerificationKeySet
	client  *http.Client

	// mu is held while the provider is asked where it is. found is what it said, and failedUntil when it is asked again.
	mu          sync.Mutex
	found       *oidc.Provider
	failedUntil time.Time
}

// NewProvider returns the provider, without asking it anything: it may be away.
func NewProvider(o ProviderOptions) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{ProviderOptions: o, signing: people.Keys(pendingLabel, o.Secrets), client: &http.Client{
		Timeout: patience, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}, // log ins are rare
	}}
}

// Name is the provider's host, for people.
func (p *Provider) Name() string {
	if u, err := url.Parse(p.Issuer); err == nil {
		return u.Host
	}
	return p.Issuer
}

// discover returns where the provider is and with what it signs, and the configuration of the flow. It asks once, and again only after a
// failure.
func (p *Provider) discover(ctx context.Context) (at *oidc.Provider, config *oauth2.Config, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		if p.Now().Before(p.failedUntil) {
			return nil, nil, ErrAway
		}
		if p.found, err = oidc.NewProvider(context.WithoutCancel(ctx), p.Issuer); err != nil { // a browser that leaves makes nobody else wait
			p.failedUntil = p.Now().Add(retryAfter)
			return nil, nil, fmt.Errorf("%w: %w", ErrAway, err)
		}
	}
	at = p.found
	var said struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := at.Claims(&said); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	// Named, so that no code is spent on trying: client_secret_basic is what a provider can do that says nothing.
	endpoint := at.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.ClientSecret == "" || len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return at, &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: endpoint, Scopes: p.Scopes,
		RedirectURL: strings.TrimSuffix(p.AdminURL, "/") + CallbackPath,
	}, nil
}

// pending is what a browser keeps while its user is at the provider.
type pending struct {
	jwt.RegisteredClaims
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Next     string `json:"next"`
}

// Begin returns where to send a browser, and a text for a cookie that it must bring back within PendingAge; next is the page that
// it wants. The error is ErrAway.
func (p *Provider) Begin(ctx context.Context, next string) (to, kept string, err error) {
	ctx = oidc.ClientContext(ctx, p.client)
	_, config, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	flow := pending{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(p.Now().Add(PendingAge))},
		State:            rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next,
	}
	kept, err = jwt.NewWithClaims(jwt.SigningMethodHS256, flow).SignedString(p.signing.Keys[0])
	if err != nil {
		return "", "", fmt.Errorf("login: %w", err)
	}
	return config.AuthCodeURL(flow.State, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)), kept, nil
}

// Finish returns who has logged in, and the page that Begin was given, of what the browser kept and of what the provider sent it back
// with. The error is ErrRefused, ErrAway or ErrNoGroup.
func (p *Provider) Finish(ctx context.Context, kept string, query url.Values) (who people.Identity, next string, err error) {
	ctx = oidc.ClientContext(ctx, p.client)
	var flow pending
	_, err = jwt.ParseWithClaims(kept, &flow, func(*jwt.Token) (any, error) { return p.signing, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(p.Now), jwt.WithStrictDecoding())
	switch iss := query.Get("iss"); {
	case err != nil:
		return who, "", fmt.Errorf("%w: what the browser kept: %w", ErrRefused, err)
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(flow.State)) != 1:
		return who, "", fmt.Errorf("%w: another state", ErrRefused)
	case iss != "" && iss != p.Issuer: // RFC 9207
		return who, "", fmt.Errorf("%w: the answer of another provider", ErrRefused)
	case query.Get("error") != "":
		return who, "", fmt.Errorf("%w: the provider says %.64q", ErrRefused, query.Get("error"))
	}
	claims, err := p.claims(ctx, query.Get("code"), flow)
	if err != nil {
		return who, "", err
	}
	name, _ := find(claims, p.NameClaim).(string)
	subject, _ := claims["sub"].(string)
	const email = "email"
	if (p.NameClaim == email || p.RolesClaim == email) && fmt.Sprint(claims["email_verified"]) == "false" { // some write it as a text
		return who, "", &noGroupError{fmt.Sprintf("Your company's log in says that nobody has verified the address %.64q. Have it verified there, "+
			"or ask an admin of this waiting room to choose another claim for names.", name)}
	}
	who, err = p.Groups.identity(audit.OIDC, name, subject, texts(find(claims, p.RolesClaim)))
	if text, _ := json.Marshal(who.Grants); len(text) > maxGrants { // texts alone: never fails
		return people.Identity{}, "", &noGroupError{fmt.Sprintf("You are logged in as %s, and your groups have more zones than a browser keeps. "+
			"Ask an admin of this waiting room to give them fewer patterns of zones, such as SALE-*.", name)}
	}
	return who, flow.Next, err
}

// claims exchanges the code and returns what the provider says of who logged in: the claims of the ID token, and where name or
// groups are not among them, those of the provider's userinfo.
func (p *Provider) claims(ctx context.Context, code string, flow pending) (map[string]any, error) {
	at, config, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(flow.Verifier))
	if _, answered := errors.AsType[*oauth2.RetrieveError](err); err != nil && !answered {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	text, _ := tokens.Extra("id_token").(string)
	// It asks for the keys each time: one that the provider has taken back is good for nobody.
	id, err := at.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: p.Now}).Verify(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	claims := make(map[string]any)
	if err := id.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	// A token for several clients names in azp the one that asked for it.
	azp, named := claims["azp"]
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(flow.Nonce)) != 1:
		return nil, fmt.Errorf("%w: another nonce", ErrRefused)
	case named && azp != p.ClientID || !named && len(id.Audience) > 1:
		return nil, fmt.Errorf("%w: the token of another client", ErrRefused)
	case find(claims, p.NameClaim) != nil && find(claims, p.RolesClaim) != nil || at.UserInfoEndpoint() == "":
		return claims, nil
	}
	more, err := at.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("%w: userinfo: %w", ErrAway, err)
	}
	if more.Subject != id.Subject {
		return nil, fmt.Errorf("%w: the userinfo of somebody else", ErrRefused)
	}
	said := make(map[string]any)
	if err := more.Claims(&said); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for name, value := range said {
		if _, known := claims[name]; !known {
			claims[name] = value
		}
	}
	return claims, nil
}

// find returns a claim by its name, or by its path, such as realm_access.roles; nil if there is none.
func find(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	first, rest, _ := strings.Cut(name, ".")
	within, ok := claims[first].(map[string]any)
	if !ok || rest == "" {
		return nil
	}
	return find(within, rest)
}

// texts are those of a claim that is a text, or a list of texts.
func texts(claim any) (all []string) {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case []any:
		for _, one := range claim {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}
