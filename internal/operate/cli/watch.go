package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// minWatchEvery keeps a script from making a load test of a look.
	minWatchEvery = 100 * time.Millisecond
	// watchAtOnce is how many zones are asked for at a time.
	watchAtOnce = 8
	// watchTimeout is how long a screen may stand still before it says why.
	watchTimeout = 2 * time.Second
)

// watch is queue-server zones watch. It shows zones until ctx ends: as a table that is
// drawn anew on a terminal, else as a line a zone.
func (c *connection) watch() *cobra.Command {
	var every time.Duration
	var count int
	command := c.command("watch [ZONE]...", "Zones at this moment, every second, until you end it. All, also those that are made meanwhile, when none is named.",
		func(ctx context.Context, s *session, args []string) error {
			if every < minWatchEvery {
				return Usage("--every is %v, must be %v or more", every, minWatchEvery)
			}
			w := &watcher{session: s, zones: args}
			var show screen = &plainScreen{session: s}
			if _, _, ok := s.size(); ok && !s.json {
				drawn := &drawnScreen{canvas: canvas{Terminal: s.Terminal}, url: s.URL(), every: every}
				defer drawn.end()
				show = drawn
			}
			return w.run(ctx, show, every, count)
		})
	command.PreRun = func(*cobra.Command, []string) { c.timeout = watchTimeout }
	command.Flags().DurationVar(&every, "every", time.Second, "how often to look")
	command.Flags().IntVarP(&count, "count", "n", 0, "end after so many looks; 0 is never")
	return command
}

// view is what one look at the zones has found.
type view struct {
	at    time.Time
	zones []zoneView
	// err is why nothing could be asked; zones are then those of the last look.
	err error
	// away is since when that is so; back is how long it was, in the first view
	// after it.
	away time.Time
	back time.Duration
}

// zoneView is one zone, or why it could not be looked at.
type zoneView struct {
	zoneID string
	stats  adminclient.Reply[adminclient.Stats]
	err    error
}

// screen shows views.
type screen interface {
	show(v view)
}

// watcher looks at zones again and again.
type watcher struct {
	*session
	zones []string
	last  view
}

// run looks every so often and shows what it found, until ctx ends, count looks
// are over, or an error comes that waiting does not mend. A server that does not
// answer is waited for, unless it did not answer the first time.
func (w *watcher) run(ctx context.Context, show screen, every time.Duration, count int) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		v, err := w.look(ctx, n == 1)
		if ctx.Err() != nil {
			return nil // whoever watches has seen enough
		}
		if err != nil {
			return err
		}
		show.show(v)
		if n == count {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look asks for all zones. The first look has to succeed.
func (w *watcher) look(ctx context.Context, first bool) (view, error) {
	v := view{at: time.Now()}
	names, err := w.zones, error(nil)
	if len(names) == 0 {
		names, err = w.zoneNames(ctx)
	}
	if err == nil {
		v.zones = w.askAll(ctx, names)
		err = common(v.zones)
	}
	switch {
	case err == nil:
		if !w.last.away.IsZero() {
			v.back = v.at.Sub(w.last.away)
		}
	case first, !passes(err):
		return view{}, err
	default:
		v.err, v.zones, v.away = err, w.last.zones, w.last.away
		if v.away.IsZero() {
			v.away = v.at
		}
	}
	if first {
		for _, z := range v.zones {
			if z.err != nil && !passes(z.err) {
				return view{}, w.aboutZone(ctx, z.zoneID, z.err)
			}
		}
	}
	w.last = v
	return v, nil
}

// passes reports whether an error may be over soon.
func passes(err error) bool {
	return errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnavailable)
}

// askAll asks for the state of these zones, some at a time.
func (w *watcher) askAll(ctx context.Context, names []string) []zoneView {
	views := make([]zoneView, len(names))
	var all errgroup.Group
	all.SetLimit(watchAtOnce)
	for i, name := range names {
		all.Go(func() error {
			stats, err := w.Stats(ctx, name)
			views[i] = zoneView{name, stats, err}
			return nil
		})
	}
	_ = all.Wait() // each zone has its own error
	return views
}

// common returns the error that is the server's rather than a zone's: nobody
// answers, or the token is refused.
func common(zones []zoneView) error {
	for _, z := range zones {
		if errors.Is(z.err, adminclient.ErrUnreachable) || errors.Is(z.err, adminclient.ErrUnauthorized) {
			return z.err
		}
	}
	return nil
}

