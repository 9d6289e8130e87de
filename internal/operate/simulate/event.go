package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// DefaultGathering is how long before people settle they come.
	DefaultGathering = 10 * time.Minute
	// lead is how long before people gather the run begins: the server announces the event.
	lead = 10 * time.Second
	// horizon is for how long after the opening an event is played.
	horizon = 24 * time.Hour
	// tickEvery is how often a server looks what is due of events.
	tickEvery = 250 * time.Millisecond
	// rush is how long it takes those to come who come when nobody gathers.
	rush = 10 * time.Second
)

// eventZone is the zone with nothing but the event in its list, or says what is wrong with it.
func (c Config) eventZone() (zone.Settings, error) {
	z := c.Zone
	z.EventState, z.Events = event.State{}, nil
	for _, e := range c.Zone.Events {
		earlier := len(z.Events) == 0 || e.Listed().OpensAtMillis < z.Events[0].Listed().OpensAtMillis
		if e.Name == c.Event || c.Event == "" && earlier {
			z.Events = []event.Event{e}
		}
	}
	switch {
	case len(z.Events) == 0:
		return z, fmt.Errorf("%w: zone %s lists no event %q", ErrConfig, z.ZoneID, c.Event)
	case c.Arrive == 0:
		return z, fmt.Errorf("%w: arrive must be longer than 0 for an event", ErrConfig)
	}
	if err := c.Zone.Validate(); err != nil {
		return z, err
	}
	if fault := z.StepFault(time.Time{}); fault != "" {
		return z, fmt.Errorf("%w: %s", ErrConfig, fault)
	}
	return z, c.checkCrowd(z.WithEvent(z.Events[0]))
}

// EventReport is what the dry run of an event showed. LastInMs of the report counts from the opening on.
type EventReport struct {
	Report
	ZoneID  string      `json:"zoneId"`
	Event   string      `json:"event"`
	Order   event.Order `json:"order"`
	OpensAt time.Time   `json:"opensAt"`
	// Gathered came before people settled. Waits wait still a day after the opening.
	Gathered int `json:"gathered"`
	Waits    int `json:"waits"`
	// TooEarly were admitted before the opening: none.
	TooEarly int `json:"tooEarly"`
	// FirstWindows is the share of capacity used in the first two windows; of those who wait, where they are fewer.
	FirstWindows float64 `json:"firstWindows"`
	// In says when how many were in.
	In []In `json:"in"`
}

// In is when a number of visitors was in, in milliseconds from the opening on.
type In struct {
	// Share of the admitted is the first N.
	Share float64 `json:"share"`
	N     int     `json:"n"`
	AtMs  int64   `json:"atMs"`
}

// drawSeeds makes the seeds of a run.
type drawSeeds struct{ rng *rand.Rand }

// Commit implements schedule.Seeds.
func (d drawSeeds) Commit(string) (nonce, commitment string) {
	nonce = fmt.Sprintf("%016x%016x", d.rng.Uint64(), d.rng.Uint64())
	return nonce, seedOf(nonce).Commitment()
}

// Seed implements schedule.Seeds.
func (drawSeeds) Seed(_ string, d event.Draw) (event.Seed, bool) { return seedOf(d.Nonce), true }

func seedOf(nonce string) (s event.Seed) {
	copy(s[:], nonce)
	return s
}

// played is an event under way. Times are in microseconds.
type played struct {
	*crowd
	cfg                     Config
	gathers, settles, opens int64
	seeds                   drawSeeds
}

