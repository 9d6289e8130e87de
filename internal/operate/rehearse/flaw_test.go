package rehearse_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/rehearsed"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

type fields map[string]string

// answer is all that a client reads of answers.
type answer struct {
	status     int
	retryAfter time.Duration
	Type       string `json:"type"`
	Code       string `json:"code"`
	Token      string `json:"token"`
	CanEnter   bool   `json:"canEnter"`
	Waiting    struct {
		Position      int64 `json:"position"`
		PollingPeriod int64 `json:"pollingPeriod"`
	} `json:"waiting"`
	Admission struct {
		Pass string `json:"pass"`
	} `json:"admission"`
	Challenge challenge.Work `json:"challenge"`
}

// client does all as it should, but for its flaw.
type client struct {
	flaw           string
	http           *http.Client
	zoneID, id     string
	token, first   string
	solution       string
	joins, retries int
}

func (c *client) has(flaw string) bool { return c.flaw == flaw }

func (c *client) wait(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		a, err := c.ask(ctx)
		if err != nil && (a.status != 503 && a.status != 429 || !c.has("takes what a gateway refuses for the room's")) {
			a.status = 0
		}
		status := strconv.Itoa(a.status)
		c.retries++
		switch a.status {
		case 200:
			failures, c.retries, c.token = 0, 0, a.Token
			if c.first == "" {
				c.first = a.Token
			}
			if a.CanEnter {
				c.enter(ctx, a.Admission.Pass)
				return
			}
			if a.Waiting.Position == 0 && c.has("gives up at position 0") {
				return
			}
			period := time.Duration(a.Waiting.PollingPeriod) * time.Millisecond
			if c.has("polls too soon") {
				period /= 2
			}
			sleep(ctx, period)
			continue
		case 401, 410:
			if a.Code == "sold_out" {
				if !c.has("goes on when it is sold out") {
					return
				}
				c.token = ""
				sleep(ctx, time.Second)
				continue
			}
			if c.has("gives up at " + status) {
				return
			}
			failures, c.retries = 0, 0
			if !c.has("polls on after " + status) {
				c.token, c.first = "", ""
			} else {
				sleep(ctx, time.Second)
			}
			continue
		case 408, 429, 503:
			failures = 0
			if c.has("ignores Retry-After") {
				a.retryAfter = time.Second / 2
			}
			sleep(ctx, a.retryAfter)
		case 403:
			if a.Code != "challenge_required" || c.has("goes on after 403") {
				if !c.has("goes on after 403") {
					return
				}
				sleep(ctx, time.Second)
				continue
			}
			if c.has("gives up at a challenge") || c.solution != "" { // or it was wrong
				return
			}
			if c.solution, err = challenge.Solve(ctx, a.Challenge); err != nil {
				return
			}
			if c.has("has the challenge of another") {
				a.Challenge.Parameters.Salt = a.Challenge.Parameters.Nonce
				c.solution, _ = challenge.Solve(ctx, a.Challenge)
			}
			continue
		case 400, 404, 405, 413, 423:
			if !c.has("goes on after " + status) {
				return
			}
			sleep(ctx, time.Second)
		default:
			failures++
			pause := time.Second << min(failures-1, 4)
			if c.has("hammers") {
				pause = time.Second / 10
			}
			if c.has("never waits longer") {
				pause = time.Second
			}
			sleep(ctx, pause)
		}
		if c.has("gives up at "+status) || c.has("joins anew after "+status) {
			c.token = ""
			if c.has("gives up at " + status) {
				return
			}
		}
	}
}

