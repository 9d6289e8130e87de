package challenge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Bounds of what is asked of a provider.
const (
	// providerTimeout is far above what a provider takes, some 200 ms.
	providerTimeout = 3 * time.Second
	// maxAsked is how many questions are under way at once: 1,000 answers a second at 200 ms each.
	maxAsked = 200
	// maxSaid is the longest answer that is read, in bytes.
	maxSaid = 16 << 10
	// leastScore is the score below which a visitor counts as a bot, where the provider gives one: the providers' own proposal.
	leastScore = 0.5
	// awayAfter is when a visitor should come again while the provider is away.
	awayAfter = 5 * time.Second
	// warnEvery is how often the log may say that it is.
	warnEvery = time.Minute
)

// verifyURLs are where the providers are asked.
var verifyURLs = map[zone.Challenge]string{
	zone.ChallengeTurnstile: "https://challenges.cloudflare.com/turnstile/v0/siteverify",
	zone.ChallengeHCaptcha:  "https://api.hcaptcha.com/siteverify",
	zone.ChallengeReCaptcha: "https://www.google.com/recaptcha/api/siteverify",
}

// errAway: the provider did not say yes or no.
var errAway = errors.New("challenge: the provider is away")

// ProviderOptions are the shop's keys at a provider. SiteKey and Secret are required.
type ProviderOptions struct {
	SiteKey, Secret string
	// Hosts are those on which a token may have been solved; any if empty.
	Hosts []string
	// VerifyURL is asked in place of the provider's own address, if it is not "".
	VerifyURL string
	Logger    *slog.Logger
}

// Provider asks a provider about tokens.
type Provider struct {
	ProviderOptions
	client http.Client
	slots  chan struct{}
	// failing: the latest question had no answer. Others do not wait for a slot then.
	failing atomic.Bool
	warned  atomic.Int64 // Unix seconds
}

// NewProvider returns a provider that is asked with these keys.
func NewProvider(o ProviderOptions) *Provider {
	return &Provider{ProviderOptions: o, client: http.Client{
		Timeout:       providerTimeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: maxAsked, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, slots: make(chan struct{}, maxAsked)}
}

func (p *Provider) siteKey() string {
	if p == nil {
		return ""
	}
	return p.SiteKey
}

// said is a provider's answer. Of Hostname, Action and Score each provider gives some.
type said struct {
	Success  *bool    `json:"success"`
	Hostname string   `json:"hostname"`
	Action   string   `json:"action"`
	Score    *float64 `json:"score"`
	Errors   []string `json:"error-codes"`
}

// What providers say of a token that was shown before, and of a fault that is not the visitor's.
var (
	saidBefore = []string{"timeout-or-duplicate", "already-seen-response", "invalid-or-already-seen-response", "expired-input-response"}
	saidFault  = []string{
		"missing-input-secret", "invalid-input-secret", "sitekey-secret-mismatch", "invalid-sitekey", "internal-error",
	}
)

// verify asks what a token is: right, wrong or spent, which is one that the provider was shown before. The error is errAway, ErrBusy or that of ctx.
func (p *Provider) verify(ctx context.Context, kind zone.Challenge, shown string) (state, error) {
	if p == nil {
		return unseen, errAway
	}
	select {
	case p.slots <- struct{}{}:
	default:
		if p.failing.Load() {
			return unseen, errAway
		}
		return unseen, ErrBusy
	}
	defer func() { <-p.slots }()
	answer, err := p.ask(ctx, kind, shown)
	if ctx.Err() != nil {
		return unseen, ctx.Err()
	}
	p.failing.Store(err != nil)
	if err != nil {
		if now, last := time.Now().Unix(), p.warned.Load(); now-last >= int64(warnEvery/time.Second) && p.warned.CompareAndSwap(last, now) {
			p.Logger.WarnContext(ctx, "the provider of a challenge does not say whether a token is good: zones do as their onChallengeFailure says", "provider", kind, "error", err)
		}
		return unseen, errAway
	}
	is := func(code string) bool { return slices.Contains(answer.Errors, code) }
	switch {
	case !*answer.Success && slices.ContainsFunc(saidBefore, is):
		return spent, nil
	case !*answer.Success,
		answer.Action != "" && answer.Action != Action,
		answer.Score != nil && *answer.Score < leastScore && kind == zone.ChallengeReCaptcha,
		len(p.Hosts) > 0 && answer.Hostname != "" && !slices.Contains(p.Hosts, answer.Hostname):
		return wrong, nil
	}
	return right, nil
}

// ask returns the provider's answer. Any error means that there is none about the token.
func (p *Provider) ask(ctx context.Context, kind zone.Challenge, shown string) (a said, err error) {
	address := p.VerifyURL
	if address == "" {
		address = verifyURLs[kind]
	}
	form := url.Values{"secret": {p.Secret}, "response": {shown}}
	if kind == zone.ChallengeHCaptcha {
		form.Set("sitekey", p.SiteKey)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return a, fmt.Errorf("challenge: provider: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.client.Do(req)
	if err != nil {
		return a, fmt.Errorf("challenge: provider: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxSaid))
	if err != nil {
		return a, fmt.Errorf("challenge: provider: %w", err)
	}
	if err = json.Unmarshal(body, &a); err != nil || a.Success == nil {
		return a, fmt.Errorf("challenge: provider: status %d, %q is no answer", res.StatusCode, body[:min(len(body), 100)])
	}
	if i := slices.IndexFunc(a.Errors, func(code string) bool { return slices.Contains(saidFault, code) }); !*a.Success && i >= 0 {
		return a, fmt.Errorf("challenge: provider: it says %s", a.Errors[i])
	}
	return a, nil
}