// PlayEvent plays an event until everybody is in or gone, or a day has passed since it opened. The visitors come while people
// gather. Where nobody gathers, or preQueueAt is farther back, they come evenly over the Arrive before people settle, or over ten
// seconds from the opening on. Each that leaves does so at a moment between coming and its turn. Of the zone's list only the
// event is played; Dark, Changes and PollEvery are not used.
func PlayEvent(ctx context.Context, cfg Config) (EventReport, error) {
	z, err := cfg.eventZone()
	if err != nil {
		return EventReport{}, err
	}
	at := z.Events[0].Listed()
	p := &played{
		crowd: newCrowd(cfg.Seed, z, at.PreQueueAtMillis*1000-lead.Microseconds()), cfg: cfg,
		gathers: at.PreQueueAtMillis * 1000, settles: at.SettlesAtMillis * 1000, opens: at.OpensAtMillis * 1000,
	}
	p.end, p.seeds = p.opens+horizon.Microseconds(), drawSeeds{p.rng}
	if err := p.serves(p.seeds, nil); err != nil {
		return EventReport{}, err
	}
	steps := schedule.New(schedule.Options{Zones: p.server, Seeds: p.seeds})
	p.enters(p.opens, z.WithEvent(z.Events[0]), cfg.Stay, cfg.Done)
	p.populate()
	p.every(p.start, tickEvery, func(ctx context.Context) error {
		p.server.RunOnce(ctx)
		steps.RunOnce(ctx)
		return nil
	})
	if err := errors.Join(p.play(ctx), p.takePlaces(ctx), p.stop()); err != nil {
		return EventReport{}, fmt.Errorf("simulate: %w", err)
	}
	return p.result(), nil
}

// populate makes the visitors, and says when they come and leave.
func (p *played) populate() {
	from, upto := max(p.gathers, p.settles-p.cfg.Arrive.Microseconds()), p.settles
	if p.gathers >= p.opens {
		from, upto = p.opens, p.opens+rush.Microseconds()
	}
	perMinute := float64(max(1, p.zone.WithEvent(p.zone.Events[0]).PerMinute))
	longest := float64(p.cfg.Visitors) * (1 - p.cfg.Leave/2) / perMinute * float64(time.Minute.Microseconds())
	for i := range p.cfg.Visitors {
		at := from + int64(p.rng.Float64()*float64(upto-from))
		v := visitor{goesDark: never, sampled: sampled(i, p.cfg.Visitors)}
		if p.rng.Float64() < p.cfg.Leave {
			turn := max(at, p.opens) + int64(p.rng.Float64()*longest)
			v.leavesAt = at + 1 + int64(p.rng.Float64()*float64(turn-at))
		}
		p.comes(at, v)
	}
}

// takePlaces gives the visitors the places of the draw.
func (p *played) takePlaces(ctx context.Context) error {
	z, err := p.server.Zone(ctx, p.zone.ZoneID)
	for _, d := range z.EventState.Draws {
		seed, _ := p.seeds.Seed(z.ZoneID, d)
		for i := range p.visitors {
			if v := &p.visitors[i]; d.Holds(v.place.ArrivedAtMicros) {
				v.place.ScoreMicros = d.Score(seed, event.TicketOf(z.ZoneID, d.Event, v.place.ID))
			}
		}
	}
	return err
}

func (p *played) result() EventReport {
	listed := p.zone.Events[0]
	rates := window.RatesOf(p.zone.WithEvent(listed))
	out := EventReport{
		Report: p.report(rates, p.opens), ZoneID: p.zone.ZoneID, Event: listed.Name, Order: listed.Listed().Order,
		OpensAt: time.UnixMicro(p.opens).UTC(), Waits: p.remaining,
	}
	for i := range p.visitors {
		if v := &p.visitors[i]; v.joined > 0 && v.joined < p.settles {
			out.Gathered++
		}
	}
	opens := p.opens / 1000
	first, _ := slices.BinarySearch(p.admitted, opens)
	upto, _ := slices.BinarySearch(p.admitted, opens+2*rates.WindowMillis)
	if p.gathers < p.opens {
		out.TooEarly = first
	}
	if can := min(2*rates.Limit, int64(len(p.admitted)-first)); can > 0 {
		out.FirstWindows = float64(upto-first) / float64(can)
	}
	for _, share := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1} {
		if all := len(p.admitted); all > 0 {
			n := max(1, int(share*float64(all)))
			out.In = append(out.In, In{share, n, p.admitted[n-1] - opens})
		}
	}
	return out
}

// Print writes the report for people.
func (o EventReport) Print(w io.Writer) error { return pages.ExecuteTemplate(w, "event", o) }
