package steer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/pilot"
)

const (
	// sourceWithin is how long a source may take, sourceBytes how much it may say.
	sourceWithin = 2 * time.Second
	sourceBytes  = 4 << 10
	// zoneWord stands for the zone's name in the URL of a source.
	zoneWord = "{zone}"
)

// CheckURL returns what is wrong with the URL of a source, nil for nothing.
func CheckURL(text string) error {
	u, err := url.Parse(strings.ReplaceAll(text, zoneWord, "zone"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is no URL such as http://127.0.0.1:9099/signal?zone={zone}", text)
	}
	return nil
}

// FromURL returns a source that asks a URL, in which {zone} stands for the zone's name. It is answered with
// {"p95Millis": 180, "errorPercent": 0.4}; with 204 while it has nothing to say. Redirects are not followed.
func FromURL(text string) func(ctx context.Context, zoneID string) (pilot.Look, error) {
	client := &http.Client{Timeout: sourceWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, zoneID string) (l pilot.Look, err error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(text, zoneWord, url.QueryEscape(zoneID)), http.NoBody)
		if err != nil {
			return l, fmt.Errorf("steer: %w", err)
		}
		res, err := client.Do(r)
		if err != nil {
			return l, fmt.Errorf("steer: %w", err)
		}
		defer func() { err = errors.Join(err, res.Body.Close()) }()
		if res.StatusCode != http.StatusOK {
			return l, fmt.Errorf("steer: the source says %s", res.Status)
		}
		var says struct {
			P95Millis    *float64 `json:"p95Millis"`
			ErrorPercent *float64 `json:"errorPercent"`
		}
		if err := json.NewDecoder(io.LimitReader(res.Body, sourceBytes)).Decode(&says); err != nil {
			return l, fmt.Errorf("steer: the source: %w", err)
		}
		if says.P95Millis == nil || says.ErrorPercent == nil || *says.P95Millis < 0 || *says.ErrorPercent < 0 || *says.ErrorPercent > 100 {
			return l, errors.New("steer: the source does not say p95Millis, 0 or more, and errorPercent, 0 to 100")
		}
		return pilot.Look{Told: true, P95Millis: *says.P95Millis, ErrorPercent: *says.ErrorPercent}, nil
	}
}
