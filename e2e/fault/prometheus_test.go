package fault

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	rulesFolder   = "../../deploy/prometheus"
	dashboardFile = "../../deploy/grafana/waiting-room.json"
)

var (
	metricName = regexp.MustCompile(`queue_[a-z0-9_]+`)
	ofAFamily  = regexp.MustCompile(`_(bucket|sum|count)$`)
	// named are the metrics in an expression; a recording rule has colons.
	named = regexp.MustCompile(`[a-z_:0-9]*queue_[a-z0-9_:]+`)
)

// TestRulesNameWhatThereIs: every metric that a rule or a panel names is there on a server
// that has just started.
func TestRulesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	hooks := filepath.Join(t.TempDir(), "webhooks.yaml")
	room.Write(t, hooks, "- {name: nobody, url: 'http://127.0.0.1:9', secret: whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazzNr8YK9mY=,"+
		" events: [place.turn], privateNetworks: [127.0.0.0/8]}")
	s := startServer(t, e.URL(), map[string]string{"QUEUE_WEBHOOKS": hooks})
	capped := busy("BUSY")
	capped.MaxInside = 10
	s.Put(t, capped)
	s.Operate(t, http.MethodPut, "/admin/limits/api", `{"rules":[{"algorithm":"fixed_window","limit":1,"windowSeconds":60}]}`)
	have := make(map[string]bool)
	room.Await(t, "the zone has metrics", func() bool {
		for _, name := range metricName.FindAllString(room.Request(t, http.MethodGet, s.Operators+"/metrics", "").Body, -1) {
			have[ofAFamily.ReplaceAllString(name, "")] = true
		}
		return have["queue_waiting"]
	})
	files := room.Glob(t, filepath.Join(rulesFolder, "*.rules.yml"))
	var recorded, asked []string
	for _, file := range append(files, dashboardFile) {
		for line := range strings.Lines(room.Read(t, file)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if _, record, ok := strings.Cut(line, "- record: "); ok {
				recorded = append(recorded, strings.TrimSpace(record))
				continue
			}
			asked = append(asked, named.FindAllString(line, -1)...)
		}
	}
	for _, name := range recorded {
		have[name] = true
	}
	for _, name := range asked {
		if !have[name] && !have[ofAFamily.ReplaceAllString(name, "")] {
			t.Errorf("no server has %s", name)
		}
	}
}

// TestPrometheusSeesWhatVisitorsSaw has a real Prometheus with the rules as they are look at
// two servers, and compares what it has with what visitors were told. Then Redis is killed,
// and the alert of that fires until it is back.
func TestPrometheusSeesWhatVisitorsSaw(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	z := busy("BUSY")
	z.PerMinute, z.WindowSeconds = 1200, 2
	z.IdleTimeoutSeconds = 60 // nobody is swept who is late on a busy machine
	servers := []*room.Server{startServer(t, e.URL(), nil), startServer(t, e.URL(), nil)}
	servers[0].Put(t, z, servers[1])
	web := newBalancer(servers...)
	t.Cleanup(web.close)
	c := newCrowd(t, web)
	p := startPrometheus(t, servers...)

	c.arrive("BUSY", 240, time.Second)
	room.Await(t, "the line moves", func() bool { return c.admitted("BUSY") >= 80 })
	hold(t, servers[0], "BUSY")
	for expr, want := range map[string]func() int{
		`sum(queue_admissions_total{zone="BUSY"})`:        func() int { return c.admitted("BUSY") },
		`max(queue_zone_admitted_total{zone="BUSY"})`:     func() int { return c.admitted("BUSY") },
		`sum(queue_wait_seconds_count{zone="BUSY"})`:      func() int { return c.admitted("BUSY") },
		`max(zone:queue_waiting:max{zone="BUSY"})`:        func() int { return 240 - c.admitted("BUSY") },
		`max(zone:queue_per_minute:max{zone="BUSY"}) + 0`: func() int { return 0 },
	} {
		var got float64
		if !room.Soon(t, room.Patience, func() bool {
			got = p.value(t.Context(), expr)
			return got == float64(want())
		}) {
			t.Errorf("%s is %v, visitors saw %d", expr, got, want())
		}
	}

	failing := `count(ALERTS{alertname="QueueStoreFailing", zone="BUSY", alertstate="firing"}) or vector(0)`
	e.Kill()
	room.Await(t, "QueueStoreFailing fires", func() bool { return p.value(t.Context(), failing) == 1 })
	e.start(t)
	room.Await(t, "QueueStoreFailing is over", func() bool { return p.value(t.Context(), failing) == 0 })
	if p.value(t.Context(), `count(ALERTS{alertname=~"Queue(LimitExceeded|ServersOverLimit|InternalErrors)"}) or vector(0)`) != 0 {
		t.Error("an alert that must never fire has fired")
	}
}

// prometheus is Debian's own, with this project's configuration and rules.
type prometheus struct {
	*process.Process
	url string
}

// startPrometheus starts one that looks at the servers, and is ready once it has looked.
func startPrometheus(t *testing.T, servers ...*room.Server) *prometheus {
	t.Helper()
	dir := t.TempDir()
	targets := make([]string, len(servers))
	for i, s := range servers {
		targets[i] = `"` + strings.TrimPrefix(s.Operators, "http://") + `"`
	}
	config := room.Read(t, filepath.Join(rulesFolder, "prometheus.yml"))
	room.Write(t, filepath.Join(dir, "prometheus.yml"), strings.Replace(config, `"127.0.0.1:8081"`, strings.Join(targets, ", "), 1))
	p := runPrometheus(t, dir)
	room.Await(t, "prometheus has looked at all servers", func() bool {
		return p.value(t.Context(), `sum(up{job="queue-server"})`) == float64(len(servers))
	})
	return p
}

// runPrometheus starts one with the rules and the prometheus.yml of a folder.
func runPrometheus(t *testing.T, dir string) *prometheus {
	t.Helper()
	for _, name := range []string{"recording.rules.yml", "alert.rules.yml"} {
		room.Write(t, filepath.Join(dir, name), room.Read(t, filepath.Join(rulesFolder, name)))
	}
	addr := room.FreeAddr(t)
	p := &prometheus{url: "http://" + addr}
	p.Process = room.Adopt(t, &process.Process{Name: "prometheus", Dir: dir, Args: []string{
		"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--web.listen-address=" + addr, "--log.level=warn",
	}})
	room.Launch(t, p)
	return p
}

// value is that of an expression with one result; -1 where there is none, or more.
func (p *prometheus) value(ctx context.Context, expr string) float64 {
	all := p.vector(ctx, expr)
	if len(all) != 1 {
		return -1
	}
	value, err := strconv.ParseFloat(strings.Trim(string(all[0].Value[1]), `"`), 64)
	if err != nil {
		return -1
	}
	return value
}

// series is one of an answer of Prometheus, with its time and value.
type series struct {
	Metric map[string]string  `json:"metric"`
	Value  [2]json.RawMessage `json:"value"`
}

// vector returns all series of an expression, none if Prometheus does not answer.
func (p *prometheus) vector(ctx context.Context, expr string) []series {
	var answer struct {
		Data struct {
			Result []series `json:"result"`
		} `json:"data"`
	}
	r, err := room.Ask(ctx, nil, http.MethodGet, p.url+"/api/v1/query?query="+url.QueryEscape(expr), "")
	if err != nil || json.Unmarshal([]byte(r.Body), &answer) != nil {
		return nil
	}
	return answer.Data.Result
}
