package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// EventConfig says which event is played, and who comes.
type EventConfig struct {
	// Zone has the event; what else it lists is left out.
	Zone zone.Settings
	// Event is its name; "": the one that is listed to open first.
	Event string
	// Gather is how many come while people gather, 1 to 5,000,000. Where nobody gathers, or
	// preQueueAt is farther back, they come evenly Within that time before people settle, or
	// within ten seconds of the opening.
	Gather int
	Within time.Duration
	// After is how many come evenly in the two minutes after people have settled.
	After int
	// Leave is the share that goes away silently, 0 to 1, each at a moment between coming and its turn.
	Leave float64
	// Stay and Done are as in Config.
	Stay time.Duration
	Done float64
	// Seed makes the run repeatable, but for who stands where in a draw.
	Seed uint64
}

const (
	// DefaultWithin is how long before people settle they come.
	DefaultWithin = 10 * time.Minute
	// lead is how long before people gather the run begins: the server announces the event.
	lead = 10 * time.Second
	// horizon is for how long after the opening an event is played.
	horizon = 24 * time.Hour
	// tickEvery is how often a server looks what is due of events.
	tickEvery = 250 * time.Millisecond
	// rush is how long it takes those to come who come when nobody gathers; after, those who come behind them.
	rush  = 10 * time.Second
	after = 2 * time.Minute
	// firstSecond and lastSecond are the seconds of a report, from the opening on.
	firstSecond, lastSecond = -60, 120
)

// Validate reports what is out of range.
func (c EventConfig) Validate() error {
	fault := func(text string) error { return fmt.Errorf("%w: %s", ErrConfig, text) }
	switch {
	case c.Gather < 1 || c.After < 0 || c.Gather+c.After > maxVisitors:
		return fault("between 1 and 5,000,000 can come")
	case c.Leave < 0 || c.Leave > 1:
		return fault("leave is a percentage between 0 and 100")
	case c.Within <= 0 || c.Within > horizon:
		return fault("visitors must gather within 1s to 24h")
	}
	z, err := c.zone()
	if err != nil {
		return err
	}
	if err := c.Zone.Validate(); err != nil {
		return err
	}
	return checkStay(z.WithEvent(z.Events[0]), c.Stay, c.Done)
}

// zone is the zone with nothing but the event in its list.
func (c EventConfig) zone() (zone.Settings, error) {
	z := c.Zone
	z.EventState, z.Events = event.State{}, nil
	for _, e := range c.Zone.Events {
		earlier := len(z.Events) == 0 || e.Listed().OpensAtMillis < z.Events[0].Listed().OpensAtMillis
		if e.Name == c.Event || c.Event == "" && earlier {
			z.Events = []event.Event{e}
		}
	}
	if len(z.Events) == 0 {
		return z, fmt.Errorf("%w: zone %s lists no event %q", ErrConfig, z.ZoneID, c.Event)
	}
	return z, nil
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
	// TooEarly were let in before the opening: none.
	TooEarly int `json:"tooEarly"`
	// FirstWindows is the share of capacity used in the first two windows; of those who wait, where they are fewer.
	FirstWindows float64 `json:"firstWindows"`
	// In says when how many were in.
	In []In `json:"in"`
	// Seconds are those from a minute before the opening to two after it.
	Seconds []Second `json:"seconds"`
}

// In is when a number of visitors was in, in milliseconds from the opening on.
type In struct {
	// Share of the admitted is the first N.
	Share float64 `json:"share"`
	N     int     `json:"n"`
	AtMs  int64   `json:"atMs"`
}

// Second is one of the run.
type Second struct {
	// At is in seconds from the opening on, when it begins.
	At int `json:"at"`
	// Present wait then who have not left. Polls are made in it, and Admitted let in.
	Present  int `json:"present"`
	Polls    int `json:"polls"`
	Admitted int `json:"admitted"`
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
	cfg                     EventConfig
	gathers, settles, opens int64
	seconds                 []Second
}

