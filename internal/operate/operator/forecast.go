package operator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrBusy: this server plays an event already. Each takes a core for seconds, which visitors must not miss.
var ErrBusy = errors.New("operator: another event is being played")

// Forecast is what would become of a zone's line with other settings.
type Forecast struct {
	// At is when now is, in Unix milliseconds on the zone's clock.
	At int64 `json:"at"`
	// Settings are those that were tried.
	Settings zone.Settings `json:"settings"`
	simulate.Forecast
}

// Forecast tries, on the line as it is now, those settings that the JSON object
// body names, as in Patch; it changes nothing. Newcomers and those who leave are
// supposed to go on at the rates of the last minute. It returns a *serve.FieldError or a *serve.InvalidError.
func (s *Service) Forecast(ctx context.Context, zoneID string, body []byte) (Forecast, error) {
	was, err := s.Get(ctx, zoneID)
	if err != nil {
		return Forecast{}, err
	}
	settings, err := change(was, body)
	if err != nil {
		return Forecast{}, err
	}
	return s.ForecastOf(ctx, settings)
}

// ForecastOf is Forecast with all settings of the zone that they name.
func (s *Service) ForecastOf(ctx context.Context, settings zone.Settings) (Forecast, error) {
	stats, err := s.store.Stats(ctx, settings.ZoneID)
	if err != nil {
		return Forecast{}, fmt.Errorf("operator: forecast: %w", err)
	}
	line := simulate.Present{Settings: settings.InForce(), State: stats.State, StayMillis: settings.Session().Milliseconds()}
	if half := window.WaitQuantile(stats.Stays, 0.5); half > 0 {
		line.StayMillis = int64(float64(half) / math.Ln2) // of stays that are exponentially distributed
	}
	if seen, ok := s.seen.Latest(settings.ZoneID); ok {
		// All 0 where they are not known.
		line.JoinsPerMinute = seen.JoinsPerMinute
		line.DeparturesPerMinute, line.SweptPerMinute = seen.DeparturesPerMinute, seen.SweptPerMinute
	}
	return Forecast{At: stats.State.NowMillis, Settings: settings, Forecast: simulate.Predict(line)}, nil
}

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
