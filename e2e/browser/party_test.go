package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// party is simulated visitors over HTTP, who poll when they are told to until
// they are in.
type party struct {
	client *http.Client
	public string
	// end sends everybody home.
	end func()
	all sync.WaitGroup

	mu               sync.Mutex
	joined, admitted int
	failures         []error
}

// invite has so many visitors come to a zone.
func invite(t *testing.T, public, zoneID string, visitors int) *party {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &party{client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16}}, public: public}
	p.end = func() {
		cancel()
		p.all.Wait()
		p.client.CloseIdleConnections()
	}
	for i := range visitors {
		p.all.Go(func() { p.visit(ctx, zoneID, i) })
	}
	t.Cleanup(p.end)
	return p
}

func (p *party) visit(ctx context.Context, zoneID string, number int) {
	path, body := "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":"visitor-%d"}`, zoneID, number)
	for {
		var told room.Told
		r, err := room.Ask(ctx, p.client, http.MethodPost, p.public+path, body)
		switch {
		case ctx.Err() != nil || r.Status == http.StatusNotFound: // the zone was deleted
			return
		case err == nil && r.Status != http.StatusOK:
			err = fmt.Errorf("%s: %d %s", path, r.Status, r.Body)
		case err == nil:
			err = json.Unmarshal([]byte(r.Body), &told)
		}
		p.note(path, told, err)
		if err != nil || told.CanEnter {
			return
		}
		path, body = "/traffic/entry", fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, told.Token)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(told.Waiting.PollingPeriod) * time.Millisecond):
		}
	}
}

func (p *party) note(path string, told room.Told, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.failures = append(p.failures, err)
		return
	case path == "/traffic/wait":
		p.joined++
	}
	if told.CanEnter {
		p.admitted++
	}
}

// count returns how many joined and were admitted, and fails if one was refused.
func (p *party) count(t *testing.T) (joined, admitted int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.failures {
		t.Errorf("a visitor: %v", err)
	}
	return p.joined, p.admitted
}