// ask joins or polls.
func (c *client) ask(ctx context.Context) (answer, error) {
	patience := 3 * time.Second
	if c.has("hangs up too soon") {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path, body := "/traffic/wait", fields{"zoneId": c.zoneID, "clientId": c.id}
	if c.token != "" && !c.has("joins instead of polling") {
		path, body = "/traffic/entry", fields{"zoneId": c.zoneID, "token": c.token}
		if c.has("keeps an old token") {
			body["token"] = c.first
		}
	} else if c.solution != "" {
		body["challenge"] = c.solution
	} else if c.joins++; c.has("is somebody else each time") {
		body["clientId"] = rand.Text()
	} else if c.has("has no clientId") {
		delete(body, "clientId")
	}
	if c.has("sends another body") && c.retries > 0 {
		body["attempt"] = strconv.Itoa(c.retries)
	}
	if c.has("asks at another path") {
		path = strings.TrimPrefix(path, "/traffic")
	}
	if c.has("asks for another zone") {
		body["zoneId"] += "-2"
	}
	return send(ctx, c.http, rehearsed.URL+path, body)
}

func (c *client) enter(ctx context.Context, pass string) {
	if c.has("polls on after canEnter") {
		sleep(ctx, time.Second)
		_, _ = c.ask(ctx)
	}
	if c.has("has no use for the pass") {
		return
	}
	if c.has("shows something else") {
		pass = c.token
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rehearsed.URL+"/service", http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+pass)
	if res, err := c.http.Do(req); err == nil {
		_ = res.Body.Close()
	}
}

// send asks. It returns an error for what is no answer of the room.
func send(ctx context.Context, c *http.Client, url string, body fields) (out answer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return out, err
	}
	res, err := c.Do(req)
	if err != nil {
		return out, err
	}
	text, err = io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return out, err
	}
	out.status = res.StatusCode
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 where there is none
	out.retryAfter = time.Duration(seconds) * time.Second
	if err := json.Unmarshal(text, &out); err != nil || res.StatusCode == http.StatusOK || strings.HasSuffix(out.Type, "#"+out.Code) {
		return out, err
	}
	return out, errors.New("a refusal of something in between")
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// TestEachRuleBites shows the rehearsal a client with each flaw, and one with none.
func TestEachRuleBites(t *testing.T) {
	tests := []struct {
		flaw string
		want []rehearse.Rule
	}{
		{"", nil},
		{"polls too soon", []rehearse.Rule{rehearse.RulePeriod}},
		{"keeps an old token", []rehearse.Rule{rehearse.RuleToken}},
		{"joins instead of polling", []rehearse.Rule{rehearse.RuleToken}},
		{"gives up at position 0", []rehearse.Rule{rehearse.RuleGoOn}},
		{"gives up at 0", []rehearse.Rule{rehearse.RuleGoOn}},
		{"gives up at 408", []rehearse.Rule{rehearse.RuleGoOn}},
		{"gives up at 429", []rehearse.Rule{rehearse.RuleGoOn}},
		{"gives up at 500", []rehearse.Rule{rehearse.RuleGoOn}},
		{"gives up at 503", []rehearse.Rule{rehearse.RuleGoOn}},
		{"joins anew after 0", []rehearse.Rule{rehearse.RuleSame}},
		{"joins anew after 503", []rehearse.Rule{rehearse.RuleSame}},
		{"sends another body", []rehearse.Rule{rehearse.RuleSame}},
		{"ignores Retry-After", []rehearse.Rule{rehearse.RuleRetryAfter}},
		{"hammers", []rehearse.Rule{rehearse.RuleBackoff}},
		{"takes what a gateway refuses for the room's", []rehearse.Rule{rehearse.RuleBackoff}},
		{"never waits longer", []rehearse.Rule{rehearse.RuleBackoff}},
		{"hangs up too soon", []rehearse.Rule{rehearse.RulePatience}},
		{"gives up at 401", []rehearse.Rule{rehearse.RuleRejoin}},
		{"polls on after 401", []rehearse.Rule{rehearse.RuleRejoin}},
		{"polls on after 410", []rehearse.Rule{rehearse.RuleRejoin}},
		{"gives up at 410", nil}, // if the user wants no more
		{"is somebody else each time", []rehearse.Rule{rehearse.RuleClientID, rehearse.RuleSame}},
		{"has no clientId", []rehearse.Rule{rehearse.RuleClientID}},
		{"goes on after 400", []rehearse.Rule{rehearse.RuleStop}},
		{"goes on after 403", []rehearse.Rule{rehearse.RuleChallenge, rehearse.RuleStop}},
		{"goes on after 404", []rehearse.Rule{rehearse.RuleStop}},
		{"goes on after 405", []rehearse.Rule{rehearse.RuleStop}},
		{"goes on after 413", []rehearse.Rule{rehearse.RuleStop}},
		{"goes on when it is sold out", []rehearse.Rule{rehearse.RuleStop}},
		{"goes on after 423", []rehearse.Rule{rehearse.RuleStop}},
		{"gives up at a challenge", []rehearse.Rule{rehearse.RuleChallenge}},
		{"has the challenge of another", []rehearse.Rule{rehearse.RuleChallenge}},
		{"polls on after canEnter", []rehearse.Rule{rehearse.RuleDone}},
		{"has no use for the pass", []rehearse.Rule{rehearse.RulePass}},
		{"shows something else", []rehearse.Rule{rehearse.RuleForm, rehearse.RulePass}},
		{"asks at another path", []rehearse.Rule{rehearse.RuleForm}},
		{"asks for another zone", []rehearse.Rule{rehearse.RuleForm}},
	}
	bitten := map[rehearse.Rule]bool{}
	for _, tt := range tests {
		t.Run(tt.flaw, func(t *testing.T) {
			v := rehearsed.Judge(t, rehearse.Acts(), func(ctx context.Context, c *http.Client, zoneID string) {
				(&client{flaw: tt.flaw, http: c, zoneID: zoneID, id: "client-" + zoneID}).wait(ctx)
			})
			if tt.flaw == "" {
				rehearsed.WantKept(t, v)
			}
			var broken []rehearse.Rule
			for _, r := range rehearse.Rules {
				if slices.ContainsFunc(v.Findings, func(f rehearse.Finding) bool { return f.Rule == r.Rule }) {
					broken = append(broken, r.Rule)
				}
			}
			if !slices.Equal(broken, tt.want) {
				t.Errorf("broken are %q, want %q: %+v", broken, tt.want, v.Findings)
			}
		})
		for _, r := range tt.want {
			bitten[r] = true
		}
	}
	for _, r := range rehearse.Rules {
		if !bitten[r.Rule] {
			t.Errorf("no client breaks %s", r.Rule)
		}
	}
}

// TestFewFindingsArePrinted: of a rule that a client breaks at each poll.
func TestFewFindingsArePrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := rehearse.Verdict{Findings: slices.Repeat([]rehearse.Finding{{Rule: rehearse.RulePeriod, Text: "too early"}}, 1_000)}
	if err := v.Print(&out); err != nil || strings.Count(out.String(), "too early") != 5 || !strings.Contains(out.String(), "and 995 more") {
		t.Errorf("%v, printed:\n%s", err, &out)
	}
}
