package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/zone"
)

// party is one scenario on one store.
type party struct {
	*loadTestCommand
	work, scenario, store string
	zone                  zone.Settings
}

// storeNames are how the two are called in tables.
var storeNames = map[string]string{"embedded": "Embedded", "redis": "Redis"}

// venue is what a crowd comes to: a server of its own, before a Redis of its own
// if it is on that store, and behind a proxy that cuts if the scenario wants it.
type venue struct {
	server *process
	// redis is nil on the embedded store.
	redis *baseline.Server
	cut   *cutter
	// base is host:port of where visitors go.
	base string
}

// opening is a venue to be, or why there is none.
type opening struct {
	venue *venue
	err   error
}

// open opens a venue while something else goes on; the one who receives it stops it.
func (p *party) open(ctx context.Context) <-chan opening {
	out := make(chan opening, 1)
	go func() {
		v, err := p.venue(ctx)
		out <- opening{v, err}
	}()
	return out
}

// venue opens one, and waits until it can let somebody in.
func (p *party) venue(ctx context.Context) (v *venue, err error) {
	v = &venue{}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.stop())
		}
	}()
	dir, err := os.MkdirTemp(p.work, p.scenario)
	if err != nil {
		return nil, err
	}
	if p.store == "redis" {
		log := &tail{}
		if v.redis, err = baseline.Start(ctx, p.Redis, log); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, log)
		}
	}
	if err := p.startServer(ctx, dir, v); err != nil {
		return nil, err
	}
	v.base = v.server.addr
	if p.scenario == fault {
		if v.cut, v.base, err = startCutter(ctx, v.server.addr, cutShare); err != nil {
			return nil, err
		}
	}
	// A store that is new takes its window for full, since it might have lost what
	// was in it: the crowd comes when that is over.
	return v, pause(ctx, p.zone.Window()+time.Second)
}

// stop ends what was started, the last first.
func (v *venue) stop() error {
	var errs []error
	if v.cut != nil {
		errs = append(errs, v.cut.stop())
	}
	if v.server != nil {
		errs = append(errs, v.server.stop())
	}
	if v.redis != nil {
		errs = append(errs, v.redis.Stop())
	}
	return errors.Join(errs...)
}

// lane has the parties take turns, and calls done with each run. The next venue is
// opened while the crowd is at the one before.
func lane(ctx context.Context, parties []*party, told *teller, done func(i int, r *acceptance.Run)) error {
	next := parties[0].open(ctx)
	for i, p := range parties {
		at := <-next
		next = nil
		if i+1 < len(parties) && at.err == nil {
			next = parties[i+1].open(ctx)
		}
		r, err := p.run(ctx, at, told)
		if err != nil {
			err = fmt.Errorf("%s on %s: %w", p.scenario, p.store, err)
			if next != nil {
				if unused := <-next; unused.err == nil {
					err = errors.Join(err, unused.venue.stop())
				}
			}
			return err
		}
		done(i, r)
	}
	return nil
}

// run plays the scenario until the machine was quiet enough to show something: at
// the venue given, and then at others.
func (p *party) run(ctx context.Context, at opening, told *teller) (run *acceptance.Run, err error) {
	for n := range attempts {
		if n > 0 {
			at = <-p.open(ctx)
		}
		if at.err != nil {
			return nil, at.err
		}
		run, err = p.judged(ctx, at.venue)
		if err = errors.Join(err, at.venue.stop()); err != nil {
			return nil, err
		}
		again := run.Excused() && n+1 < attempts
		told.tell(run, again)
		if !again {
			break
		}
	}
	return run, nil
}

// spent is the processor time of the servers so far.
func (v *venue) spent(ctx context.Context) (server, redis time.Duration, err error) {
	if v.redis != nil {
		redis, err = v.redis.CPU(ctx)
	}
	return v.server.cpu(), redis, err
}

// judged has the crowd come, and judges what it saw.
func (p *party) judged(ctx context.Context, at *venue) (*acceptance.Run, error) {
	server0, redis0, err := at.spent(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	file := filepath.Join(p.Out, p.scenario+"-"+p.store+".ndjson")
	crossed, err := p.runK6(ctx, at.base, file)
	if err != nil {
		return nil, fmt.Errorf("%w\nthe server's last words:\n%s", err, at.server.log)
	}
	took := time.Since(began)
	server1, redis1, err := at.spent(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := p.settled(ctx, at)
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
			Server: server1 - server0, Redis: redis1 - redis0, Took: took, ServerBytes: at.server.peakBytes(),
		},
		Crossed: crossed, WindowSeconds: p.zone.WindowSeconds, Columns: acceptance.ColumnsOf(story, p.zone),
	}, nil
}

// settled are the server's counts when they no longer change: it reads them from
// the store once a second.
func (p *party) settled(ctx context.Context, at *venue) (*acceptance.Counts, error) {
	var was acceptance.Counts
	for {
		if err := pause(ctx, settleEvery); err != nil {
			return nil, err
		}
		var stats struct {
			Totals acceptance.Counts `json:"totals"`
		}
		text, err := at.server.ask(ctx, "/admin/zones/"+p.zone.ZoneID+"/stats")
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
func (p *party) startServer(ctx context.Context, dir string, v *venue) error {
	config, err := yaml.Marshal(map[string]any{"zones": []map[string]any{{
		"zoneId": p.zone.ZoneID, "perMinute": p.zone.PerMinute, "windowSeconds": p.zone.WindowSeconds,
	}}})
	if err != nil {
		return err
	}
	flags := []string{"--store=" + p.store}
	if v.redis != nil {
		flags = append(flags, "--redis-url="+v.redis.URL())
	}
	v.server, err = startServer(ctx, p.Server, "queue-server, "+p.store, dir, config, p.limits(), flags)
	return err
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
