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

// action is what a provider is told that its widget is for.
const action = "join"

// Bounds of what is asked of a provider.
const (
	// ProviderTimeout is far above what a provider takes, some 200 ms.
	ProviderTimeout = 3 * time.Second
	// maxAsked is how many questions are under way at once: 1,000 answers a second at 200 ms each.
	maxAsked = 200
	// maxSaid is the longest answer that is read, in bytes.
	maxSaid = 16 << 10
	// leastScore is the score below which a visitor counts as a bot, where reCAPTCHA gives one: Google's own proposal.
	leastScore = 0.5
	// awayAfter is when a visitor should come again while the provider is away.
	awayAfter = 5 * time.Second
)

// verifyURLs are where the providers are asked.
var verifyURLs = map[zone.Challenge]string{
	zone.ChallengeTurnstile: "https://challenges.cloudflare.com/turnstile/v0/siteverify",
	zone.ChallengeHCaptcha:  "https://api.hcaptcha.com/siteverify",
	zone.ChallengeReCaptcha: "https://www.google.com/recaptcha/api/siteverify",
}

// errAway: the provider did not say yes or no.
var errAway = errors.New("challenge: the provider is away")

// Provider asks a provider about tokens, with the shop's keys. Without these, it is away. Its fields do not change once it is used.
type Provider struct {
	SiteKey, Secret string
	// Hosts are those on which a token may have been solved; any if empty.
	Hosts []string
	// VerifyURL is asked in place of the provider's own address, if it is not "".
	VerifyURL string
	Logger    *slog.Logger
	// Client has the time limit of a question.
	Client http.Client

	asked atomic.Int64
	// failing: the latest question had no answer, and the log says so.
	failing atomic.Bool
}

// said is a provider's answer. Of Hostname, Action and Score each provider gives some.
type said struct {
	Success  *bool    `json:"success"`
	Hostname string   `json:"hostname"`
	Action   string   `json:"action"`
	Score    *float64 `json:"score"`
	Errors   []string `json:"error-codes"`
}

// has reports whether the answer has one of the codes.
func (a *said) has(codes []string) bool {
	return slices.ContainsFunc(a.Errors, func(code string) bool { return slices.Contains(codes, code) })
}

// What providers say of a token that was shown before, and of a fault that is not the visitor's. No visitor can cause the latter.
var (
	saidBefore = []string{"timeout-or-duplicate", "already-seen-response", "invalid-or-already-seen-response", "expired-input-response"}
	saidFault  = []string{"missing-input-secret", "invalid-input-secret", "sitekey-secret-mismatch", "invalid-sitekey", "internal-error"}
)

// verify asks what a token is: right, wrong, or spent if the provider has seen it before. While many ask, only visitors for whom
// othersFirst is false are answered. The error is errAway, ErrBusy or that of ctx.
func (p *Provider) verify(ctx context.Context, kind zone.Challenge, shown string, othersFirst bool) (state, error) {
	if p.SiteKey == "" {
		return unseen, errAway
	}
	defer p.asked.Add(-1)
	if p.asked.Add(1) > most(maxAsked, othersFirst) {
		if p.failing.Load() {
			return unseen, errAway
		}
		return unseen, ErrBusy
	}
	a, err := p.ask(ctx, kind, shown)
	if ctx.Err() != nil {
		return unseen, ctx.Err()
	}
	if was := p.failing.Swap(err != nil); err != nil {
		if !was {
			p.Logger.WarnContext(ctx, "the provider of a challenge does not say whether a token is good: zones do as their onChallengeFailure says", "provider", kind, "error", err)
		}
		return unseen, errAway
	}
	switch {
	case !*a.Success && a.has(saidBefore):
		return spent, nil
	case !*a.Success, a.Action != "" && a.Action != action,
		kind == zone.ChallengeReCaptcha && a.Score != nil && *a.Score < leastScore,
		len(p.Hosts) > 0 && a.Hostname != "" && !slices.Contains(p.Hosts, a.Hostname):
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
	res, err := p.Client.Do(req)
	if err != nil {
		return a, fmt.Errorf("challenge: provider: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxSaid))
	if err != nil {
		return a, fmt.Errorf("challenge: provider: %w", err)
	}
	if err = json.Unmarshal(body, &a); err != nil || a.Success == nil || !*a.Success && a.has(saidFault) {
		return a, fmt.Errorf("challenge: provider: status %d, %q says nothing of the token", res.StatusCode, body[:min(len(body), 200)])
	}
	return a, nil
}
