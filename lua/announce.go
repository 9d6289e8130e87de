package lua

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// hereFor is how long a server counts as here after it last said so: ten
	// rounds, so that a fail-over makes nobody seem gone.
	hereFor = 10 * time.Second
	// announceEvery is how often a server says that it is here, and strangerEvery how
	// often one with other secrets tries to. Less often: of those who come back
	// when Redis was away, the servers that had served are first.
	announceEvery = time.Second
	strangerEvery = 3 * time.Second
)

// announcement is what a server says of itself to the others.
type announcement struct {
	name, secrets string
	stop          chan struct{}
}

func newAnnouncement(fingerprints []string) *announcement {
	return &announcement{name: rand.Text(), secrets: strings.Join(fingerprints, " "), stop: make(chan struct{})}
}

// serversKey says which servers are here.
func (s *Store) serversKey() string { return s.prefix + "servers" }

// announce tells the other servers that this one is here, unless they have other
// secrets. If Redis does not answer, what was found before stays.
func (s *Store) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	reply, err := s.run(ctx, announceScript, []string{s.serversKey()},
		s.clock(), s.announced.name, hereFor.Milliseconds(), s.announced.secrets)
	here, ok := reply.(int64)
	switch {
	case err != nil:
		return err
	case ok && here > 0:
		s.answered.Store(true)
		s.here.Store(here)
		s.finds(secretsReason, nil)
		return s.shareVisitorKey(ctx)
	case ok:
		s.finds(secretsReason, fmt.Errorf("lua: %w: set the same QUEUE_SECRET on all, or stop the others; "+
			"to rotate, one step at a time: docs/operate/secrets.md", line.ErrSecrets))
	default:
		return fmt.Errorf("lua: announce: reply is %v", reply)
	}
	return nil
}

// Servers is how many servers share the store, this one included, as heard within the last seconds; 0 if Redis never answered.
func (s *Store) Servers() int64 { return s.here.Load() }

// visitorKeyKey has the key by which a clientId becomes an id, in hexadecimal.
func (s *Store) visitorKeyKey() string { return s.prefix + "visitor-key" }

// shareVisitorKey has this server use the visitors' key that is in Redis. If there is none, it writes its own: that of
// the first server, or the one that it had used before Redis lost it.
func (s *Store) shareVisitorKey(ctx context.Context) error {
	if s.visitors == nil {
		return nil
	}
	own := hex.EncodeToString(s.visitors.VisitorKey())
	kept, err := s.client.SetArgs(ctx, s.visitorKeyKey(), own, redis.SetArgs{Mode: "NX", Get: true}).Result()
	switch {
	case errors.Is(err, redis.Nil), err == nil && kept == own:
		return nil
	case err != nil:
		return fmt.Errorf("lua: visitor key: %w", err)
	}
	key, err := hex.DecodeString(kept)
	if err == nil {
		err = s.visitors.UseVisitorKey(key)
	}
	if err != nil {
		return fmt.Errorf("lua: visitor key: %w", err)
	}
	return nil
}

// keepAnnouncing announces the server until Close.
func (s *Store) keepAnnouncing() {
	ctx, failing := context.Background(), false
	for round := 1; ; round++ {
		wait := announceEvery
		if s.SecretsDiffer() != nil {
			wait = strangerEvery
		}
		select {
		case <-s.announced.stop:
			return
		case <-time.After(wait):
			err := s.announce(ctx)
			if err != nil && !failing {
				s.logger.Warn("cannot tell other servers of this Redis which secrets are in use", "err", err)
			}
			if failing = err != nil; round%inspectRounds == 0 {
				_ = s.inspect(ctx) // it logs what it finds
			}
		}
	}
}

// withdraw takes this server's name off, so that one with other secrets need not wait.
func (s *Store) withdraw() {
	close(s.announced.stop)
	s.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.call)
	defer cancel()
	if err := s.client.HDel(ctx, s.serversKey(), s.announced.name).Err(); err != nil {
		s.logger.Debug("this server counts as here for a while", "for", hereFor, "err", err)
	}
}

// reason says what of the store this server must not serve.
type reason string

// The reasons; a document's is its name.
const (
	secretsReason reason = "secrets"
	zonesReason   reason = "zones"
	clusterReason reason = "cluster"
)

// unready are the reasons why this server must not serve what is in the store, as
// they were found last.
type unready struct {
	mu    sync.Mutex
	found map[reason]error
}

// finds notes a reason, or that it is no more. The log says so once.
func (s *Store) finds(r reason, err error) {
	s.unready.mu.Lock()
	defer s.unready.mu.Unlock()
	before := s.unready.found[r]
	s.unready.found[r] = err
	switch {
	case err != nil && before == nil:
		s.logger.Error("this server does not serve: it is not ready until that has changed", "err", err)
	case err == nil && before != nil:
		s.logger.Info("what kept this server from serving is over")
	}
}

// unfit is why this server must not get traffic, if there is a reason.
func (s *Store) unfit() error {
	s.unready.mu.Lock()
	defer s.unready.mu.Unlock()
	return errors.Join(slices.Collect(maps.Values(s.unready.found))...)
}

// SecretsDiffer returns an error that wraps line.ErrSecrets while servers that were here
// before have other secrets: visitors' tokens would seem invalid to this one. Else
// nil. It asks nothing of Redis.
func (s *Store) SecretsDiffer() error {
	s.unready.mu.Lock()
	defer s.unready.mu.Unlock()
	return s.unready.found[secretsReason]
}
