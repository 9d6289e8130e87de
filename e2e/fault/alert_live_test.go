//go:build alerts

package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// alarm is a fault, and the alerts that it must raise.
type alarm struct {
	fault string
	// zone and options are of what the fault hits.
	zone    zone.Settings
	options func(t *testing.T, e *engine) []serverOptions
	// breaks makes the fault, in the midst of what runs until the test is over.
	breaks func(t *testing.T, a *alarmed)
	must   []string
	// may are alerts that the same fault can raise, too; mayFast those that it can
	// only where the rules' minutes are shorter than the servers' own.
	may, mayFast []string
}

// alarmed is what a fault hits.
type alarmed struct {
	*guarded
	engine *engine
	zone   zone.Settings
	// broke is when the fault began.
	broke   time.Time
	running sync.WaitGroup
}

// minutes are those of the rules, at the speed at which the rules run.
func minutes(n float64) time.Duration {
	return time.Duration(n * float64(time.Minute) / float64(*alertScale))
}

// shared is two servers on one Redis.
func shared(_ *testing.T, e *engine) []serverOptions {
	o := serverOptions{redisURL: e.url()}
	return []serverOptions{o, o}
}

// alone is one server, started by another program.
func alone(under ...string) func(*testing.T, *engine) []serverOptions {
	return func(_ *testing.T, e *engine) []serverOptions {
		return []serverOptions{{redisURL: e.url(), under: under}}
	}
}

// slow is a zone that lets one in a second.
func slow(zoneID string) zone.Settings {
	z := zone.Defaults(zoneID)
	z.PerMinute = 60
	return z
}

// set changes settings of the zone; the text is the document's inside.
func (a *alarmed) set(t *testing.T, text string) {
	t.Helper()
	a.servers[0].operate(t, http.MethodPatch, a.zone.ZoneID, "{"+text+"}", http.StatusOK)
}

// corrupt adds members to one of the zone's sorted sets, as another program might
// that shares the Redis.
func (a *alarmed) corrupt(t *testing.T, key, score string, n int) {
	t.Helper()
	args := []string{"ZADD", "{" + a.zone.ZoneID + "}:" + key}
	for i := range n {
		args = append(args, score, fmt.Sprintf("foreign%d", i))
	}
	a.engine.do(t, args...)
}

// throttled is a room behind a gateway that lets one poll through every so often, and sends others away for
// a while.
type throttled struct {
	service
	every, away time.Duration
	mu          sync.Mutex
	next        time.Time
}

func (r *throttled) poll(ctx context.Context, zoneID, token string) (told, error) {
	r.mu.Lock()
	now := time.Now()
	pass := now.After(r.next)
	if pass {
		r.next = now.Add(r.every)
	}
	r.mu.Unlock()
	if !pass {
		return told{}, &refusal{code: "throttled", after: r.away, told: true, err: errors.New("by the gateway")}
	}
	return r.service.poll(ctx, zoneID, token)
}

// forged is a room whose visitors show a token that somebody made up, every second time.
type forged struct {
	service
	polls atomic.Int64
}

func (r *forged) poll(ctx context.Context, zoneID, token string) (told, error) {
	if r.polls.Add(1)%2 == 0 {
		token = strings.Repeat("A", len(token))
	}
	return r.service.poll(ctx, zoneID, token)
}

// hammer has so many clients ask for the metrics, with nothing between, until the
// test is over: of all requests, the one that costs the server most and a client
// least.
func (a *alarmed) hammer(t *testing.T, clients int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for range clients {
		a.running.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.servers[0].operators+"/metrics", http.NoBody)
				if err != nil {
					return
				}
				res, err := web.Do(req)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body) // for the next request's sake
				_ = res.Body.Close()
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
		web.CloseIdleConnections()
	})
}

