package console

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

func TestForecastSays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC)
	millis := func(n int64) *int64 { return &n }
	done := simulate.Forecast{
		Waiting: 12_340, Complete: true, LastInMillis: millis(822_000), MedianWaitMillis: millis(400_000), P95WaitMillis: millis(790_000),
		Admitted: 12_000, PollsPerSecondMean: 1234.5, PollsPerSecondPeak: 3000, JoinsPerMinute: 600, LeavesPerMinute: 12.34,
	}
	long := done
	long.Complete, long.LastInMillis, long.MedianWaitMillis, long.P95WaitMillis = false, nil, nil, nil
	const rest = "It means 1,235 polls a second on average, 3,000 at most.\n" +
		"Supposed: 600 more join a minute, and 12 leave a minute, as now.\n"
	for name, tt := range map[string]struct {
		f         simulate.Forecast
		perMinute int64
		want      string
	}{
		"done": {done, 900, "At 900 a minute the last of the 12,340 waiting now is in at about Sat 21 Nov 2026 12:12:42 UTC, in 14 min.\n" +
			"From now, half of them wait 6 min 40 s or less, and 95 % wait 13 min or less.\n12,000 of them enter; 340 leave before.\n" + rest},
		"not within a day": {long, 5, "MIND: At 5 a minute, some of the 12,340 waiting now are not in within a day.\n" + rest},
		"held":             {long, 0, "At 0 a minute nobody of the 12,340 waiting enters.\n" + rest},
		"nobody":           {simulate.Forecast{Complete: true}, 900, "Nobody waits now, so there is nothing to run.\n"},
	} {
		if got := forecastSays(tt.f, tt.perMinute, at).String(); got != tt.want {
			t.Errorf("%s:\n%swant\n%s", name, got, tt.want)
		}
	}
	s := simulate.Series{
		AtMillis: []int64{0, 500, 1000}, Waiting: []int64{3000, 2000, 0}, Admitted: []int64{0, 1000, 3000}, PollsPerSecond: []float64{1.2, 3, 0},
	}
	var v dryView
	v.draw(s, at)
	if got := v.Plot; len(got[0]) != 3 || got[0][1]-got[0][0] != 0.5 || got[1][0] != 3000 || got[2][2] != 3000 {
		t.Errorf("columns: %v", got)
	}
	if got := v.Points; len(got) != 3 || got[1].Admitted != "1,000" || got[1].Polls != "3.0" {
		t.Errorf("points: %+v", got)
	}
}
