package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// cutShare is how many requests of the scenario fault are cut.
	cutShare = 0.05
	fault    = "fault"
	// impatient is run with the server's limits for single clients on.
	impatient = "impatient"
	// attempts are how often a scenario is run at most. It is repeated only if the
	// machine was too busy to play the crowd, and nothing exact was broken.
	attempts = 3
	// settleEvery is longer than the second in which the server reads its totals.
	settleEvery = 1300 * time.Millisecond
	// interruptTimeout is how long k6 may take to end before it is killed.
	interruptTimeout = 10 * time.Second
)

// scenario is one of them on one store.
type scenario struct {
	*loadTest

	work, name, store string
	zone              zone.Settings
}

// run plays the scenario until the machine was quiet enough to show something.
func (s *scenario) run(ctx context.Context, tell func(r *acceptance.Run, again bool)) (*acceptance.Run, error) {
	for n := 1; ; n++ {
		r, err := s.play(ctx)
		if err != nil {
			return nil, err
		}
		again := r.Excused() && n < attempts
		tell(r, again)
		if !again {
			return r, nil
		}
	}
}

// play sends the crowd to a server of its own, before a Redis of its own if it is on that
// store, and behind a proxy that cuts if the scenario wants it; and judges what it saw.
func (s *scenario) play(ctx context.Context) (r *acceptance.Run, err error) {
	redisCPU := func(context.Context) (time.Duration, error) { return 0, nil }
	settings := []string{"QUEUE_STORE=" + s.store}
	if s.store == "redis" {
		var redis *baseline.Server
		if redis, err = baseline.Start(ctx, "redis-server"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, redis.Stop()) }()
		redisCPU = redis.CPU
		settings = append(settings, "QUEUE_REDIS_URL="+redis.URL())
	}
	server, err := s.serve(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	addr := server.addr
	if s.name == fault {
		proxied, stop := context.WithCancel(ctx)
		defer stop()
		if addr, err = startCutter(proxied, addr, cutShare); err != nil {
			return nil, err
		}
	}
	// A store that is new takes its window for full, since it might have lost what
	// was in it: the crowd comes when that is over.
	if err := pause(ctx, s.zone.Window()+time.Second); err != nil {
		return nil, err
	}
	file := filepath.Join(s.results, s.name+"-"+s.store+".ndjson")
	var crossed []string
	before, _ := server.used()
	began := time.Now()
	used, err := rises(ctx, redisCPU, func() (err error) {
		crossed, err = s.runK6(ctx, addr, file)
		return err
	})
	if err != nil {
		return nil, err
	}
	cost := acceptance.Cost{Redis: used, Took: time.Since(began)}
	cost.Server, cost.ServerBytes = server.used()
	cost.Server -= before
	counts, err := s.settled(ctx, server)
	if err != nil {
		return nil, err
	}
	story, err := readStory(file)
	if err != nil {
		return nil, err
	}
	return &acceptance.Run{
		Store: map[string]string{"embedded": "Embedded", "redis": "Redis"}[s.store], Story: story,
		Verdict: acceptance.Judge(story, s.zone, counts), Cost: cost, Crossed: crossed, Zone: s.zone,
	}, nil
}

// serve starts a queue-server with the scenario's zone. What one client may take is limited
// for the impatient, each of whom the server sees at an address of its own, and for no
// others, as for a load test from one machine.
func (s *scenario) serve(ctx context.Context, settings []string) (*process, error) {
	dir, err := os.MkdirTemp(s.work, s.name)
	if err != nil {
		return nil, err
	}
	config := fmt.Appendf(nil, "zones: [{zoneId: %s, perMinute: %d, windowSeconds: %d, events: [%s]}]\n",
		s.zone.ZoneID, s.zone.PerMinute, s.zone.WindowSeconds, s.events(time.Now()))
	limits := "QUEUE_DOOR_LIMITS=off"
	if s.name == impatient {
		limits = "QUEUE_TRUSTED_PROXIES=127.0.0.1/32"
	}
	return startServer(ctx, s.server, dir, config, append(settings, limits)...)
}

