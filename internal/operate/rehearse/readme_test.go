package rehearse_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/rehearsed"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// app is what the README's pseudo-code is written for.
type app struct {
	http   *http.Client
	url    string
	zoneID string
	// show is what a person sees.
	show func(text string)
}

// answer is all that the pseudo-code reads of answers.
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
		// nil where that is not known.
		Range *struct {
			Low  int64 `json:"low"`
			High int64 `json:"high"`
		} `json:"estimatedWaitRange"`
	} `json:"waiting"`
	Admission struct {
		Pass string `json:"pass"`
	} `json:"admission"`
}

type fields map[string]string

// wait is the pseudo-code of the README, line by line: each comment is a line of it, and
// there is no other. TestTheREADMEIsWhatWasRehearsed holds them together.
func (a app) wait(ctx context.Context) error {
	// clientId = a random UUID, kept on the device
	clientID := rand.Text()
	// token = pass = none
	var token, pass string
	failures := 0
	// until pass:
	for pass == "" && ctx.Err() == nil {
		var answer answer
		var err error
		// if token: answer = POST /traffic/entry {zoneId, token}            # each with a timeout of 3 s
		if token != "" {
			answer, err = a.post(ctx, "/traffic/entry", fields{"zoneId": a.zoneID, "token": token})
		} else {
			// else:     answer = POST /traffic/wait  {zoneId, clientId}
			answer, err = a.post(ctx, "/traffic/wait", fields{"zoneId": a.zoneID, "clientId": clientID})
		}
		if err != nil {
			answer.status = 0
		}
		failures++
		switch answer.status {
		// on 200:   token = answer.token                                    # it changes: keep the newest
		case 200:
			failures = 0
			token = answer.Token
			if answer.CanEnter {
				// if answer.canEnter: pass = answer.admission.pass
				pass = answer.Admission.Pass
			} else {
				// else: show answer.waiting.position, .estimatedWaitRange # 0: no number yet; "4 to 6 minutes", of milliseconds
				a.show(strconv.FormatInt(answer.Waiting.Position, 10))
				if r := answer.Waiting.Range; r != nil {
					a.show(fmt.Sprintf("%d to %d minutes", r.Low/60_000, (r.High+59_999)/60_000))
				}
				// sleep answer.waiting.pollingPeriod                # milliseconds, not less
				sleep(ctx, time.Duration(answer.Waiting.PollingPeriod)*time.Millisecond)
			}
		// on 401:   token = none                                            # join again
		case 401:
			failures = 0
			token = ""
		// on 410, code sold_out: stop, and show detail                      # nobody need wait any more
		// on 410:   token = none; tell the user that the place is gone; go on if they want to
		case 410:
			if answer.Code == "sold_out" {
				return nil
			}
			failures = 0
			token = ""
		// on 408, 429, 503: sleep Retry-After seconds                       # the place is kept
		case 408, 429, 503:
			failures = 0
			sleep(ctx, answer.retryAfter)
		// on 400, 403, 404, 405, 413, 423: stop, and show detail
		case 400, 403, 404, 405, 413, 423:
			return nil
		// on anything else, or no answer: sleep 1 s, then 2, 4, 8, 16       # the place is kept
		default:
			sleep(ctx, time.Second<<min(failures-1, 4))
		}
	}
	// send pass to the service, before answer.admission.expiresAt
	return a.enter(ctx, pass)
}

func (a app) enter(ctx context.Context, pass string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/service", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+pass)
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// post asks with a timeout of 3 s. It returns an error for what is no answer.
func (a app) post(ctx context.Context, path string, body fields) (out answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return send(ctx, a.http, a.url+path, body)
}

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

func TestTheREADMEsAppKeepsAllRules(t *testing.T) {
	var shown []string // by the calm act, whose client is one goroutine
	v := rehearsed.Judge(t, rehearse.Acts(), func(ctx context.Context, c *http.Client, zoneID string) {
		show := func(text string) {
			if zoneID == "calm" {
				shown = append(shown, text)
			}
		}
		if err := (app{c, rehearsed.URL, zoneID, show}).wait(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	rehearsed.WantKept(t, v)
	if !slices.Contains(shown, "4 to 6 minutes") {
		t.Errorf("it shows %q", shown)
	}
}

func TestTheREADMEIsWhatWasRehearsed(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "## Wait, in an app")
	_, block, _ = strings.Cut(block, "```\n")
	block, _, _ = strings.Cut(block, "```")
	var written []string
	for line := range strings.Lines(block) {
		written = append(written, strings.TrimSpace(line))
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "readme_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var transcribed []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "wait" {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if c.Pos() > f.Body.Pos() && c.End() < f.Body.End() {
					transcribed = append(transcribed, strings.TrimSpace(strings.TrimPrefix(c.Text, "//")))
				}
			}
		}
	}
	if !slices.Equal(written, transcribed) {
		t.Errorf("the README says\n%s\nand what was rehearsed is\n%s", strings.Join(written, "\n"), strings.Join(transcribed, "\n"))
	}
}
