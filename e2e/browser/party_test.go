package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// party is simulated visitors over HTTP, who poll when they are told to until
// they are in.
type party struct {
	client *http.Client
	public string
	stop   chan struct{}
	all    sync.WaitGroup

	mu       sync.Mutex
	joined   int
	admitted int
	polls    int
	failures []error
}

// invite has so many visitors come to a zone.
func invite(t *testing.T, public, zoneID string, visitors int) *party {
	t.Helper()
	c := &party{
		client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16}},
		public: public, stop: make(chan struct{}),
	}
	for i := range visitors {
		c.all.Go(func() { c.visit(zoneID, i) })
	}
	t.Cleanup(c.end)
	return c
}

// end sends everybody home.
func (c *party) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.all.Wait()
	c.client.CloseIdleConnections()
}

func (c *party) visit(zoneID string, number int) {
	body := fmt.Sprintf(`{"zoneId":%q,"clientIp":"203.0.113.9","clientAgent":"WEB","clientId":"visitor-%d"}`, zoneID, number)
	path := "/traffic/wait"
	for {
		var a struct {
			Token    string `json:"token"`
			CanEnter bool   `json:"canEnter"`
			Waiting  struct {
				PollingPeriod int64 `json:"pollingPeriod"`
			} `json:"waiting"`
		}
		err := c.ask(path, body, &a)
		c.mu.Lock()
		switch {
		case errors.Is(err, errGone):
			c.mu.Unlock()
			return
		case err != nil:
			c.failures = append(c.failures, err)
			c.mu.Unlock()
			return
		case path == "/traffic/wait":
			c.joined++
		default:
			c.polls++
		}
		if a.CanEnter {
			c.admitted++
		}
		c.mu.Unlock()
		if a.CanEnter {
			return
		}
		path, body = "/traffic/entry", fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, a.Token)
		select {
		case <-c.stop:
			return
		case <-time.After(time.Duration(a.Waiting.PollingPeriod) * time.Millisecond):
		}
	}
}

// errGone: the zone was deleted.
var errGone = errors.New("the zone is gone")

func (c *party) ask(path, body string, out any) error {
	res, err := c.client.Post(c.public+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	switch res.StatusCode {
	case http.StatusOK:
		return json.Unmarshal(text, out)
	case http.StatusNotFound:
		return errGone
	default:
		return fmt.Errorf("%s: %d %s", path, res.StatusCode, text)
	}
}

// count returns how many joined and were admitted, and fails if one was refused.
func (c *party) count(t *testing.T) (joined, admitted int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.failures {
		t.Errorf("a visitor: %v", err)
	}
	return c.joined, c.admitted
}