// connect opens connections, asks once through each, and leaves them open.
func (a *alarmed) connect(t *testing.T, n int) {
	t.Helper()
	for range n {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(a.servers[0].public, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// overflow has ten a second connect to a listener that accepts nobody, and whose
// queue is full with one, until the test is over.
func (a *alarmed) overflow(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		t.Fatalf("the listener is a %T", l)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	// To listen once more is how the queue's length is changed.
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.running.Go(func() {
		for ctx.Err() == nil {
			one, done := context.WithTimeout(ctx, 100*time.Millisecond)
			c, err := new(net.Dialer).DialContext(one, "tcp", l.Addr().String())
			if err == nil {
				defer func() { _ = c.Close() }() // it stays in the queue
			}
			<-one.Done()
			done()
		}
	})
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
		_ = l.Close()
	})
}

var alarms = slices.Concat(zoneAlarms, eventAlarms, limitAlarms, siteAlarms)

var zoneAlarms = []alarm{
	{
		fault: "another program writes 500 live visitors into the zone's keys, who never come", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 200, 0)
			await(t, settleTimeout, "the line moves", func() bool { return a.crowd.admitted("BUSY") >= 60 })
			a.broke = time.Now()
			a.corrupt(t, "live", "1", 500)
		},
		must: []string{"QueueStalled"},
	},
	{
		fault: "another program writes 700 admissions into the zone's log", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.broke = time.Now()
			a.corrupt(t, "log", strconv.FormatInt(time.Now().UnixMilli(), 10), 700)
		},
		must: []string{"QueueMinuteExceeded", "QueueWindowExceeded"},
	},
	{
		// As it is left by a Redis whose clock was an hour fast and has been set right.
		fault: "the clock of Redis was an hour fast", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.broke = time.Now()
			a.engine.do(t, "HINCRBY", "{BUSY}:zone", "now_micros", strconv.FormatInt(time.Hour.Microseconds(), 10))
		},
		must: []string{"QueueClockOff"}, may: []string{"QueueSweepOld"},
	},
	{
		fault: "one of two servers runs on its embedded store", zone: slow("SLOW"),
		options: func(_ *testing.T, e *engine) []serverOptions {
			return []serverOptions{{redisURL: e.url()}, {}}
		},
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			// A token of one is garbage to the other's store, so each has a crowd.
			for _, s := range a.servers {
				web := newBalancer(s)
				t.Cleanup(web.close)
				c := &crowd{room: web}
				t.Cleanup(c.leave)
				c.arrive(t.Context(), "SLOW", 100+int(minutes(8).Seconds()), time.Second)
			}
		},
		must: []string{"QueueServersOverLimit"}, may: []string{"QueueLineGrowing"},
	},
	{
		fault: "a gateway lets 30 polls a minute through, of a limit of 60", zone: func() zone.Settings {
			z := slow("SLOW")
			z.IdleTimeoutSeconds = 600
			return z
		}(), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.room = &throttled{service: a.crowd.room, every: 2 * time.Second, away: 2 * time.Second}
			a.crowd.arrive(t.Context(), "SLOW", 400+int(minutes(8).Seconds()), time.Second)
		},
		must: []string{"QueueCapacityUnused"}, may: []string{"QueueEstimateOff"},
	},
	{
		fault: "300 a minute come, 60 are let in", zone: slow("SLOW"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "SLOW", int(5*minutes(14).Seconds()), minutes(14))
		},
		must: []string{"QueueLineGrowing"}, may: []string{"QueueCapacityUnused", "QueueEstimateOff"},
	},
	{
		fault: "an operator pauses the zone, and forgets", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 100, 0)
			await(t, settleTimeout, "some wait", func() bool { return a.crowd.waiting("BUSY") > 10 })
			a.broke = time.Now()
			a.set(t, `"perMinute":0`)
		},
		must: []string{"QueuePaused"}, mayFast: []string{"QueueMinuteExceeded"},
	},
	{
		fault: "a gateway lets 300 polls a minute through, of a limit of 600", zone: func() zone.Settings {
			z := busy("BUSY")
			z.IdleTimeoutSeconds = 3600
			return z
		}(), options: alone(),
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.room = &throttled{service: a.crowd.room, every: 200 * time.Millisecond, away: 10 * time.Second}
			a.crowd.arrive(t.Context(), "BUSY", 300+int(5*minutes(11.5).Seconds()), 20*time.Second)
		},
		must: []string{"QueueEstimateOff"}, may: []string{"QueueCapacityUnused"},
	},
	{
		fault: "200 visitors, a line of at most 20", zone: func() zone.Settings {
			z := slow("SLOW")
			z.MaxWaiting = 20
			return z
		}(), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "SLOW", 200, 0)
		},
		must: []string{"QueueRefusals"},
	},
	{
		fault: "one of two servers is started anew, with another secret", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.broke = time.Now()
			s := a.servers[1]
			s.become(t, room.Program(t), s.environment(a.engine.url()).with("QUEUE_SECRET", otherSecret))
		},
		must: []string{"QueueSecretsDiffer"}, may: []string{"QueueServerNotReady"},
	},
	{
		fault: "every second token that is shown was made up", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.room = &forged{service: a.crowd.room}
			a.crowd.arrive(t.Context(), "BUSY", 600, time.Second)
		},
		must: []string{"QueueTokensInvalid"}, may: []string{"QueueRefusals", "QueueEstimateOff", "QueueCapacityUnused", "QueueLineGrowing"},
	},
	{
		fault: "another program writes garbage into the record of changes; an operator reads it", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.engine.do(t, "LPUSH", "{BUSY}:audit", "garbage")
			a.broke = time.Now()
			status, _, err := a.servers[0].get(t.Context(), a.servers[0].operators+"/admin/audit?zoneId=BUSY")
			if err != nil || status != http.StatusInternalServerError {
				t.Errorf("the record: %d %v", status, err)
			}
		},
		must: []string{"QueueInternalErrors"},
	},
	{
		fault: "Redis is killed", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 100, 0)
			await(t, settleTimeout, "some wait", func() bool { return a.crowd.waiting("BUSY") > 10 })
			a.broke = time.Now()
			a.engine.Kill()
		},
		must: []string{"QueueStoreFailing", "QueueStoreErrors", "QueueServerNotReady", "QueueSweepOld", "QueueRefusals"},
		may:  []string{"QueueLimitsStoreFailing"},
	},
	{
		fault: "FLUSHALL", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 300, 0)
			await(t, settleTimeout, "many wait", func() bool { return a.crowd.waiting("BUSY") > 100 })
			a.broke = time.Now()
			a.engine.do(t, "FLUSHALL")
		},
		must: []string{"QueuePlacesRestored"},
	},
	{
		fault: "Redis is killed; the zone has onStoreFailure: admit", zone: func() zone.Settings {
			z := busy("BUSY")
			z.OnStoreFailure = zone.FailureAdmit
			return z
		}(), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 600, 0)
			await(t, settleTimeout, "some wait", func() bool { return a.crowd.waiting("BUSY") > 10 })
			a.broke = time.Now()
			a.engine.Kill()
		},
		must: []string{"QueueLocalAdmissions"},
		may: []string{
			"QueueStoreFailing", "QueueStoreErrors", "QueueSweepOld", "QueueRefusals", "QueueServerNotReady", "QueueLimitsStoreFailing",
		},
	},
	{
		fault: "the network to Redis takes 12 ms", zone: busy("BUSY"),
		options: func(t *testing.T, e *engine) []serverOptions {
			t.Helper()
			p := startProxy(t, e.addr())
			p.slow(12 * time.Millisecond)
			return []serverOptions{{redisURL: p.url()}}
		},
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.crowd.arrive(t.Context(), "BUSY", 200, 0)
		},
		must: []string{"QueueScriptSlow"},
	},
	{
		fault: "one of two servers is killed", zone: busy("BUSY"), options: shared,
		breaks: func(_ *testing.T, a *alarmed) {
			a.broke = time.Now()
			a.servers[1].Kill()
		},
		must: []string{"QueueServerDown"},
	},
	{
		fault: "all servers are killed", zone: busy("BUSY"), options: shared,
		breaks: func(_ *testing.T, a *alarmed) {
			a.broke = time.Now()
			a.servers[0].Kill()
			a.servers[1].Kill()
		},
		must: []string{"QueueServersAbsent"}, may: []string{"QueueServerDown"},
	},
	{
		fault: "eight programs read /metrics as fast as one processor answers", zone: busy("BUSY"),
		// Nice, where it may be: what else runs on the machine is not the matter.
		options: alone("nice", "-n", "-19", "env", "GOMAXPROCS=1"),
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.hammer(t, 8)
		},
		must: []string{"QueueServerBusy"}, may: []string{"QueueScriptSlow"},
	},
	{
		fault: "the disk is full, and an operator changes the limit", zone: busy("BUSY"),
		options: func(*testing.T, *engine) []serverOptions { return []serverOptions{{}} },
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			// What is written to it finds no space left on the device.
			link := filepath.Join(a.servers[0].Dir, "zones.json.new")
			await(t, settleTimeout, "the disk is full", func() bool { return os.Symlink("/dev/full", link) == nil })
			a.set(t, `"perMinute":7`)
		},
		must: []string{"QueueNotKept"},
	},
	{
		fault: "of 1,000 files that may be open, 700 are idle connections",
		zone:  busy("BUSY"), options: alone("sh", "-c", `ulimit -n 1000; exec "$0" "$@"`),
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.connect(t, 700)
		},
		must: []string{"QueueFilesRunOut"},
	},
	{
		fault: "a program beside the servers accepts nobody; ten a second connect to it",
		zone:  busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.overflow(t)
		},
		must: []string{queueListenOverflows},
	},
}

