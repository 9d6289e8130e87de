package lua

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestEviction: a Redis that may evict is refused at the start unless that is allowed, and said later.
func TestEviction(t *testing.T) {
	t.Parallel()
	url := ownServer(t)
	var log bytes.Buffer
	open := func(refuse bool) (*Store, error) {
		return Open(t.Context(), Options{
			URL: url, Prefix: "evict:", Secrets: []string{"one"}, NoEviction: refuse, Registerer: prometheus.NewRegistry(),
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
	}
	s, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	// The background looks, too, so it is stopped.
	s.withdraw()
	defer func() {
		if err := s.client.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, tt := range []struct {
		policy string
		evicts bool
	}{{"allkeys-lru", true}, {"volatile-ttl", true}, {noEviction, false}} {
		must(t, s.client.ConfigSet(t.Context(), "maxmemory-policy", tt.policy).Err())
		if err := s.inspect(t.Context()); errors.Is(err, ErrEviction) != tt.evicts || s.evicts.Load() != tt.evicts {
			t.Errorf("%s: found later: %v", tt.policy, err)
		}
		for _, refuse := range []bool{true, false} {
			another, err := open(refuse)
			if errors.Is(err, ErrEviction) != (refuse && tt.evicts) {
				t.Errorf("%s: at the start: %v, refused %t", tt.policy, err, refuse)
			}
			if err == nil {
				another.close(t)
			}
		}
	}
	if n := strings.Count(log.String(), "append-only"); n == 0 {
		t.Errorf("no warning that no append-only file is kept: %s", &log)
	}
}
