package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/zone"
)

// scenarios are those of loadtest/k6, in the order in which they are told. Each has
// a zone LOAD_ and its name in zones.yaml.
var scenarios = []string{"burst", "surge", "leavers", "tunnel", "impatient", "fault"}

// event is a scenario that is run where it is asked for: it takes a minute, of which half
// passes between the close of a draw and the opening.
const event = "event"

// loadTest are the flags of queue-bench loadtest.
type loadTest struct {
	only, stores              []string
	size                      float64
	serial                    bool
	k6, server, scripts, docs string
	// results is where stories, summary and report go.
	results string
}

func newLoadTestCommand(l *loadTest) *cobra.Command {
	c := &cobra.Command{
		Use: "loadtest", Short: "Runs the scenarios of loadtest/k6 on both stores, and judges them", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return l.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	c.Flags().StringSliceVar(&l.only, "only", scenarios, "scenarios to run; there is event, too")
	c.Flags().StringSliceVar(&l.stores, "store", []string{"embedded", "redis"}, "stores to run them on, at once")
	c.Flags().Float64Var(&l.size, "size", 1, "crowds, and limits with them, so many times larger")
	c.Flags().BoolVar(&l.serial, "serial", false, "one scenario on one store at a time, so that figures are not each other's")
	c.Flags().StringVar(&l.k6, "k6", "k6", "program that is k6")
	c.Flags().StringVar(&l.server, "server", "", "program that is queue-server; built from this checkout if not given")
	c.Flags().StringVar(&l.scripts, "scripts", "loadtest/k6", "the `folder` of the scenarios and zones.yaml")
	c.Flags().StringVar(&l.results, "out", "loadtest/results", "the `folder` for stories, summary and report")
	c.Flags().StringVar(&l.docs, "docs", "", "the `folder` of performance.json, into which the figures of a good run of all scenarios go")
	return c
}

// errBroken: the run went through, and a promise was not kept.
var errBroken = errors.New("promises were broken")

// check refuses flags that make no sense.
func (l *loadTest) check() error {
	if l.docs != "" && !slices.Equal(l.only, scenarios) {
		return errors.New("performance.json has all scenarios: run them all, or leave --docs out")
	}
	for flag, given := range map[string][2][]string{"--only": {l.only, append(slices.Clone(scenarios), event)}, "--store": {l.stores, {"embedded", "redis"}}} {
		for _, name := range given[0] {
			if !slices.Contains(given[1], name) {
				return fmt.Errorf("%s is of %s, there is no %s", flag, strings.Join(given[1], ", "), name)
			}
		}
	}
	return nil
}

// run runs the scenarios, judges them, and writes what was found. Promises that were
// broken are an error, but everything is written before.
func (l *loadTest) run(ctx context.Context, table, says io.Writer) error {
	zones, err := readZones(filepath.Join(l.scripts, "zones.yaml"), l.size)
	if err = errors.Join(err, l.check(), os.MkdirAll(l.results, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "queue-loadtest")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // of ours, in the system's own place for such
	if l.server == "" {
		l.server = filepath.Join(work, "queue-server")
		if err := build(ctx, l.server); err != nil {
			return err
		}
	}
	m := describeMachine()
	summary := &acceptance.Summary{
		When: time.Now(), Machine: fmt.Sprintf("%d cores (%s) for load generators, servers and Redis", m.Cores, m.Processor),
		Size: strconv.FormatFloat(l.size, 'g', -1, 64),
	}
	if summary.Runs, err = l.all(ctx, work, zones, says); err != nil {
		return err
	}
	summary.Took = time.Since(summary.When)
	text, page := filepath.Join(l.results, "summary.txt"), filepath.Join(l.results, "report.html")
	if err := errors.Join(summary.Write(table), writeFile(text, summary.Write), writeFile(page, summary.Report)); err != nil {
		return err
	}
	fmt.Fprintf(says, "\nthe same is in %s, and with charts in %s\n", text, page)
	if !summary.Kept() {
		return errBroken
	}
	if l.docs == "" {
		return nil
	}
	return report{LoadTest: loadReportOf(summary, m)}.keep(l.docs)
}

// all runs the scenarios in their order, on each store; the stores at once, if not
// serial. A scenario that cannot be run ends the others: nothing is learnt from half.
func (l *loadTest) all(ctx context.Context, work string, zones map[string]zone.Settings, says io.Writer) ([]*acceptance.Run, error) {
	var mu sync.Mutex
	began := time.Now()
	tell := func(r *acceptance.Run, again bool) {
		mu.Lock()
		defer mu.Unlock()
		describe(says, began, r, again)
	}
	runs := make([]*acceptance.Run, len(l.only)*len(l.stores))
	stores, working := errgroup.WithContext(ctx)
	if l.serial {
		stores.SetLimit(1)
	}
	for at, store := range l.stores {
		stores.Go(func() (err error) {
			for i, name := range l.only {
				s := &scenario{loadTest: l, work: work, name: name, store: store, zone: zones["LOAD_"+strings.ToUpper(name)]}
				if runs[i*len(l.stores)+at], err = s.run(working, tell); err != nil {
					return fmt.Errorf("%s on %s: %w", name, store, err)
				}
			}
			return nil
		})
	}
	return runs, stores.Wait()
}

var heads = map[bool]string{true: "kept", false: "BROKEN"}

// mostRemarks are shown of a run: the third wrong answer tells no more.
const mostRemarks = 2

// describe says what a run has shown, and whether it is repeated.
func describe(w io.Writer, began time.Time, r *acceptance.Run, again bool) {
	fmt.Fprintf(w, "[%s] %-20s %s\n", since(began), r.Name(), heads[r.Kept()])
	for _, line := range append(r.Broken(), r.Story.Remarks[:min(mostRemarks, len(r.Story.Remarks))]...) {
		fmt.Fprintf(w, "       %s\n", line)
	}
	if again {
		fmt.Fprintln(w, "       once more, then")
	}
}

// writeFile makes a file of what write writes.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// readZones reads the zones of the load test, so many times larger.
func readZones(name string, size float64) (map[string]zone.Settings, error) {
	file, err := configfile.Read(name, []string{"drain-delay"})
	if err != nil {
		return nil, err
	}
	zones := make(map[string]zone.Settings)
	for _, z := range file.Zones {
		z.PerMinute = int64(float64(z.PerMinute) * size)
		if err := z.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		zones[z.ZoneID] = z
	}
	for _, scenario := range append(slices.Clone(scenarios), event) {
		if _, ok := zones["LOAD_"+strings.ToUpper(scenario)]; !ok {
			return nil, fmt.Errorf("%s: no zone LOAD_%s", name, strings.ToUpper(scenario))
		}
	}
	return zones, nil
}

// readStory reads what each k6 of one run wrote.
func readStory(files ...string) (whole *acceptance.Story, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s, err := acceptance.Read(f)
		if err = errors.Join(err, f.Close()); err == nil && whole != nil {
			err = whole.Add(s)
		} else if whole == nil {
			whole = s
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return whole, nil
}

// newJudgeCommand is for crowds that are too large for one machine, or servers that are
// elsewhere.
func newJudgeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "judge FILE...", Short: "Judges what each k6 of one run has written elsewhere (k6 run --console-output FILE)",
		Args: cobra.MinimumNArgs(1),
	}
	page := c.Flags().String("report", "", "the `file` for the report, with charts")
	zones := c.Flags().String("zones", "loadtest/k6/zones.yaml", "the `file` that has the zone that was joined, at size 1")
	c.RunE = func(c *cobra.Command, stories []string) error { return judge(c.OutOrStdout(), *zones, *page, stories) }
	return c
}

// judge prints every promise, and fails if one was not kept.
func judge(table io.Writer, zonesFile, page string, stories []string) error {
	story, err := readStory(stories...)
	if err != nil {
		return err
	}
	zones, err := readZones(zonesFile, story.Size)
	if err != nil {
		return err
	}
	settings, ok := zones[story.ZoneID]
	if !ok {
		return fmt.Errorf("%s has no zone %s", filepath.Base(zonesFile), story.ZoneID)
	}
	v := acceptance.Judge(story, settings, nil)
	r := &acceptance.Run{Store: "Remote", Story: story, Verdict: v, Zone: settings}
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	for _, f := range v.Findings {
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\n", heads[f.Kept], f.Promise, f.Measured, f.Wanted)
	}
	sentences, err := r.Sentences()
	if err = errors.Join(err, rows.Flush()); err != nil {
		return err
	}
	for _, line := range append(sentences, story.Remarks...) {
		fmt.Fprintln(table, line)
	}
	if page != "" {
		s := &acceptance.Summary{
			When: time.UnixMilli(story.Began), Machine: "Servers elsewhere", Size: strconv.FormatFloat(story.Size, 'g', -1, 64),
			Took: v.Span, Runs: []*acceptance.Run{r},
		}
		if err := writeFile(page, s.Report); err != nil {
			return err
		}
	}
	if !v.Kept() {
		return errBroken
	}
	return nil
}
