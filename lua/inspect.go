package lua

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrEviction: Redis is set to remove keys when it has no memory left.
var ErrEviction = errors.New("lua: redis evicts keys")

// ErrCluster: Redis is a node of a cluster, and the URL is that of one Redis.
var ErrCluster = errors.New("lua: redis is a cluster")

// noEviction is the only maxmemory-policy by which Redis removes no key of a zone.
const noEviction = "noeviction"

// inspectRounds is how many announcements lie between two looks at how Redis is run: half a minute.
const inspectRounds = 30

// inspect looks at how each master is run, and warns of what can lose data. It logs in anew at each: connections that are open
// outlive a change of the password. The error wraps ErrCluster or ErrEviction if the store must not be used so. INFO is
// asked, since many managed instances refuse CONFIG.
func (s *Store) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	_, isCluster := s.client.(*redis.ClusterClient)
	var refused error
	err := s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		if err := logInAnew(ctx, c); notLoggedIn(err) {
			refused = fmt.Errorf("%w%s", err, s.hint(err))
		}
		text, err := c.Info(ctx, "memory", "persistence", "replication", "cluster").Result()
		if err != nil {
			return fmt.Errorf("lua: info: %w", err)
		}
		is := make(map[string]string)
		for row := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(row), ":")
			is[name] = value
		}
		if is["cluster_enabled"] == "1" && !isCluster {
			return fmt.Errorf("%w: %s serves a part of the zones only; begin the URL with redis+cluster:// or rediss+cluster://",
				ErrCluster, c.Options().Addr)
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
	if before := s.loginRefused.Swap(refused != nil); refused != nil && !before {
		s.logger.Error("redis refuses new connections of this server; those that are open go on until they are closed", "err", refused)
	}
	if errors.Is(err, ErrCluster) {
		s.finds(clusterReason, err)
		return err
	}
	evicts := errors.Is(err, ErrEviction)
	if !s.noEviction || err != nil && !evicts {
		return err
	}
	if before := s.evicts.Swap(evicts); evicts && !before {
		s.logger.Error("redis may remove keys of zones when its memory is full", "err", err)
	}
	return err
}

// logInAnew opens one more connection to the node of a client.
func logInAnew(ctx context.Context, c *redis.Client) error {
	o := *c.Options()
	o.PoolSize, o.MinIdleConns = 1, 0
	one := redis.NewClient(&o)
	return errors.Join(one.Ping(ctx).Err(), one.Close())
}

// notLoggedIn reports whether Redis refused who logs in.
func notLoggedIn(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGPASS") || redis.HasErrorPrefix(err, "NOAUTH")
}

// hint says which setting is wrong, where an error of a connection tells, with a colon before it. TLS alerts, and errors of all Sentinels,
// have no type of their own: they are known by their text.
func (s *Store) hint(err error) string {
	var unknown x509.UnknownAuthorityError
	bySentinels := strings.Contains(err.Error(), "all sentinels")
	switch {
	case bySentinels && notLoggedIn(err):
		return ": see sentinel_username and sentinel_password in QUEUE_REDIS_URL, which are not those of Redis"
	case bySentinels && errors.Is(err, redis.Nil):
		return ": they watch no master of the name that is the path of QUEUE_REDIS_URL"
	case notLoggedIn(err):
		return ": see the user and the password in QUEUE_REDIS_URL, QUEUE_REDIS_USER_FILE and QUEUE_REDIS_PASSWORD_FILE"
	case errors.As(err, &unknown):
		return ": name the authority that signed its certificate in QUEUE_REDIS_CA"
	case strings.HasSuffix(err.Error(), "tls: certificate required"), strings.HasSuffix(err.Error(), "tls: handshake failure"):
		return ": it asks for a client's certificate: set QUEUE_REDIS_CERT_FILE and QUEUE_REDIS_KEY_FILE"
	case errors.Is(err, io.EOF) && !s.tls && !s.answered.Load():
		return ": it closes each connection, as a Redis with TLS does: begin QUEUE_REDIS_URL with rediss instead of redis"
	case errors.Is(err, context.DeadlineExceeded) && s.tls && !s.answered.Load():
		return ": if it speaks no TLS at this port, begin QUEUE_REDIS_URL with redis instead of rediss"
	}
	return ""
}

// warn says something of a node, once.
func (s *Store) warn(what string, c *redis.Client) {
	if _, said := s.warned.LoadOrStore(what+c.Options().Addr, true); !said {
		s.logger.Warn("this redis can lose data", "redis", c.Options().Addr, "because", what)
	}
}
