package simulate

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// shop is what visitors do inside a zone with a cap: each asks with its session until it goes, after a time that is
// exponentially distributed.
type shop struct {
	server interface {
		Here(zoneID string, admission [16]byte, until time.Time) (over bool, donePaths []string)
		End(zoneID string, admission [16]byte)
		TellInsideOnce(ctx context.Context)
	}
	stay time.Duration
	// done is the share of those who go that the shop reports.
	done float64
	// there is how many people are inside.
	there int64
	// most is the most admissions that were inside in any second. counted and people are the sums over the seconds, but for
	// the first minute, in which somebody waits.
	most, seconds, counted, people int64
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
	if c.now >= v.leavesAt {
		in.there--
		if c.rng.Float64() < in.done {
			in.server.End(c.zone.ZoneID, a)
		}
		return never
	}
	session := c.zone.Session().Microseconds()
	if c.now >= v.until-session/2 { // a new one, when half of it is over
		v.until = c.now + session
	}
	in.server.Here(c.zone.ZoneID, a, time.UnixMicro(v.until))
	return min(v.leavesAt, c.now+askEvery.Microseconds())
}

// count counts those inside, once a second.
func (c *crowd) count(ctx context.Context) error {
	in := c.shop
	in.server.TellInsideOnce(ctx)
	stats, err := c.room.Stats(ctx, c.zone.ZoneID)
	if err != nil {
		return err
	}
	in.most = max(in.most, stats.State.Inside)
	if c.present > 0 && c.now-c.start > time.Minute.Microseconds() {
		in.seconds++
		in.counted += stats.State.Inside
		in.people += in.there
	}
	return nil
}

// report fills in what was seen of those inside.
func (v *shop) report(out *Report, limit int64) {
	out.MaxInside, out.MostInside, out.CapacityUsed = limit, v.most, -1
	if all := float64(v.seconds * limit); all > 0 {
		out.InsideUsed, out.InsidePeople = float64(v.counted)/all, float64(v.people)/all
	}
}
