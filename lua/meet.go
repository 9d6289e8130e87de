package lua

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// hereFor is how long a server counts as here after it last said so: ten
	// rounds, so that a fail-over makes nobody seem gone.
	hereFor = 10 * time.Second
	// meetEvery is how often a server says that it is here, and strangerEvery how
	// often one with other secrets tries to. Less often: of those who come back
	// when Redis was away, the servers that had served are first.
	meetEvery     = time.Second
	strangerEvery = 3 * time.Second
)

// guest is what a server says of itself to the others.
type guest struct {
	name, secrets string
	stop          chan struct{}
}

func newGuest(fingerprints []string) *guest {
	return &guest{name: rand.Text(), secrets: strings.Join(fingerprints, " "), stop: make(chan struct{})}
}

// serversKey says which servers are here.
func (s *Store) serversKey() string { return s.prefix + "servers" }

// meet tells the other servers that this one is here, unless they have other
// secrets. A Redis that does not answer leaves it at what was found before.
func (s *Store) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	reply, err := s.run(ctx, meetScript, []string{s.serversKey()},
		s.clock(), s.guest.name, hereFor.Milliseconds(), s.guest.secrets)
	switch {
	case err != nil:
		return err
	case reply == int64(0):
		s.finds(&s.misfits.secrets, nil)
	case reply == int64(1):
		s.finds(&s.misfits.secrets, fmt.Errorf("lua: %w: set the same QUEUE_SECRET on all, or stop the others; "+
			"to rotate, one step at a time: docs/operating.md", line.ErrSecrets))
	default:
		return fmt.Errorf("lua: meet: reply is %v", reply)
	}
	return nil
}

// stay meets the other servers until Close, and then takes this server's name off, so
// that one with other secrets need not wait.
func (s *Store) stay() {
	ctx, failing := context.Background(), false
	for {
		wait := meetEvery
		if s.Strange() != nil {
			wait = strangerEvery
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.guest.stop:
			timer.Stop()
			ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
			defer cancel()
			if err := s.client.HDel(ctx, s.serversKey(), s.guest.name).Err(); err != nil {
				s.logger.Debug("this server counts as here for a while", "for", hereFor, "err", err)
			}
			return
		case <-timer.C:
			err := s.meet(ctx)
			if err != nil && !failing {
				s.logger.Warn("cannot tell other servers of this Redis which secrets are in use", "err", err)
			}
			failing = err != nil
		}
	}
}

// part ends stay, and waits for it.
func (s *Store) part() {
	close(s.guest.stop)
	s.work.Wait()
}
