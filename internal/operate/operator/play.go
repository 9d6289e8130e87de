package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

// ErrBusy: this server plays an event already. Each takes a core for seconds, which visitors must not miss.
var ErrBusy = errors.New("operator: another event is being played")

const (
	// MaxPlayed is how many may gather for an event that a server plays; more are for
	// queue-server simulate --event.
	MaxPlayed = 10_000
	// playTimeout bounds how long that takes a server's core.
	playTimeout = 15 * time.Second
)

// Play plays an event of a zone in virtual time, as queue-server simulate --event does. It changes
// nothing. It returns an error that wraps simulate.ErrConfig, ErrBusy, or context.DeadlineExceeded
// where that would take longer than this server can spare, and ends with ctx.
func (s *Service) Play(ctx context.Context, c simulate.EventConfig) (simulate.EventReport, error) {
	if c.Gather > MaxPlayed {
		return simulate.EventReport{}, fmt.Errorf("%w: at most %d can gather here", simulate.ErrConfig, MaxPlayed)
	}
	if !s.playing.CompareAndSwap(false, true) {
		return simulate.EventReport{}, ErrBusy
	}
	defer s.playing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	report, err := simulate.PlayEvent(ctx, c)
	if err != nil {
		return simulate.EventReport{}, fmt.Errorf("operator: play an event: %w", err)
	}
	return report, nil
}
