package fault

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/e2e/room"
)

// alertTable is a file of tests of promtool, as far as it is read here.
type alertTable struct {
	GroupEvalOrder []string    `yaml:"group_eval_order"`
	Tests          []alertTest `yaml:"tests"`
}

type alertTest struct {
	Name   string `yaml:"name"`
	Series []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Cases []struct {
		At     time.Duration `yaml:"eval_time"`
		Alert  string        `yaml:"alertname"`
		Alerts []struct {
			Labels map[string]string `yaml:"exp_labels"`
		} `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// looks is how far apart the values of alert.test.yml are, in seconds.
const looks = 5

// TestAlertsAtAnyInterval: where Prometheus scrapes and evaluates every 15, 30 or 60 s, wherever the scrapes lie, the alerts of the table
// that must fire do, and no others.
func TestAlertsAtAnyInterval(t *testing.T) {
	t.Parallel()
	var table alertTable
	if err := yaml.Unmarshal([]byte(room.Read(t, filepath.Join(rulesFolder, "alert.test.yml"))), &table); err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(rulesFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, every := range []int{15, 30, 60} {
		step := every / looks
		for first := 0; first < step; first += max(1, step/3) {
			t.Run(fmt.Sprintf("%d s, from %d s on", every, first*looks), func(t *testing.T) {
				t.Parallel()
				var tests []any
				for _, test := range table.Tests {
					tests = append(tests, test.at(t, every, first))
				}
				text, err := yaml.Marshal(map[string]any{
					"rule_files":          []string{filepath.Join(rules, "recording.rules.yml"), filepath.Join(rules, "alert.rules.yml")},
					"evaluation_interval": fmt.Sprint(every, "s"), "group_eval_order": table.GroupEvalOrder, "tests": tests,
				})
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				room.Write(t, filepath.Join(dir, "at.test.yml"), string(text))
				room.Do(t, dir, "promtool", "test", "rules", "at.test.yml")
			})
		}
	}
}

// at returns the same test with the values that a scrape sees which begins with the value of that number: at its end, every alert of its
// cases, and no other, has fired.
func (a *alertTest) at(t *testing.T, every, first int) any {
	t.Helper()
	var end time.Duration
	var series []any
	for _, s := range a.Series {
		all := expand(t, s.Values)
		var seen []string
		for i := first; i < len(all); i += every / looks {
			// A series that ends does so at the next scrape.
			if ends := slices.Index(all[max(0, i-every/looks+1):i+1], "stale"); ends >= 0 {
				all[i] = "stale"
			}
			seen = append(seen, all[i])
		}
		if last := slices.Index(all, "stale"); last >= 0 && !slices.Contains(seen, "stale") {
			seen = append(seen, "stale")
		}
		end = max(end, time.Duration(len(seen)*every)*time.Second)
		series = append(series, map[string]string{"series": s.Series, "values": strings.Join(seen, " ")})
	}
	fires := make(map[string]map[string]bool)
	for _, c := range a.Cases {
		end = max(end, c.At+time.Duration(2*every)*time.Second)
		if fires[c.Alert] == nil {
			fires[c.Alert] = make(map[string]bool)
		}
		for _, alert := range c.Alerts {
			labels := maps.Clone(alert.Labels)
			delete(labels, "severity")
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(labels)) {
				pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
			}
			fires[c.Alert]["{"+strings.Join(pairs, ", ")+"}"] = true
		}
	}
	var asked []any
	for _, alert := range slices.Sorted(maps.Keys(fires)) {
		var samples []any
		for _, labels := range slices.Sorted(maps.Keys(fires[alert])) {
			samples = append(samples, map[string]any{"labels": labels, "value": 1})
		}
		asked = append(asked, map[string]any{
			"expr":      fmt.Sprintf(`max without (alertname, alertstate, severity) (max_over_time(ALERTS{alertname=%q, alertstate="firing"}[%s]))`, alert, end),
			"eval_time": end.String(), "exp_samples": samples,
		})
	}
	return map[string]any{"name": a.Name, "interval": fmt.Sprint(every, "s"), "input_series": series, "promql_expr_test": asked}
}

var repeated = regexp.MustCompile(`^(-?[\d.]+|_)?(?:([+-][\d.]+))?x(\d+)$`)

// expand returns the values that promtool reads in a row such as "0+5x3 _ 7x2 stale": 0 5 10 15 _ 7 7 7 stale.
func expand(t *testing.T, values string) (all []string) {
	t.Helper()
	for word := range strings.FieldsSeq(values) {
		m := repeated.FindStringSubmatch(word)
		if m == nil {
			all = append(all, word)
			continue
		}
		times, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatalf("%q of %q: %v", word, values, err)
		}
		if m[1] == "_" { // _x3 are three, while 0x3 is 0 and three more
			all = append(all, slices.Repeat([]string{"_"}, times)...)
			continue
		}
		from, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatalf("%q of %q: %v", word, values, err)
		}
		grows, err := strconv.ParseFloat(m[2], 64)
		if m[2] != "" && err != nil {
			t.Fatalf("%q of %q: %v", word, values, err)
		}
		for i := range times + 1 {
			all = append(all, strconv.FormatFloat(from+float64(i)*grows, 'g', -1, 64))
		}
	}
	return all
}

// calm are rooms of which nothing may fire: one fails over during a single scrape.
var calm = []string{"calm", "fails over"}

// TestAlertsInPrometheus has a real Prometheus that evaluates every minute, as far as the rules let it, scrape rooms every 5, 15, 30 and 60 s,
// each at a time of its own. In all of them a limit is exceeded for a second and a step of an event comes late, both between two scrapes, and
// the store does not come back; in calm ones not.
func TestAlertsInPrometheus(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	scrapes := make(map[string]int)
	rooms := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := url.PathUnescape(strings.TrimPrefix(r.URL.Path, "/"))
		mu.Lock()
		scrapes[name]++
		first := scrapes[name] == 1
		mu.Unlock()
		trouble := !slices.ContainsFunc(calm, func(c string) bool { return strings.HasPrefix(name, c) })
		happened := number(trouble && !first)
		failing := number(trouble || first && strings.HasPrefix(name, "fails over"))
		_, _ = fmt.Fprintf(w, `process_start_time_seconds{room=%[1]q} 1000
queue_ready{room=%[1]q} 1
queue_limit_exceeded_seconds_total{room=%[1]q,zone="SALE"} %[2]d
queue_event_late_seconds{room=%[1]q,zone="SALE"} 0
queue_event_step_delay_seconds_count{room=%[1]q,zone="SALE"} %[2]d
queue_event_step_delay_seconds_bucket{room=%[1]q,zone="SALE",le="1"} 0
queue_store_failing{room=%[1]q,zone="SALE"} %[3]d
`, name, happened, failing)
	}))
	t.Cleanup(rooms.Close)
	var jobs []any
	troubled := 0
	for _, every := range []int{5, 15, 30, 60} {
		for _, name := range append([]string{"a", "b", "c"}, calm...) {
			name = fmt.Sprint(name, " ", every)
			jobs = append(jobs, map[string]any{
				"job_name": name, "scrape_interval": fmt.Sprint(every, "s"), "scrape_timeout": "4s", "metrics_path": "/" + url.PathEscape(name),
				"static_configs": []any{map[string]any{"targets": []string{strings.TrimPrefix(rooms.URL, "http://")}}},
				"relabel_configs": []any{
					map[string]string{"target_label": "job", "replacement": "queue-server"}, map[string]string{"target_label": "instance", "replacement": name},
				},
			})
		}
		troubled += 3
	}
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]string{"evaluation_interval": "1m"},
		"rule_files": []string{"recording.rules.yml", "alert.rules.yml"}, "scrape_configs": jobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	room.Write(t, filepath.Join(dir, "prometheus.yml"), string(config))
	p := runPrometheus(t, dir)
	for _, alert := range []string{"QueueLimitExceeded", "QueueEventLate", "QueueStoreFailing"} {
		expr := fmt.Sprintf(`count(max by (room) (max_over_time(ALERTS{alertname=%q, alertstate="firing"}[10m])))`, alert)
		if !room.Soon(t, 4*time.Minute, func() bool { return p.value(t.Context(), expr) == float64(troubled) }) {
			t.Errorf("%s fires in %v rooms, want %d", alert, p.value(t.Context(), expr), troubled)
		}
	}
	if n := p.value(t.Context(), `count(max_over_time(up[10m]))`); n != float64(len(jobs)) {
		t.Errorf("%v of %d rooms are scraped", n, len(jobs))
	}
	if calms := p.vector(t.Context(), `max_over_time(ALERTS{alertstate="firing", room=~"calm.*|fails over.*"}[10m])`); len(calms) > 0 {
		t.Errorf("alerts fire in rooms that are calm: %v", calms)
	}
}

func number(holds bool) int {
	if holds {
		return 1
	}
	return 0
}
