package history

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// atLeast: a zone in which nothing happens has a row so often, in minutes, so that whoever reads a time finds what to count
	// from within the day before.
	atLeast = 12 * 60
	// mostPending is how many rows of a zone wait for a store that is away, two hours' or less; older ones are dropped, and are a gap.
	mostPending = 240
	// writeTimeout bounds the writing of one zone's rows.
	writeTimeout = 2 * time.Second
	// longestAbsent is for how many looks in a row, one a second, a zone is remembered that the watch does not see.
	longestAbsent = 3600
	// later is how long after its minute a server offers the row of the minute in which it began, in milliseconds: servers that saw it whole
	// come first.
	later = 5000
)

// Options of a Recorder.
type Options struct {
	Watch *watch.Watch
	Store store.Historian
	// Refused returns how many requests of a zone this server has refused since it was started, by code.
	Refused func(zoneID string) map[string]int64
	// Keep is for how long rows are kept.
	Keep   time.Duration
	Logger *slog.Logger
}

// Recorder makes the rows of all zones.
type Recorder struct {
	Options
	// name tells the rows of this process from those of others.
	name    string
	zones   map[string]*recorded
	failing bool
	runs    background.Group
}

// recorded is the minute of a zone that has not ended yet.
type recorded struct {
	minute int64
	row
	// quiet is for how many minutes there was no row, since nothing happened.
	quiet int
	// began are the totals and waits when the minute began, last what was seen latest.
	began     line.Totals
	waitsThen []int64
	last      line.Stats
	refused   map[string]int64
	pending   []store.Minute
	// hold is when the rows may be offered, in Unix milliseconds on the zone's clock; absent counts the looks without the zone.
	hold   int64
	absent int
}

// New returns a recorder that does not run yet.
func New(o Options) *Recorder {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Recorder{Options: o, name: strings.ReplaceAll(uuid.NewString(), "-", "")[:8], zones: make(map[string]*recorded)}
}

// Start records until Stop.
func (r *Recorder) Start(ctx context.Context) {
	r.runs.Start(ctx, func(ctx context.Context) {
		for tick := int64(0); ; {
			var err error
			if tick, err = r.Watch.Wait(ctx, tick); err != nil {
				return
			}
			r.look(ctx)
		}
	})
}

// Stop ends the recording. The minute that has not ended yet gets no row.
func (r *Recorder) Stop() { r.runs.Stop() }

// look takes in what the watch has seen in its latest round, and writes the rows of the minutes that have ended.
func (r *Recorder) look(ctx context.Context) {
	there := make(map[string]*recorded, len(r.zones))
	for settings, stats := range r.Watch.Last() {
		z := r.zones[settings.ZoneID]
		if z == nil {
			z = &recorded{refused: r.Refused(settings.ZoneID)}
		}
		there[settings.ZoneID], z.absent = z, 0
		z.see(settings, stats, func() map[string]int64 { return r.Refused(settings.ZoneID) }, r.name)
		r.write(ctx, settings.ZoneID, z)
	}
	for id, z := range r.zones { // a zone whose store is away, or one that was deleted
		if there[id] == nil && z.absent < longestAbsent {
			z.absent++
			there[id] = z
		}
	}
	r.zones = there
}

// write gives the store the rows that wait. Those that it does not take are offered again a second later.
func (r *Recorder) write(ctx context.Context, zoneID string, z *recorded) {
	if len(z.pending) == 0 || z.last.State.NowMillis < z.hold {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := r.Store.KeepMinutes(ctx, zoneID, r.Keep, z.pending)
	if err == nil {
		z.pending = nil
	}
	if failed := err != nil; failed != r.failing {
		if r.failing = failed; failed {
			r.Logger.Warn("the minutes of zones are not kept; that is tried again each second", "zone", zoneID, "err", err)
		} else {
			r.Logger.Info("the minutes of zones are kept again", "zone", zoneID)
		}
	}
}

// see takes in one look at the zone.
func (z *recorded) see(settings zone.Settings, stats line.Stats, refused func() map[string]int64, by string) {
	minute := stats.State.NowMillis / time.Minute.Milliseconds()
	if minute > z.minute {
		if z.minute > 0 {
			z.end(refused(), by)
		}
		if minute != z.minute+1 { // the server has begun, or the store was away
			z.row, z.quiet = row{base: &stats.Totals}, 0
			z.last = stats
		}
		z.minute, z.began, z.waitsThen = minute, z.last.Totals, z.last.Waits
		z.waiting, z.inside = 0, 0
	}
	z.last = stats
	z.waiting, z.inside = max(z.waiting, stats.State.Waiting), max(z.inside, stats.State.Inside)
	z.perMinute, z.maxInside, z.mode, z.estimateMillis = settings.PerMinute, settings.MaxInside, settings.Mode, stats.EstimateMillis
}

// end makes the rows of the minute that has ended.
func (z *recorded) end(refused map[string]int64, by string) {
	more := make(map[string]int64)
	for code, n := range refused {
		if n > z.refused[code] {
			more[code] = n - z.refused[code]
		}
	}
	if z.refused = refused; len(more) > 0 {
		if text, err := json.Marshal(more); err == nil {
			z.pending = append(z.pending, store.Minute{Minute: z.minute, By: by, Row: text})
		}
	}
	z.totals = z.last.Totals
	then, now := z.began, z.totals
	then.Polls, now.Polls = 0, 0
	if then == now && z.waiting == 0 && z.inside == 0 && z.quiet < atLeast {
		z.quiet++
		return
	}
	if z.base != nil && z.quiet == 0 { // the minute in which the server began
		z.hold = (z.minute+1)*time.Minute.Milliseconds() + later
	}
	z.waits = waitsOf(between(z.waitsThen, z.last.Waits))
	z.pending = append(z.pending, store.Minute{Minute: z.minute, Row: z.appendRow(nil)})
	z.pending = z.pending[max(0, len(z.pending)-mostPending):]
	z.row, z.quiet = row{}, 0
}

// between are the counts by bucket that were added. A count that fell began anew.
func between(was, now []int64) []int64 {
	out := slices.Clone(now)
	for bucket, n := range was {
		if bucket < len(out) && out[bucket] >= n {
			out[bucket] -= n
		}
	}
	return out
}
