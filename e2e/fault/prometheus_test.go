package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"
)

const (
	// rulesDir is where the rules are, seen from this package's folder.
	rulesDir = "../../deploy/prometheus"
	// look is how often prometheus.yml has Prometheus look: scrape, and evaluate.
	look = 5 * time.Second
	// job is what the rules call the servers.
	job = "queue-server"
)

// rule is a recording rule or an alert.
type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         model.Duration    `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// ruleFile is a file of rules.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

// ruleNames are the two files of rules.
var ruleNames = []string{"recording.rules.yml", "alert.rules.yml"}

func readRules(t testing.TB, name string) ruleFile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rulesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	var f ruleFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// faster has all durations of the rules divided: what they look back over, and
// what they wait for. An alert for 10 minutes of growth is then one for a minute
// of it. What the rules compare, rates and shares, is the same at any speed.
func (f ruleFile) faster(t testing.TB, scale int) ruleFile {
	t.Helper()
	for _, g := range f.Groups {
		for i := range g.Rules {
			r := &g.Rules[i]
			r.For /= model.Duration(scale)
			e, err := parser.ParseExpr(r.Expr)
			if err != nil {
				t.Fatalf("%s%s: %v", r.Record, r.Alert, err)
			}
			parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
				if m, ok := n.(*parser.MatrixSelector); ok {
					m.Range /= time.Duration(scale)
				}
				return nil
			})
			r.Expr = e.String()
		}
	}
	return f
}

// tower is Debian's own Prometheus, with this project's rules, that looks at
// servers; the test is the Alertmanager to which it sends its alerts.
type tower struct {
	*child
	url   string
	scale int
	http  *http.Client

	mu    sync.Mutex
	heard map[string]heard // by the alert's labels
	odd   []string
	// ahead is by how much Prometheus's clock is ahead of the test's, whole
	// seconds: scripts/dates.sh cannot move it.
	ahead  time.Duration
	closed sync.WaitGroup
}

// heard is one alert, as Prometheus told of it.
type heard struct {
	labels, annotations map[string]string
	// at is when it was first told of, starts are all the times at which it began.
	at     time.Time
	starts []time.Time
	// over: it has ended.
	over bool
}

// watchtower starts a Prometheus that looks at the servers, scale times faster
// than prometheus.yml would have it, and is ready once it has looked.
func watchtower(t testing.TB, scale int, servers ...*server) *tower {
	t.Helper()
	w := &tower{scale: scale, heard: make(map[string]heard), http: &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true},
	}}
	dir := t.TempDir()
	for _, name := range ruleNames {
		text, err := yaml.Marshal(readRules(t, name).faster(t, scale))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, name, string(text))
	}
	targets := make([]string, len(servers))
	for i, s := range servers {
		targets[i] = strings.TrimPrefix(s.operators, "http://")
	}
	every := model.Duration(look / time.Duration(scale)).String()
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]string{"scrape_interval": every, "evaluation_interval": every, "scrape_timeout": every},
		"rule_files": ruleNames,
		"alerting": map[string]any{"alertmanagers": []any{map[string]any{
			"static_configs": []any{map[string][]string{"targets": {w.receive(t)}}},
		}}},
		"scrape_configs": []any{map[string]any{
			"job_name": job, "static_configs": []any{map[string][]string{"targets": targets}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	addr := local(freePort(t))
	w.url = "http://" + addr
	w.child = newChild(t, "prometheus", dir,
		"--config.file="+writeFile(t, dir, "prometheus.yml", string(config)),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr,
		// Every evaluation tells of what has begun and of what is over.
		"--rules.alert.resend-delay=1s", "--log.level=warn")
	w.start(t)
	await(t, startTimeout, "prometheus has looked at all servers", func() bool {
		return w.value(t.Context(), `sum(up{job="`+job+`"})`) == float64(len(servers))
	})
	// Before its first look it knows of no server, and on a busy machine says so.
	await(t, startTimeout, "no alert is left from the start", func() bool {
		return w.value(t.Context(), "count(ALERTS) or vector(0)") == 0
	})
	at := w.value(t.Context(), "vector(time())")
	if at < 0 {
		t.Fatal("prometheus does not say what time it is")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = time.Until(time.UnixMilli(int64(1000 * at))).Round(time.Second)
	clear(w.heard)
	return w
}

// receive starts what Prometheus believes to be its Alertmanager, and returns
// its address.
func (w *tower) receive(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", local(0))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(w.hear), ReadHeaderTimeout: requestTimeout}
	w.closed.Go(func() { _ = s.Serve(l) }) // ends with the test
	t.Cleanup(func() {
		w.Kill()
		_ = s.Close()
		w.closed.Wait()
	})
	return l.Addr().String()
}

// hear takes in what is posted to /api/v2/alerts.
func (w *tower) hear(_ http.ResponseWriter, r *http.Request) {
	var told []struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		StartsAt    time.Time         `json:"startsAt"`
		EndsAt      time.Time         `json:"endsAt"`
	}
	err := json.NewDecoder(r.Body).Decode(&told)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.odd = append(w.odd, err.Error())
	}
	for _, a := range told {
		key := fmt.Sprint(slices.Sorted(maps.Keys(a.Labels)), a.Labels)
		h, known := w.heard[key]
		h.over = !a.EndsAt.After(now.Add(w.ahead))
		if !known && h.over {
			continue // it was before the test began
		}
		if !known {
			h = heard{labels: a.Labels, at: now}
		}
		h.annotations = a.Annotations
		if !slices.ContainsFunc(h.starts, a.StartsAt.Equal) {
			h.starts = append(h.starts, a.StartsAt)
		}
		w.heard[key] = h
	}
}

// alerts are those of a name that Prometheus told of so far.
func (w *tower) alerts(name string) (all []heard) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.heard {
		if h.labels["alertname"] == name {
			all = append(all, h)
		}
	}
	return all
}

// fired returns the names of all alerts that were told of, and what was odd.
func (w *tower) fired() (names, odd []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.heard {
		names = append(names, h.labels["alertname"])
	}
	slices.Sort(names)
	return slices.Compact(names), slices.Clone(w.odd)
}

// awaitAlert waits until an alert fires, and returns it.
func (w *tower) awaitAlert(t testing.TB, within time.Duration, name string) heard {
	t.Helper()
	var all []heard
	await(t, within, name+" fires", func() bool {
		all = w.alerts(name)
		return len(all) > 0
	})
	return slices.MinFunc(all, func(a, b heard) int { return a.at.Compare(b.at) })
}

// query asks for the values of an expression, by the labels of each.
func (w *tower) query(ctx context.Context, expr string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1/query?query="+url.QueryEscape(expr), http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := w.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Error string `json:"error"`
		Data  struct {
			Result []struct {
				Metric model.Metric `json:"metric"`
				Value  [2]any       `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	values := make(map[string]float64)
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", expr, err)
		}
		values[r.Metric.String()] = v
	}
	return values, nil
}

// value is that of an expression with one result; -1 where there is none, or
// more.
func (w *tower) value(ctx context.Context, expr string) float64 {
	values, err := w.query(ctx, expr)
	if err != nil || len(values) != 1 {
		return -1
	}
	for _, v := range values {
		return v
	}
	return -1
}