// PlayEvent plays an event until everybody is in or gone, or a day has passed since it opened.
func PlayEvent(ctx context.Context, cfg EventConfig) (EventReport, error) {
	if err := cfg.Validate(); err != nil {
		return EventReport{}, err
	}
	z, _ := cfg.zone() // Validate has looked
	at := z.Events[0].Listed()
	p := &played{
		crowd: newCrowd(cfg.Seed, z, at.PreQueueAtMillis*1000-lead.Microseconds()), cfg: cfg,
		gathers: at.PreQueueAtMillis * 1000, settles: at.SettlesAtMillis * 1000, opens: at.OpensAtMillis * 1000,
	}
	p.end = p.opens + horizon.Microseconds()
	store, err := memory(p.clock)
	if err != nil {
		return EventReport{}, fmt.Errorf("simulate: %w", err)
	}
	seeds := drawSeeds{p.rng}
	server := registry.New(registry.Options{Store: store, DrawSeeds: seeds, Now: p.clock})
	steps := schedule.New(schedule.Options{Zones: server, Seeds: seeds})
	p.room = server
	p.enters(server, p.opens, z.WithEvent(z.Events[0]), cfg.Stay, cfg.Done)
	p.populate()
	p.every(p.start, tickEvery, func(ctx context.Context) error {
		server.RunOnce(ctx)
		steps.RunOnce(ctx)
		return nil
	})
	p.every(p.start, time.Second, func(ctx context.Context) error {
		_, _ = server.Observe(ctx, p.zone.ZoneID) // without it, the last table goes on
		p.sample()
		return nil
	})
	p.every(p.start, sweepEvery, p.sweep)
	if err = p.put(ctx, z); err == nil {
		err = p.play(ctx)
	}
	if err == nil {
		err = p.takePlaces(ctx, seeds)
	}
	server.Stop()
	if err := errors.Join(err, store.Close()); err != nil {
		return EventReport{}, fmt.Errorf("simulate: %w", err)
	}
	return p.result(), nil
}

// populate makes the visitors, and says when they come and leave.
func (p *played) populate() {
	from, upto := max(p.gathers, p.settles-p.cfg.Within.Microseconds()), p.settles
	if p.gathers >= p.opens {
		from, upto = p.opens, p.opens+rush.Microseconds()
	}
	perMinute := float64(max(1, p.zone.WithEvent(p.zone.Events[0]).PerMinute))
	longest := float64(p.cfg.Gather+p.cfg.After) * (1 - p.cfg.Leave/2) / perMinute * float64(time.Minute.Microseconds())
	for i := range p.cfg.Gather + p.cfg.After {
		at, span := from, upto-from
		if i >= p.cfg.Gather {
			at, span = upto, after.Microseconds()
		}
		at += int64(p.rng.Float64() * float64(span))
		v := visitor{goesDark: never, sampled: sampled(i, p.cfg.Gather+p.cfg.After)}
		if p.rng.Float64() < p.cfg.Leave {
			turn := max(at, p.opens) + int64(p.rng.Float64()*longest)
			v.leavesAt = at + 1 + int64(p.rng.Float64()*float64(turn-at))
		}
		p.comes(at, v)
	}
}

// sample begins a second of the report, and ends the one before.
func (p *played) sample() {
	at := int((p.now - p.opens) / time.Second.Microseconds())
	if n := len(p.seconds); n > 0 && p.seconds[n-1].At == at-1 {
		p.seconds[n-1].Polls += p.allPolls
		p.seconds[n-1].Admitted += len(p.admitted)
	}
	if at >= firstSecond && at <= lastSecond {
		p.seconds = append(p.seconds, Second{At: at, Present: p.present, Polls: -p.allPolls, Admitted: -len(p.admitted)})
	}
}

// takePlaces gives the visitors the places of the draw.
func (p *played) takePlaces(ctx context.Context, seeds drawSeeds) error {
	z, err := p.room.Zone(ctx, p.zone.ZoneID)
	for _, d := range z.EventState.Draws {
		seed, _ := seeds.Seed(z.ZoneID, d)
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
		OpensAt: time.UnixMicro(p.opens).UTC(), Waits: p.remaining, Seconds: p.seconds,
	}
	if n := len(out.Seconds); n > 0 { // the last was not ended
		out.Seconds = out.Seconds[:n-1]
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

// tenSeconds is how many seconds a line of the table has.
const tenSeconds = 10

// Print writes the report for people.
func (o EventReport) Print(w io.Writer) error {
	if err := pages.ExecuteTemplate(w, "event", o); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\nfrom the opening on\twait\tpolls/s\tmost\tlet in/s\t") // Flush tells
	for ten := range slices.Chunk(o.Seconds, tenSeconds) {
		polls, most, in := 0, 0, 0
		for _, s := range ten {
			polls, most, in = polls+s.Polls, max(most, s.Polls), in+s.Admitted
		}
		_, _ = fmt.Fprintf(table, "%+d to %+d s\t%d\t%.0f\t%d\t%.1f\t\n", ten[0].At, ten[0].At+len(ten), ten[0].Present,
			float64(polls)/float64(len(ten)), most, float64(in)/float64(len(ten)))
	}
	return table.Flush()
}
