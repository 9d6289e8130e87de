package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// visitor is a client written from the public OpenAPI document alone, word for
// word: what an app has to do to wait, and a service to verify the pass.
type visitor struct {
	http     *http.Client
	url      string
	zoneID   string
	clientID string
	// polls counts the polls that the visitor made.
	polls int
}

// errStop is what the document says of 400, 403, 404, 405, 413 and 423.
var errStop = errors.New("stop: there is nothing to wait for")

// told is a 200, as the document has it.
type told struct {
	Token    string `json:"token"`
	CanEnter bool   `json:"canEnter"`
	Waiting  struct {
		Position      int64 `json:"position"`
		PollingPeriod int64 `json:"pollingPeriod"`
	} `json:"waiting"`
	Admission struct {
		AdmittedAt int64  `json:"admittedAt"`
		ExpiresAt  int64  `json:"expiresAt"`
		Pass       string `json:"pass"`
	} `json:"admission"`
}

// wait joins, and polls until it has a pass.
func (v *visitor) wait(ctx context.Context) (pass string, err error) {
	token := ""
	failures := 0
	for {
		path, body := "/traffic/wait", map[string]string{"zoneId": v.zoneID, "clientId": v.clientID}
		if token != "" {
			path, body = "/traffic/entry", map[string]string{"zoneId": v.zoneID, "token": token}
			v.polls++
		}
		var a told
		status, header, err := v.post(ctx, path, body, &a)
		var pause time.Duration
		switch {
		case err == nil && status == http.StatusOK:
			failures = 0
			if a.CanEnter {
				return a.Admission.Pass, nil
			}
			token, pause = a.Token, time.Duration(a.Waiting.PollingPeriod)*time.Millisecond
		case err == nil && (status == http.StatusUnauthorized || status == http.StatusGone):
			token = ""
		case err == nil && (status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
			seconds, err := strconv.Atoi(header.Get("Retry-After"))
			if err != nil {
				return "", fmt.Errorf("Retry-After of a %d: %w", status, err)
			}
			pause = time.Duration(seconds) * time.Second
		case err == nil && status < http.StatusInternalServerError:
			return "", errStop
		default: // no answer, or one that nobody can make sense of
			pause = time.Second << min(failures, 4)
			failures++
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
		}
	}
}

// post gives a call 3 s, as the document says.
func (v *visitor) post(ctx context.Context, path string, body any, into any) (int, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return v.do(req, into)
}

func (v *visitor) do(req *http.Request, into any) (int, http.Header, error) {
	res, err := v.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, nil, err
	}
	return res.StatusCode, res.Header, json.Unmarshal(text, into)
}

// passClaims are those of PassClaims that a service has to look at.
type passClaims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Exp      int64  `json:"exp"`
	JTI      string `json:"jti"`
}

// verify is what the protected service does with a pass, in the four steps of
// the document.
func (v *visitor) verify(ctx context.Context, pass string, seen map[string]bool) (passClaims, error) {
	var c passClaims
	parts := strings.Split(pass, ".")
	if len(parts) != 3 {
		return c, errors.New("no JSON Web Token")
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	if err := errors.Join(decode(parts[0], &header), decode(parts[1], &c)); err != nil {
		return c, err
	}
	// 1. Fetch the keys.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/.well-known/jwks.json", http.NoBody)
	if err != nil {
		return c, err
	}
	var set struct {
		Keys []struct {
			KeyID string `json:"kid"`
			X     string `json:"x"`
		} `json:"keys"`
	}
	if _, _, err := v.do(req, &set); err != nil {
		return c, err
	}
	// 2. Verify the signature with the key that kid names; EdDSA only.
	genuine := false
	for _, key := range set.Keys {
		public, errKey := base64.RawURLEncoding.DecodeString(key.X)
		signature, errSignature := base64.RawURLEncoding.DecodeString(parts[2])
		if key.KeyID == header.KeyID && header.Algorithm == "EdDSA" && errKey == nil && errSignature == nil {
			genuine = ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), signature)
		}
	}
	switch {
	case !genuine:
		return c, errors.New("the signature is not good")
	case c.Exp <= time.Now().Unix(), c.Audience != v.zoneID, c.Issuer != "waitingroom": // 3.
		return c, fmt.Errorf("expired, or of another zone or installation: %+v", c)
	case seen[c.JTI]: // 4.
		return c, errors.New("this admission was taken before")
	}
	seen[c.JTI] = true
	return c, nil
}

func decode(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// mishaps is a network: the first answer is lost on the way, and the third
// request meets a server whose store is away.
type mishaps struct {
	http.RoundTripper
	requests atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (m *mishaps) RoundTrip(req *http.Request) (*http.Response, error) {
	n := m.requests.Add(1)
	res, err := m.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch n {
	case 1:
		return nil, errors.Join(errors.New("connection reset by peer"), res.Body.Close())
	case 3:
		if err := res.Body.Close(); err != nil {
			return nil, err
		}
		res.StatusCode = http.StatusServiceUnavailable
		res.Header.Set("Retry-After", "1")
		res.Body = io.NopCloser(strings.NewReader(`{"code":"store_unavailable"}`))
	}
	return res, nil
}

// TestAClientMadeFromTheDocument waits on a real server, over a network that
// loses an answer, and is in with a pass that verifies.
func TestAClientMadeFromTheDocument(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t,
		"zones:\n  - {zoneId: TEST_ZONE, perMinute: 20, windowSeconds: 3}\n")}) // one in 3 s
	checked := openapitest.Public.Transport(t, transport)
	first := &visitor{http: &http.Client{Transport: checked}, url: s.public, zoneID: "TEST_ZONE", clientID: "first"}
	if _, err := first.wait(t.Context()); err != nil || first.polls != 0 {
		t.Fatalf("straight in: %v after %d polls", err, first.polls)
	}
	network := &mishaps{RoundTripper: checked}
	second := &visitor{http: &http.Client{Transport: network}, url: s.public, zoneID: "TEST_ZONE", clientID: "second"}
	pass, err := second.wait(t.Context())
	if err != nil || second.polls < 2 {
		t.Fatalf("in line: %v after %d polls", err, second.polls)
	}
	// The lost answer took no second place: two joined, and nobody waits.
	if got := request(t, http.MethodGet, s.operators+"/admin/zones/TEST_ZONE/stats", "", "Authorization", "Bearer "+operatorToken); got.value(t, "totals", "joined") != 2.0 || got.value(t, "waiting") != 0.0 {
		t.Errorf("stats: %+v", got)
	}
	seen := map[string]bool{}
	if c, err := first.verify(t.Context(), pass, seen); err != nil {
		t.Errorf("the pass does not verify: %v (%+v)", err, c)
	}
	if _, err := first.verify(t.Context(), pass, seen); err == nil {
		t.Error("one admission was taken twice")
	}
	middle := len(pass) / 2
	other := byte('A')
	if pass[middle] == other {
		other = 'B'
	}
	if _, err := first.verify(t.Context(), pass[:middle]+string(other)+pass[middle+1:], map[string]bool{}); err == nil {
		t.Error("a pass that was altered verifies")
	}
	nobody := &visitor{http: &http.Client{Transport: checked}, url: s.public, zoneID: "NONE", clientID: "x"}
	if _, err := nobody.wait(t.Context()); !errors.Is(err, errStop) {
		t.Errorf("no such zone: %v", err)
	}
}