// watchTable is what is looked at while an event goes on.
func watchTable(zones []zoneView) *table {
	t := &table{columns: []column{
		{title: "ZONE"},
		{title: "STATE"},
		{title: "WAITING", right: true},
		{title: "OVERDUE", right: true, spare: 4},
		{title: "WINDOW", right: true, spare: 1},
		{title: "IN 60 S", right: true},
		{title: "USE", right: true},
		{title: "ESTIMATE", right: true},
		{title: "JOINS/M", right: true, spare: 3},
		{title: "POLLS/S", right: true, spare: 2},
	}}
	for _, z := range zones {
		if z.err != nil {
			t.add(z.zoneID, troubleWord(z.err), "-", "-", "-", "-", "-", "-", "-", "-")
			continue
		}
		s := z.stats.Value
		limit, use, estimate := s.WindowLimit, percent(s.WindowUse), millis(s.EstimatedWait)
		if onHold(&s) {
			limit, use, estimate = 0, "-", "on hold"
		}
		if s.State == zone.OpeningHeld {
			estimate = "on hold"
		}
		t.add(z.zoneID, stateOf(&s), grouped(s.Waiting), grouped(s.Overdue),
			grouped(s.AdmittedInWindow)+"/"+grouped(limit), grouped(s.AdmittedInMinute)+"/"+grouped(s.PerMinute),
			use, estimate, rate(s.JoinsPerMinute), rate(s.PollsPerSecond))
	}
	return t
}

// troubleWord says in a word or two why a zone has no figures.
func troubleWord(err error) string {
	switch {
	case errors.Is(err, adminclient.ErrNotFound):
		return "deleted"
	case errors.Is(err, adminclient.ErrUnavailable):
		return "store away"
	}
	return "no answer"
}

// plainScreen prints a line a zone, for a file or a pipe; or as JSON, what the
// server answered.
type plainScreen struct {
	*session
	// widths are those of the columns so far: they grow, and do not shrink, so
	// that lines stay below each other. Nil before the titles are there.
	widths []int
}

func (p *plainScreen) show(v view) {
	if v.err != nil {
		if v.at.Equal(v.away) { // it is said once
			_, _ = fmt.Fprintf(p.Stderr, "%s %v\nTrying again\n", v.at.Format(time.TimeOnly), v.err)
		}
		return
	}
	if v.back > 0 {
		_, _ = fmt.Fprintf(p.Stderr, "%s the server answers again, after %s\n", v.at.Format(time.TimeOnly), span(v.back))
	}
	if p.json {
		p.showJSON(v)
		return
	}
	when := v.at.Format(time.TimeOnly)
	t := watchTable(v.zones)
	t.least = p.widths
	lines := t.lines(0)
	if p.widths == nil {
		p.say("%-*s%s%s", len(when), "TIME", gap, lines[0])
	}
	_, p.widths = t.fit(0)
	for _, text := range lines[1:] {
		p.say("%s%s%s", when, gap, text)
	}
}

// watchedZone is a line of zones watch --json.
type watchedZone struct {
	// WatchedAt is when this machine asked, in Unix milliseconds.
	WatchedAt int64  `json:"watchedAt"`
	ZoneID    string `json:"zoneId"`
	// Stats is what the server answered; absent where Error says why there is none.
	Stats json.RawMessage `json:"stats,omitempty"`
	Error string          `json:"error,omitempty"`
}

// showJSON prints a line a zone: what the server answered, and when it was asked.
func (p *plainScreen) showJSON(v view) {
	for _, z := range v.zones {
		line := watchedZone{WatchedAt: v.at.UnixMilli(), ZoneID: z.zoneID, Stats: z.stats.JSON}
		if z.err != nil {
			line.Error, line.Stats = z.err.Error(), nil
		}
		text, err := json.Marshal(line)
		if err := p.printReply(text, err); err != nil {
			_, _ = fmt.Fprintln(p.Stderr, err)
		}
	}
}

// drawnScreen draws a table on a terminal, over the one before.
type drawnScreen struct {
	canvas
	url   string
	every time.Duration
}

// rowsApart are the lines of a picture that are no zone's: a title, a blank one,
// the table's titles, a line about trouble, and the one that the cursor is in.
const rowsApart = 5

func (s *drawnScreen) show(v view) {
	columns, rows, _ := s.size()
	picture := s.picture(v, columns, rows)
	for i, text := range picture {
		picture[i] = shorten(text, columns)
	}
	s.draw(picture)
}

// picture returns the lines that fit the terminal.
func (s *drawnScreen) picture(v view, columns, rows int) []string {
	lines := watchTable(v.zones).lines(columns)
	title := fmt.Sprintf("%s  %s  every %v, Ctrl-C ends it", v.at.Format(time.TimeOnly), s.url, s.every)
	picture := append([]string{title, ""}, lines...)
	if len(v.zones) == 0 {
		picture = append(picture, "There are no zones.")
	}
	if most := rows - rowsApart; len(v.zones) > most && most > 0 {
		picture = append(picture[:len(picture)-len(v.zones)+most-1],
			fmt.Sprintf("and %s; name those that you want to see", counted(len(v.zones)-most+1, "zone more", "zones more")))
	}
	switch {
	case v.err != nil:
		picture = append(picture, fmt.Sprintf("NO ANSWER for %s, trying again; these figures are old: %s",
			span(v.at.Sub(v.away)), lastCause(v.err)))
	case v.back > 0:
		picture = append(picture, fmt.Sprintf("The server answers again, after %s.", span(v.back)))
	default:
		picture = append(picture, "")
	}
	return picture
}

// lastCause is the end of an error, where it says what has happened:
// "connection refused".
func lastCause(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	return text
}
