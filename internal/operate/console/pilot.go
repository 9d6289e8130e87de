package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/steer"
)

// pilotView is the tab of the autopilot: what was seen of the site and the steps, on one axis of time.
type pilotView struct {
	steer.View
	now time.Time
}

// The chart: times above, those inside below.
const (
	chartWide, chartHigh = 720.0, 110.0
	chartTop, chartBelow = 20.0, 150.0
)

// MostMillis is at the top of the upper part, MostInside at that of the lower.
func (v pilotView) MostMillis() int64 {
	most := v.PilotP95Millis * 5 / 4
	for _, l := range v.Looks {
		most = max(most, int64(l.P95Millis)+1)
	}
	return most
}

// MostInside is the most that were inside or might have been.
func (v pilotView) MostInside() int64 {
	most := max(1, v.MaxInside)
	for _, l := range v.Looks {
		most = max(most, l.Inside)
	}
	for _, s := range v.Steps {
		if v.x(s.AtMillis) >= 0 {
			most = max(most, s.From, s.To)
		}
	}
	return most
}

// x is where a time is, in Unix milliseconds; below 0 if it is not in the last hour.
func (v pilotView) x(millis int64) float64 {
	return chartWide - chartWide*float64(v.now.UnixMilli()-millis)/float64(time.Hour.Milliseconds())
}

func y(top, value float64, most int64) float64 { return top + chartHigh*(1-value/float64(most)) }

// TimeLine is the path of the times that the site took.
func (v pilotView) TimeLine() string {
	return v.line(func(s pilot.Sight) float64 { return y(chartTop, s.P95Millis, v.MostMillis()) })
}

// InsideLine is the path of how many were inside.
func (v pilotView) InsideLine() string {
	return v.line(func(s pilot.Sight) float64 { return y(chartBelow, float64(s.Inside), v.MostInside()) })
}

// line draws the looks, with a gap where there was no signal.
func (v pilotView) line(at func(pilot.Sight) float64) string {
	var path strings.Builder
	last := int64(0)
	for _, s := range v.Looks {
		if v.x(s.AtMillis) < 0 {
			continue
		}
		to := 'L'
		if s.AtMillis-last > 2*pilot.Every.Milliseconds() {
			to = 'M'
		}
		last = s.AtMillis
		fmt.Fprintf(&path, "%c%.1f %.1f", to, v.x(s.AtMillis), at(s))
	}
	return path.String()
}

// BoundLine is the path of the bound on times.
func (v pilotView) BoundLine() string {
	return fmt.Sprintf("M0 %.1fH%.0f", y(chartTop, float64(v.PilotP95Millis), v.MostMillis()), chartWide)
}

// CapLine is the path of the cap, by the steps that were made.
func (v pilotView) CapLine() string {
	limit, path := v.MaxInside, ""
	for _, s := range v.Steps { // the newest first
		if s.Advice {
			continue
		}
		if v.x(s.AtMillis) < 0 {
			break
		}
		path = fmt.Sprintf("H%.1fV%.1f", v.x(s.AtMillis), y(chartBelow, float64(s.To), v.MostInside())) + path
		limit = s.From
	}
	return fmt.Sprintf("M0 %.1f", y(chartBelow, float64(limit), v.MostInside())) + path + fmt.Sprintf("H%.0f", chartWide)
}
