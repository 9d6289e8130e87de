package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
	"github.com/openqueue/waitingroom/internal/zone"
)

// scenarios are those of loadtest/k6, in the order in which they are told. Each has
// a zone LOAD_ and its name in zones.yaml.
var scenarios = []string{"burst", "surge", "leavers", "tunnel", "impatient", "fault"}

const (
	// cutShare is how many requests of the scenario fault are cut.
	cutShare = 0.05
	fault    = "fault"
	// impatient is run with the server's limits for single clients on.
	impatient = "impatient"
	// attempts are how often a scenario is run at most. It is repeated only if the
	// machine was too busy to play the crowd, and nothing exact was broken.
	attempts = 3
)

// loadTestCommand is queue-bench loadtest.
type loadTestCommand struct {
	Only    []string `placeholder:"NAME" help:"Scenarios to run; all of them if none is named."`
	Store   []string `enum:"embedded,redis" default:"embedded,redis" help:"Stores to run them on, at once: ${enum}."`
	Size    float64  `default:"1" help:"Crowds, and limits with them, so many times larger."`
	Serial  bool     `help:"One scenario on one store at a time, so that figures are not each other's."`
	K6      string   `name:"k6" default:"k6" placeholder:"FILE" help:"Program that is k6."`
	Redis   string   `default:"redis-server" placeholder:"FILE" help:"Program that is redis-server."`
	Server  string   `placeholder:"FILE" help:"Program that is queue-server; built from this checkout if not given."`
	Scripts string   `default:"loadtest/k6" placeholder:"DIR" help:"Where the scenarios and zones.yaml are."`
	Out     string   `default:"loadtest/results" placeholder:"DIR" help:"Where stories, summary and report go."`
	Docs    string   `placeholder:"DIR" help:"Where performance.json is, into which the figures of a good run of all scenarios go. Nowhere when absent."`
}

// errBroken: the run went through, and a promise was not kept.
var errBroken = errors.New("promises were broken")

// Run runs the scenarios, judges them, and writes what was found.
func (c *loadTestCommand) Run(ctx context.Context, out output) error {
	zones, err := readZones(filepath.Join(c.Scripts, "zones.yaml"), c.Size)
	if err != nil {
		return err
	}
	names, err := c.chosen()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "queue-loadtest")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // of ours, in the system's own place for such
	if c.Server == "" {
		c.Server = filepath.Join(work, "queue-server")
		if err := build(ctx, c.Server); err != nil {
			return err
		}
	}
	m := describeMachine()
	summary := &acceptance.Summary{
		When: time.Now(), Machine: fmt.Sprintf("%d cores (%s) for load generators, servers and Redis", m.Cores, m.Processor),
		Size: strconv.FormatFloat(c.Size, 'g', -1, 64),
	}
	if summary.Runs, err = c.all(ctx, work, names, zones, out); err != nil {
		return err
	}
	summary.Took = time.Since(summary.When)
	return c.finish(summary, m, out)
}

var heads = map[bool]string{true: "kept", false: "BROKEN"}

// chosen are the scenarios to run, in their order.
func (c *loadTestCommand) chosen() ([]string, error) {
	if len(c.Only) == 0 {
		return scenarios, nil
	}
	if c.Docs != "" {
		return nil, errors.New("performance.json has all scenarios: run them all, or leave --docs out")
	}
	for _, name := range c.Only {
		if !slices.Contains(scenarios, name) {
			return nil, fmt.Errorf("there is no scenario %s; there are %s", name, strings.Join(scenarios, ", "))
		}
	}
	return c.Only, nil
}

// finish writes what was found. Promises that were broken are an error, but
// everything is written before.
func (c *loadTestCommand) finish(summary *acceptance.Summary, m machine, out output) error {
	if err := summary.Write(out.table); err != nil {
		return err
	}
	text, page := filepath.Join(c.Out, "summary.txt"), filepath.Join(c.Out, "report.html")
	if err := errors.Join(writeFile(text, summary.Write), writeFile(page, summary.Report)); err != nil {
		return err
	}
	fmt.Fprintf(out.progress, "\nthe same is in %s, and with charts in %s\n", text, page)
	if !summary.Kept() {
		return errBroken
	}
	if c.Docs == "" {
		return nil
	}
	return report{LoadTest: loadReportOf(summary, m)}.keep(c.Docs)
}

