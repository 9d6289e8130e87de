package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// clearScreen goes to the screen's first line and clears what is below (ECMA-48).
	clearScreen = "\x1b[H\x1b[J"
)

// watch is queue-server zones watch. It shows zones until ctx ends: as a table that is
// drawn anew on a terminal, else as a line of JSON a zone.
func (c *connection) watch() *cobra.Command {
	var every time.Duration
	var count int
	command := c.command("watch [ZONE]...", "Zones at this moment, every second, until you end it. All, also those that are made meanwhile, when none is named.",
		func(ctx context.Context, s *session, args []string) error {
			if every < minWatchEvery {
				return Usage("--every is %v, must be %v or more", every, minWatchEvery)
			}
			w := &watcher{session: s, zones: args, every: every}
			return w.run(ctx, count)
		})
	command.PreRun = func(*cobra.Command, []string) { c.timeout = watchTimeout }
	command.Flags().DurationVar(&every, "every", time.Second, "how often to ask for figures")
	command.Flags().IntVarP(&count, "count", "n", 0, "end after so many samples; 0 is never")
	return command
}

// zoneView is one zone, or why it could not be looked at.
type zoneView struct {
	zoneID string
	stats  adminclient.Reply[adminclient.Stats]
	err    error
}

// watcher looks at zones again and again.
type watcher struct {
	*session
	zones []string
	every time.Duration
	// last is what was seen last, and away is since when the server does not answer.
	last []zoneView
	away time.Time
}

// run asks every so often and shows the figures, until ctx ends, count samples
// were shown, or an error comes that waiting does not mend. A server that does not
// answer is waited for, unless it did not answer the first time.
func (w *watcher) run(ctx context.Context, count int) error {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		at := time.Now()
		seen, err := w.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // whoever watches has seen enough
		case err != nil && (n == 1 || !passes(err)):
			return err
		case n == 1:
			for _, z := range seen {
				if z.err != nil && !passes(z.err) {
					return w.explain("zones", z.zoneID, z.err)
				}
			}
		}
		if err == nil {
			w.last = seen
		}
		w.show(at, err)
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

// fetch asks for all zones, some at a time. The error is the server's rather than a zone's: nobody answers, or the token is
// refused.
func (w *watcher) fetch(ctx context.Context) ([]zoneView, error) {
	names := w.zones
	if len(names) == 0 {
		reply, err := w.Zones(ctx)
		if err != nil {
			return nil, err
		}
		for _, z := range reply.Value {
			names = append(names, z.ZoneID)
		}
	}
	views := make([]zoneView, len(names))
	var all errgroup.Group
	all.SetLimit(watchAtOnce)
	for i, name := range names {
		all.Go(func() error {
			stats, err := w.Stats(ctx, name)
			views[i] = zoneView{name, stats, err}
			if errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnauthorized) {
				return err
			}
			return nil
		})
	}
	return views, all.Wait()
}

// passes reports whether an error may be over soon.
func passes(err error) bool {
	return errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnavailable)
}

// show shows what was seen last; err is why nothing was seen now.
func (w *watcher) show(at time.Time, err error) {
	said := ""
	switch {
	case err != nil && w.away.IsZero():
		w.away = at
		said = fmt.Sprintf("%v\nTrying again", err)
	case err == nil && !w.away.IsZero():
		said = "the server answers again, after " + span(at.Sub(w.away))
		w.away = time.Time{}
	}
	if columns, rows, ok := w.size(); ok && !w.json {
		w.draw(at, columns, rows)
		return
	}
	if said != "" {
		_, _ = fmt.Fprintf(w.Stderr, "%s %s\n", at.Format(time.TimeOnly), said)
	}
	if err == nil {
		w.printJSON(at)
	}
}

// draw draws the table over what the terminal shows, as much of it as fits.
func (w *watcher) draw(at time.Time, columns, rows int) {
	lines := append([]string{fmt.Sprintf("%s  %s  every %v, Ctrl-C ends it", at.Format(time.TimeOnly), w.URL(), w.every), ""},
		watchTable(w.last).lines()...)
	if !w.away.IsZero() {
		lines[1] = fmt.Sprintf("NO ANSWER for %s, trying again; these figures are old", span(at.Sub(w.away)))
	}
	if most := rows - 1; len(lines) > most && most > 0 {
		lines = append(lines[:most-1], "and more; name those that you want to see")
	}
	for i := range lines {
		lines[i] = cut(lines[i], columns)
	}
	_, _ = io.WriteString(w.Stdout, clearScreen+strings.Join(lines, "\n")+"\n")
}

// watchTable is what is looked at while an event goes on.
func watchTable(zones []zoneView) *table {
	t := &table{titles: []string{"ZONE", "STATE", "WAITING", "WINDOW", "IN 60 S", "USE", "ESTIMATE", "JOINS/M", "POLLS/S", "OVERDUE", "INSIDE"}}
	for _, z := range zones {
		if z.err != nil {
			t.add(z.zoneID, troubleWord(z.err), "-", "-", "-", "-", "-", "-", "-", "-", "-")
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
		t.add(z.zoneID, stateOf(&s), grouped(s.Waiting),
			grouped(s.AdmittedInWindow)+"/"+grouped(limit), grouped(s.AdmittedInMinute)+"/"+grouped(s.PerMinute),
			use, estimate, rate(s.JoinsPerMinute), rate(s.PollsPerSecond), grouped(s.Overdue), insideOf(&s))
	}
	return t
}

// insideOf is how many are inside, of the cap; "-" in a zone without one.
func insideOf(s *adminclient.Stats) string {
	if s.MaxInside == 0 {
		return "-"
	}
	return grouped(s.Inside) + "/" + grouped(s.MaxInside)
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

// watchedZone is a line of zones watch where nothing is drawn.
type watchedZone struct {
	// WatchedAt is when this machine asked, in Unix milliseconds.
	WatchedAt int64  `json:"watchedAt"`
	ZoneID    string `json:"zoneId"`
	// Stats is what the server answered; absent where Error says why there is none.
	Stats json.RawMessage `json:"stats,omitempty"`
	Error string          `json:"error,omitempty"`
}

// printJSON prints a line a zone: what the server answered, and when it was asked.
func (w *watcher) printJSON(at time.Time) {
	for _, z := range w.last {
		line := watchedZone{WatchedAt: at.UnixMilli(), ZoneID: z.zoneID, Stats: z.stats.JSON}
		if z.err != nil {
			line.Error, line.Stats = z.err.Error(), nil
		}
		text, err := json.Marshal(line)
		if err := w.printReply(text, err); err != nil {
			_, _ = fmt.Fprintln(w.Stderr, err)
		}
	}
}
