package simulate

import (
	"cmp"
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// shop is what visitors do inside a zone with a cap: each asks with its session until it goes, after a time that is
// exponentially distributed.
type shop struct {
	// limit is the cap, full the time from which it may be expected to be in use.
	limit, full   int64
	session, stay time.Duration
	// done is the share of those who go that the shop reports.
	done float64
	// there is how many people are inside.
	there int64
	// most is the most admissions that were inside in any second. counted and people are the sums over the seconds
	// after full in which somebody waits.
	// allowed is the sum of the caps of these seconds.
	most, seconds, counted, people, allowed int64
	site                                    *site
}

// enters has visitors be inside a zone with a cap, where the first may enter at that time. z is the zone from then on.
func (c *crowd) enters(at int64, z zone.Settings, stay time.Duration, done float64) {
	if z.MaxInside > 0 {
		c.shop = &shop{full: at + time.Minute.Microseconds(), limit: z.MaxInside, session: z.Session(), stay: stay, done: done}
		c.every(c.start, time.Second, c.count)
	}
}

// askEvery is how often somebody inside asks for something.
const askEvery = 10 * time.Second

// comesIn begins the visit of one who was admitted. It returns when the visitor asks again.
func (c *crowd) comesIn(v *visitor) (again int64) {
	if c.shop == nil {
		return never
	}
	c.shop.there++
	v.leavesAt = c.now + int64(c.rng.ExpFloat64()*float64(c.shop.stay.Microseconds()))
	v.until = 0
	return c.now + c.delay().Microseconds()
}

// visit is a request of somebody inside. It returns when the visitor asks again.
func (c *crowd) visit(v *visitor) (again int64) {
	in, a := c.shop, line.Admission{ID: v.place.ID, AtMillis: v.place.AdmittedAtMillis}.JTI(c.zone.ZoneID)
	byAdmission := c.zone.InsideBy == zone.InsideByAdmission
	if byAdmission && v.until > 0 && c.now >= v.until { // no gate renews the session
		v.leavesAt = c.now
	}
	if c.now >= v.leavesAt {
		in.there--
		if c.rng.Float64() < in.done {
			c.server.Known(c.zone.ZoneID).End(a)
		}
		return never
	}
	session := in.session.Microseconds()
	switch {
	case byAdmission:
		v.until = v.admitted + session
	case c.now >= v.until-session/2: // a new one, when half of it is over
		v.until = c.now + session
	}
	c.server.Known(c.zone.ZoneID).Here(a, time.UnixMicro(v.until))
	return min(v.leavesAt, c.now+askEvery.Microseconds())
}

// count counts those inside, once a second.
func (c *crowd) count(ctx context.Context) error {
	in := c.shop
	c.server.ReportInsideOnce(ctx)
	stats, err := c.server.Stats(ctx, c.zone.ZoneID)
	if err != nil {
		return err
	}
	in.most = max(in.most, stats.State.Inside)
	if c.present > 0 && c.now > in.full {
		in.seconds++
		in.allowed += cmp.Or(c.zone.MaxInside, in.limit) // that of an event is not the zone's own
		in.counted += stats.State.Inside
		in.people += in.there
	}
	return nil
}

// report fills in what was seen of those inside.
func (v *shop) report(out *Report) {
	out.MaxInside, out.MostInside, out.CapacityUsed = v.limit, v.most, -1
	if all := float64(v.allowed); all > 0 {
		out.InsideUsed, out.InsidePeople = float64(v.counted)/all, float64(v.people)/all
	}
	if s := v.site; s != nil {
		out.Site, out.SiteP95Millis, out.PilotSteps, out.LeastCap, out.MostCap = true, s.p95, len(s.steps), s.least, s.most
		out.SiteInBound, out.SiteUsed = float64(s.within)/max(1, float64(s.seconds)), s.good/max(1, s.best)
	}
}
