package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/acceptance"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua/yardstick"
)

// party is one scenario on one store: a server of its own, Redis if it wants one,
// and k6.
type party struct {
	*loadTestCommand
	work, scenario, store string
	zone                  zone.Settings
	adminToken            string
}

// stores are how the two are called in tables.
var storeNames = map[string]string{"embedded": "Embedded", "redis": "Redis"}

// run plays the scenario until the machine was quiet enough to show something.
func (p *party) run(ctx context.Context, told *teller) (run *acceptance.Run, err error) {
	for range attempts {
		if run, err = p.attempt(ctx); err != nil {
			return nil, err
		}
		told.tell(run)
		if !run.Excused() {
			break
		}
	}
	return run, nil
}

// attempt starts all, lets the crowd come, judges, and ends all.
func (p *party) attempt(ctx context.Context) (run *acceptance.Run, err error) {
	dir, err := os.MkdirTemp(p.work, p.scenario)
	if err != nil {
		return nil, err
	}
	var redis *yardstick.Server
	if p.store == "redis" {
		log := &tail{}
		if redis, err = yardstick.Start(ctx, p.Redis, log); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, log)
		}
		defer func() { err = errors.Join(err, redis.Stop()) }()
	}
	server, err := p.startServer(ctx, dir, redis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	base := server.addr
	if p.scenario == fault {
		cut, addr, err := startCutter(ctx, server.addr, cutShare)
		if err != nil {
			return nil, err
		}
		defer func() { _ = cut.stop() }() // nobody asks it any more
		base = addr
	}
	// A store that is new takes its window for full, since it might have lost what
	// was in it: the crowd comes when that is over.
	if err := pause(ctx, p.zone.Window()+time.Second); err != nil {
		return nil, err
	}
	return p.judged(ctx, base, server, redis)
}

// judged has the crowd come to a server, and judges what it saw.
func (p *party) judged(ctx context.Context, base string, server *process, redis *yardstick.Server) (*acceptance.Run, error) {
	spent := func() (server1, redis1 time.Duration, err error) {
		if redis != nil {
			redis1, err = redis.CPU(ctx)
		}
		return server.cpu(), redis1, err
	}
	server0, redis0, err := spent()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	file := filepath.Join(p.Out, p.scenario+"-"+p.store+".ndjson")
	crossed, err := p.runK6(ctx, base, file)
	if err != nil {
		return nil, fmt.Errorf("%w\nthe server's last words:\n%s", err, server.log)
	}
	took := time.Since(began)
	server1, redis1, err := spent()
	if err != nil {
		return nil, err
	}
	counts, err := p.settled(ctx, server)
	if err != nil {
		return nil, err
	}
	story, err := readStory(file)
	if err != nil {
		return nil, err
	}
	return &acceptance.Run{
		Store: storeNames[p.store], Story: story, Verdict: acceptance.Judge(story, p.zone, counts),
		Cost: acceptance.Cost{
			Server: server1 - server0, Redis: redis1 - redis0, Took: took, ServerBytes: server.peakBytes(),
		},
		Crossed: crossed, WindowSeconds: p.zone.WindowSeconds, Columns: acceptance.ColumnsOf(story, p.zone),
	}, nil
}

// settled are the server's counts when they no longer change: it reads them from
// the store once a second.
func (p *party) settled(ctx context.Context, server *process) (*acceptance.Counts, error) {
	var was acceptance.Counts
	for {
		if err := pause(ctx, settleEvery); err != nil {
			return nil, err
		}
		var stats struct {
			Totals acceptance.Counts `json:"totals"`
		}
		text, err := p.ask(ctx, "http://"+server.admin+"/admin/zones/"+p.zone.ZoneID+"/stats")
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &stats); err != nil {
			return nil, err
		}
		if stats.Totals == was {
			return &was, nil
		}
		was = stats.Totals
	}
}

// settleEvery is longer than the second in which the server reads its totals.
const settleEvery = 1300 * time.Millisecond

// ask asks the operators' listener.
func (p *party) ask(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+p.adminToken)
	return fetch(req)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func readStory(files ...string) (*acceptance.Story, error) {
	var whole *acceptance.Story
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s, err := acceptance.Read(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if whole == nil {
			whole = s
		} else if err := whole.Add(s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return whole, nil
}

// startServer starts a queue-server with the scenario's zone.
func (p *party) startServer(ctx context.Context, dir string, redis *yardstick.Server) (*process, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	config, err := yaml.Marshal(map[string]any{"zones": []map[string]any{{
		"zoneId": p.zone.ZoneID, "perMinute": p.zone.PerMinute, "windowSeconds": p.zone.WindowSeconds,
	}}})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "zones.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	flags := []string{
		"serve", "--addr=" + addr, "--admin-addr=" + admin, "--data-dir=" + dir, "--config=" + file,
		"--drain-delay=0s", "--log-level=warn", "--store=" + p.store,
	}
	if redis != nil {
		flags = append(flags, "--redis-url="+redis.URL())
	}
	cmd := exec.CommandContext(ctx, p.Server, flags...)
	p.adminToken = rand.Text()
	cmd.Env = append(append(withoutSettings(os.Environ()), "QUEUE_ADMIN_TOKEN="+p.adminToken), p.limits()...)
	return start(ctx, "queue-server, "+p.store, addr, admin, cmd)
}

// limits are the settings of what one client may take: on for the impatient, each
// of whom the server sees at an address of its own, and off for all others, as it is
// for a load test from one machine.
func (p *party) limits() []string {
	if p.scenario == impatient {
		return []string{"QUEUE_TRUSTED_PROXIES=127.0.0.1/32"}
	}
	return []string{"QUEUE_DOOR_LIMITS=off"}
}

// withoutSettings leaves the settings of another server out.
func withoutSettings(environment []string) []string {
	var out []string
	for _, e := range environment {
		if !strings.HasPrefix(e, "QUEUE_") {
			out = append(out, e)
		}
	}
	return out
}