// queueListenOverflows: the kernel counts for the whole machine, so that the one
// experiment which overflows a queue raises it in all that run at the time.
const queueListenOverflows = "QueueListenOverflows"

// elsewhere are alerts that an experiment's neighbours can raise.
var elsewhere = append([]string{queueListenOverflows}, slowMachine...)

// TestAlerts has each alert raised by a fault on real servers: once, and no
// other alert that the fault does not account for.
func TestAlerts(t *testing.T) {
	t.Parallel()
	for _, x := range alarms {
		t.Run(x.fault, func(t *testing.T) {
			t.Parallel()
			a := &alarmed{engine: startEngine(t), zone: x.zone}
			a.guarded = guard(t, x.zone, *alertScale, x.options(t, a.engine)...)
			a.fires(t, nil, elsewhere)
			a.broke = time.Now()
			x.breaks(t, a)
			for _, name := range x.must {
				h := a.awaitAlert(t, alertTimeout+minutes(20), name)
				if len(x.must) == 1 || name != "QueueRefusals" {
					noteAlert(alertRow{name, x.fault, h.at.Sub(a.broke), h.annotations["summary"]})
				}
			}
			may := slices.Concat(x.may, elsewhere)
			if *alertScale > 1 {
				may = slices.Concat(may, x.mayFast)
			}
			a.fires(t, x.must, may)
		})
	}
}

// TestEveryAlertIsRaised: no alert is without a fault that raises it.
func TestEveryAlertIsRaised(t *testing.T) {
	t.Parallel()
	for _, g := range readRules(t, "alert.rules.yml").Groups {
		for _, r := range g.Rules {
			if !slices.ContainsFunc(alarms, func(a alarm) bool { return slices.Contains(a.must, r.Alert) }) {
				t.Errorf("no fault raises %s", r.Alert)
			}
		}
	}
}