// writeFile makes a file of what write writes.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// all runs the scenarios in their order, on each store; the stores at once.
func (c *loadTestCommand) all(ctx context.Context, work string, names []string, zones map[string]zone.Settings, out output) ([]*acceptance.Run, error) {
	// A scenario that cannot be run ends the others: nothing is learnt from half.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	told := &teller{w: out.progress, began: time.Now()}
	runs := make([]*acceptance.Run, len(names)*len(c.Store))
	var all sync.WaitGroup
	for _, stores := range c.lanes() {
		var parties []*party
		var places []int
		for i, name := range names {
			for _, store := range stores {
				parties = append(parties, &party{
					loadTestCommand: c, work: work, scenario: name, store: store, zone: zones["LOAD_"+strings.ToUpper(name)],
				})
				places = append(places, i*len(c.Store)+slices.Index(c.Store, store))
			}
		}
		all.Go(func() {
			if err := lane(ctx, parties, told, func(i int, r *acceptance.Run) { runs[places[i]] = r }); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return runs, context.Cause(ctx)
}

// lanes are the stores that are loaded at once.
func (c *loadTestCommand) lanes() [][]string {
	if c.Serial {
		return [][]string{c.Store}
	}
	var lanes [][]string
	for _, store := range c.Store {
		lanes = append(lanes, []string{store})
	}
	return lanes
}

// mostRemarks are shown of a run: the third wrong answer tells no more.
const mostRemarks = 2

// teller says how far the run is, a line for each scenario.
type teller struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
}

func (t *teller) tell(r *acceptance.Run, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := time.Since(t.began).Round(time.Second)
	fmt.Fprintf(t.w, "[%d:%02d] %-20s %s\n", int(took.Minutes()), int(took.Seconds())%60, r.Name(), heads[r.Kept()])
	for _, b := range r.Broken() {
		fmt.Fprintf(t.w, "       %s\n", b)
	}
	for _, remark := range r.Story.Remarks[:min(mostRemarks, len(r.Story.Remarks))] {
		fmt.Fprintf(t.w, "       %s\n", remark)
	}
	if again {
		fmt.Fprintln(t.w, "       once more, then")
	}
}

// zonesFileShape is what zones.yaml has that is of interest here.
type zonesFileShape struct {
	Zones []struct {
		ZoneID        string `yaml:"zoneId"`
		PerMinute     int64  `yaml:"perMinute"`
		WindowSeconds int64  `yaml:"windowSeconds"`
	} `yaml:"zones"`
}

// readZones reads the zones of the load test, so many times larger.
func readZones(name string, size float64) (map[string]zone.Settings, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file zonesFileShape
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	zones := make(map[string]zone.Settings)
	for _, z := range file.Zones {
		s := zone.Defaults(z.ZoneID)
		s.PerMinute = int64(float64(z.PerMinute) * size)
		if z.WindowSeconds > 0 {
			s.WindowSeconds = z.WindowSeconds
		}
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		zones[z.ZoneID] = s
	}
	for _, scenario := range scenarios {
		if _, ok := zones["LOAD_"+strings.ToUpper(scenario)]; !ok {
			return nil, fmt.Errorf("%s: no zone LOAD_%s", name, strings.ToUpper(scenario))
		}
	}
	return zones, nil
}

// scriptError begins what k6 says of an exception.
var scriptError = regexp.MustCompile(`^(\w*Error): `)

// runK6 runs a scenario against a public listener; crossed are the lines in which
// its summary says what failed.
func (p *party) runK6(ctx context.Context, base, story string) (crossed []string, err error) {
	if err := os.Remove(story); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.K6, "run", "--no-usage-report", "--quiet", "--log-format", "raw",
		// Without an address k6 listens for nobody: two at once would want the same.
		"--address", "", "--console-output", story, filepath.Join(p.Scripts, p.scenario+".js"))
	cmd.Env = append(os.Environ(), "BASE_URL=http://"+base, "ZONE_ID="+p.zone.ZoneID,
		"PER_MINUTE="+strconv.FormatInt(p.zone.PerMinute, 10), "SIZE="+strconv.FormatFloat(p.Size, 'g', -1, 64))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	said, err := cmd.CombinedOutput()
	name := filepath.Join(p.Out, p.scenario+"-"+p.store+".txt")
	if err := os.WriteFile(name, said, 0o644); err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(said)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(l), "FAILED"); ok {
			crossed = append(crossed, strings.TrimSpace(text))
		}
		// A visitor whose script fails is silent, which k6 does not mind.
		if wrong := "the script: " + strings.TrimSpace(l); scriptError.MatchString(l) && !slices.Contains(crossed, wrong) {
			crossed = append(crossed, wrong)
		}
	}
	// 99 is k6's status for thresholds that were crossed: the summary says which.
	const thresholds = 99
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == thresholds && len(crossed) > 0 {
		return crossed, nil
	}
	if err != nil {
		return nil, fmt.Errorf("k6: %w\n%s", err, said)
	}
	return crossed, nil
}

// peakBytes is the most memory that the process has held; 0 where the system does
// not say.
func (p *process) peakBytes() int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
