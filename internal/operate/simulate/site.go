package simulate

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// site is a site behind the zone, which the zone's autopilot steers by: as package steer does, with one server.
type site struct {
	pilot.Site
	looks []pilot.Sight
	steps []pilot.Step
	// now is the look that goes on.
	now pilot.Sight
	// seconds are those judged, within how many of them were within the bounds, p95 the highest, good and best the sums of what succeeded and could have.
	seconds, within int
	p95, good, best float64
	// least and most are those of the cap.
	least, most int64
}

// judgedAfter is from when on a site is judged: before, the crowd fills it.
const judgedAfter = 2 * time.Minute

// stands has a site behind the zone with a cap.
func (c *crowd) stands(s pilot.Site) {
	if s.AtOnce > 0 && c.shop != nil {
		c.shop.site = &site{Site: s, least: c.zone.MaxInside, most: c.zone.MaxInside}
		c.every(c.start, time.Second, c.answers)
	}
}

// answers has the site answer those inside for a second.
func (c *crowd) answers(ctx context.Context) error {
	s, millis := c.shop.site, c.now/1000
	p95, failed, perSecond := s.At(c.shop.there)
	seconds := pilot.Every.Seconds()
	s.now.P95Millis = max(s.now.P95Millis, p95)
	s.now.ErrorPercent += 100 * failed / seconds
	if c.present > 0 && c.now > c.start+judgedAfter.Microseconds() {
		s.seconds++
		if p95 <= float64(c.zone.PilotP95Millis) && 100*failed <= float64(c.zone.PilotErrorPercent) {
			s.within++
		}
		s.p95, s.good, s.best = max(s.p95, p95), s.good+perSecond, s.best+s.Best()
	}
	if c.zone.Pilot != zone.PilotSteer || (millis/1000+1)%int64(seconds) != 0 {
		return nil
	}
	stats, err := c.server.Stats(ctx, c.zone.ZoneID)
	if err != nil {
		return err
	}
	s.now.AtMillis, s.now.Inside = millis, stats.State.Inside
	s.looks, s.now = append(s.looks, s.now), pilot.Sight{}
	step, ok := pilot.Decide(&c.zone, c.zone.PilotState, c.zone.MaxInside, s.looks, 0, millis)
	if !ok {
		return nil
	}
	s.steps, c.zone.MaxInside, c.zone.PilotState = append(s.steps, step), step.To, step
	s.least, s.most, c.shop.limit = min(s.least, step.To), max(s.most, step.To), max(c.shop.limit, step.To)
	return c.put(ctx, c.zone)
}