// gatherSeconds is how long people gather, drawSeconds how long before the opening the draw
// closes: as late as may be.
const gatherSeconds, drawSeconds = 10, 25

// events are those of the zone: people gather when the store has been up for a window.
func (s *scenario) events(now time.Time) string {
	if s.name != event {
		return ""
	}
	gathers := now.Add(s.zone.Window() + 3*time.Second).UTC().Truncate(time.Second)
	return fmt.Sprintf("{name: noon, order: draw, drawClosesSeconds: %d, preQueueAt: %s, opensAt: %s}", drawSeconds,
		gathers.Format(time.RFC3339), gathers.Add((gatherSeconds+drawSeconds)*time.Second).Format(time.RFC3339))
}

// settled are the server's counts when they no longer change: it reads them from
// the store once a second.
func (s *scenario) settled(ctx context.Context, server *process) (*acceptance.Counts, error) {
	var was acceptance.Counts
	for {
		if err := pause(ctx, settleEvery); err != nil {
			return nil, err
		}
		var stats struct {
			Totals acceptance.Counts `json:"totals"`
		}
		text, err := get(ctx, server.admin, "/admin/zones/"+s.zone.ZoneID+"/stats", server.token)
		if err == nil {
			err = json.Unmarshal(text, &stats)
		}
		if err != nil || stats.Totals == was {
			return &was, err
		}
		was = stats.Totals
	}
}

// scriptError begins what k6 says of an exception.
var scriptError = regexp.MustCompile(`^(\w*Error): `)

// runK6 runs the scenario against a public listener; crossed are the lines in which
// its summary says what failed.
func (s *scenario) runK6(ctx context.Context, addr, story string) (crossed []string, err error) {
	if err := os.Remove(story); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.k6, "run", "--no-usage-report", "--quiet", "--log-format", "raw",
		// Without an address k6 listens for nobody: two at once would want the same.
		"--address", "", "--console-output", story, filepath.Join(s.scripts, s.name+".js"))
	cmd.Env = append(os.Environ(), "BASE_URL=http://"+addr, "ZONE_ID="+s.zone.ZoneID,
		"PER_MINUTE="+strconv.FormatInt(s.zone.PerMinute, 10), "SIZE="+strconv.FormatFloat(s.size, 'g', -1, 64))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptTimeout
	said, err := cmd.CombinedOutput()
	if err := os.WriteFile(filepath.Join(s.results, s.name+"-"+s.store+".txt"), said, 0o644); err != nil {
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

type (
	// loadReport is what a load test of all scenarios has shown.
	loadReport struct {
		occasion
		Size     string    `json:"size"`
		Headline string    `json:"headline"`
		Runs     []loadRun `json:"runs"`
	}
	// loadRun is one scenario on one store. Processor time is a request's.
	loadRun struct {
		Scenario string `json:"scenario"`
		Store    string `json:"store"`
		acceptance.Figures
		ServerMicros float64 `json:"serverMicros,omitzero"`
		RedisMicros  float64 `json:"redisMicros,omitzero"`
		MemoryMB     int64   `json:"memoryMB,omitzero"`
	}
)

func loadReportOf(s *acceptance.Summary, m machine) *loadReport {
	l := &loadReport{occasion: occasion{When: s.When, Took: s.Took.Round(time.Second), machine: m}, Size: s.Size, Headline: s.Headline()}
	for _, r := range s.Runs {
		requests := float64(max(1, r.Verdict.Requests))
		l.Runs = append(l.Runs, loadRun{
			Scenario: r.Story.Scenario, Store: r.Store, Figures: r.Verdict.Figures,
			ServerMicros: micros(r.Cost.Server) / requests, RedisMicros: micros(r.Cost.Redis) / requests, MemoryMB: r.Cost.ServerBytes >> 20,
		})
	}
	return l
}
