package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/openqueue/waitingroom/client"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// party is visitors who wait by package client until they are in.
type party struct {
	// end sends everybody home.
	end func()
	all sync.WaitGroup

	mu               sync.Mutex
	joined, admitted int
	failures         []error
}

// invite has so many visitors come to a zone. Each answer is held against the API's description.
func invite(t *testing.T, public, zoneID string, visitors int) *party {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wire := &http.Transport{MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16}
	web := &http.Client{Transport: openapitest.Public.Transport(t, wire)}
	p := &party{}
	p.end = func() {
		cancel()
		p.all.Wait()
		wire.CloseIdleConnections()
	}
	for i := range visitors {
		p.all.Go(func() {
			p.visit(ctx, client.Options{URL: public, Zone: zoneID, ClientID: fmt.Sprint("visitor-", i), HTTP: web})
		})
	}
	t.Cleanup(p.end)
	return p
}

func (p *party) visit(ctx context.Context, o client.Options) {
	joined := sync.OnceFunc(func() { p.joined++ })
	o.OnUpdate = func(u client.Update) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if u.Code == "" {
			joined()
		} else if ctx.Err() == nil {
			p.failures = append(p.failures, errors.New(u.Code))
		}
	}
	_, err := client.Wait(ctx, o)
	refused, _ := errors.AsType[*client.RefusedError](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		joined()
		p.admitted++
	case ctx.Err() == nil && (refused == nil || refused.Status != http.StatusNotFound): // unless the zone was deleted
		p.failures = append(p.failures, err)
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
