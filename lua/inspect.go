package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrEviction: Redis is set to remove keys when it has no memory left.
var ErrEviction = errors.New("lua: redis evicts keys")

// noEviction is the only maxmemory-policy by which Redis removes no key of a zone.
const noEviction = "noeviction"

// inspectRounds is how many announcements lie between two looks at how Redis is run: half a minute.
const inspectRounds = 30

// inspect looks at how each master is run, and warns of what can lose data. The error wraps ErrEviction if one may evict
// keys. INFO is asked, since many managed instances refuse CONFIG.
func (s *Store) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	err := s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx, "memory", "persistence", "replication").Result()
		if err != nil {
			return fmt.Errorf("lua: info: %w", err)
		}
		is := make(map[string]string)
		for row := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(row), ":")
			is[name] = value
		}
		if is["aof_enabled"] == "0" {
			s.warn("it keeps no append-only file: what it has not saved is lost when it ends; set appendonly yes", c)
		}
		if s.failsOver && is["connected_slaves"] == "0" {
			s.warn("it is a master without a replica: there is nothing to fail over to", c)
		}
		if policy := is["maxmemory_policy"]; policy != "" && policy != noEviction {
			return fmt.Errorf("%w: %s has maxmemory-policy %s, and would remove places and admissions; set it to %s, "+
				"or QUEUE_REDIS_EVICTION=allow", ErrEviction, c.Options().Addr, policy, noEviction)
		}
		return nil
	})
	evicts := errors.Is(err, ErrEviction)
	if !s.noEviction || err != nil && !evicts {
		return err
	}
	if before := s.evicts.Swap(evicts); evicts && !before {
		s.logger.Error("redis may remove keys of zones when its memory is full", "err", err)
	}
	return err
}

// warn says something of a node, once.
func (s *Store) warn(what string, c *redis.Client) {
	if _, said := s.warned.LoadOrStore(what+c.Options().Addr, true); !said {
		s.logger.Warn("this redis can lose data", "redis", c.Options().Addr, "because", what)
	}
}
