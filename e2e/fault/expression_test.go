package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	dashboardFile = "../../deploy/grafana/waiting-room.json"
	guideFile     = "../../docs/operating.md"
	guideURL      = "https://github.com/openqueue/waitingroom/blob/main/docs/operating.md"
)

// unused are the metrics of the server that no rule and no panel shows, each
// for a reason.
var unused = map[string]string{
	"queue_window_use_ratio":    "the dashboard divides admissions by the limit itself, of all servers",
	"queue_redis_touches_total": "what a short cut saves, not how anybody fares",
	"queue_window_seconds":      "a setting: for those who write rules of their own",
}

// prometheusOwn are series and labels that Prometheus adds itself.
var (
	prometheusOwn = map[string][]string{
		"up":     nil,
		"ALERTS": {"alertname", "alertstate", "severity", "zone"},
	}
	targetLabels = []string{"job", "instance"}
)

// series are names, each with the labels that it has.
type series map[string][]string

// expression is one that somebody will read a figure from.
type expression struct{ where, expr string }

// TestExpressionsNameWhatThereIs: every metric and every label that a rule or a
// panel names is there on a server that has just started; and what the server
// shows is used, or said not to be.
func TestExpressionsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := startServer(t, serverOptions{redisURL: e.url()})
	s.put(t, busy("BUSY"))
	s.limit(t, "api", `{"rules":[{"algorithm":"fixed_window","limit":1,"windowSeconds":60}]}`)
	var exported series
	await(t, settleTimeout, "the zone is shown", func() bool {
		exported = s.series(t)
		return exported["queue_waiting"] != nil
	})
	all := maps.Clone(exported)
	maps.Copy(all, prometheusOwn)
	expressions := panels(t)
	for _, name := range ruleNames {
		for _, g := range readRules(t, name).Groups {
			for _, r := range g.Rules {
				expressions = append(expressions, expression{name + " " + r.Record + r.Alert, r.Expr})
				if r.Record != "" {
					all[r.Record] = resulting(t, r.Expr)
				}
			}
		}
	}
	used := map[string]bool{}
	for _, x := range expressions {
		for _, fault := range check(x.expr, all, used) {
			t.Errorf("%s: %s", x.where, fault)
		}
	}
	for name := range exported {
		family := histogramPart.ReplaceAllString(name, "")
		if strings.HasPrefix(name, "queue_") && !used[family] && unused[family] == "" {
			t.Errorf("no rule and no panel uses %s; use it, or say why not in unused", family)
		}
	}
	for name := range unused {
		if used[name] || exported[name] == nil {
			t.Errorf("%s is used, or not there any more: take it out of unused", name)
		}
	}
	if found := check(`sum by (nothing) (queue_waiting{place="x"}) + absence`, all, used); len(found) != 3 {
		t.Errorf("of three things that are not there, the check finds %q", found)
	}
}

// histogramPart is what a histogram's series have behind their name.
var histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)

// check returns what an expression names that there is not, and marks the
// metrics that it uses.
func check(expr string, all series, used map[string]bool) (faults []string) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var within []string // labels of all that the expression names
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		own, there := all[v.Name]
		if !there {
			faults = append(faults, "there is no "+v.Name)
			return nil
		}
		used[histogramPart.ReplaceAllString(v.Name, "")] = true
		within = append(within, own...)
		for _, m := range v.LabelMatchers {
			if m.Name != labels.MetricName && !slices.Contains(own, m.Name) && !slices.Contains(targetLabels, m.Name) {
				faults = append(faults, fmt.Sprintf("%s has no label %s, only %v", v.Name, m.Name, own))
			}
		}
		return nil
	})
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		for _, name := range grouping(n) {
			if !slices.Contains(within, name) && !slices.Contains(targetLabels, name) {
				faults = append(faults, "nothing here has a label "+name)
			}
		}
		return nil
	})
	return faults
}

// grouping are the labels that a part of an expression joins by.
func grouping(n parser.Node) []string {
	switch n := n.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return n.VectorMatching.MatchingLabels
		}
	}
	return nil
}

// resulting are the labels of a recorded series: those of its outermost sum.
func resulting(t *testing.T, expr string) (own []string) {
	t.Helper()
	e, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			own = append(own, a.Grouping...)
		} else if v, ok := n.(*parser.VectorSelector); ok && v.Name == "zone_code:queue_refusals:rate1m" {
			own = append(own, "zone")
		}
		return nil
	})
	return own
}

// series are those that the server's /metrics shows now.
func (s *server) series(t testing.TB) series {
	t.Helper()
	status, text, err := s.get(t.Context(), s.operators+"/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("/metrics: %d %v", status, err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	all := series{}
	for name, f := range families {
		own := []string{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				own = append(own, l.GetName())
			}
		}
		switch f.GetType() {
		default:
			all[name] = own
		case dto.MetricType_SUMMARY:
			all[name] = append(own, "quantile")
		case dto.MetricType_HISTOGRAM:
			all[name+"_sum"], all[name+"_count"] = own, own
			all[name+"_bucket"] = append(slices.Clone(own), "le")
		}
	}
	return all
}

// dashboard is what these tests read of it.
type dashboard struct {
	SchemaVersion int `json:"schemaVersion"`
	Annotations   struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

// source is where Grafana gets the data from.
type source struct {
	UID string `json:"uid"`
}

type panel struct {
	ID          int    `json:"id"`
	Title       string `json:"title"`
	Type        string `json:"type"`
	Description string `json:"description"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Datasource source `json:"datasource"`
	Targets    []struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Datasource   source `json:"datasource"`
	} `json:"targets"`
}

func readDashboard(t testing.TB) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// panels are the dashboard's expressions, as Grafana would send them.
func panels(t *testing.T) (all []expression) {
	t.Helper()
	fill := strings.NewReplacer("$__rate_interval", "1m", "$zone", "a|b")
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, expression{"panel " + p.Title + " " + target.RefID, fill.Replace(target.Expr)})
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			all = append(all, expression{"annotation " + a.Name, fill.Replace(a.Expr)})
		}
	}
	for _, v := range d.Templating.List {
		if metric, _, ok := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ","); ok {
			all = append(all, expression{"variable " + v.Name, metric})
		}
	}
	return all
}

// TestDashboardIsWhole: what Grafana would not complain of, but show wrong.
func TestDashboardIsWhole(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	if d.SchemaVersion < 41 {
		t.Errorf("schema version %d", d.SchemaVersion)
	}
	variables := map[string]string{}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
	}
	if want := map[string]string{"datasource": "datasource", "zone": "query"}; !maps.Equal(variables, want) {
		t.Errorf("variables %v, want %v", variables, want)
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d is another's, too", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: no description, no expression, or another source of data", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || target.LegendFormat == "" {
				t.Errorf("%s %s: no legend, or another source of data", p.Title, target.RefID)
			}
		}
	}
}

// sentenceEnd is where another sentence begins.
var sentenceEnd = regexp.MustCompile(`\. [A-Z]`)

// TestEveryAlertSaysWhatToDo: one sentence of what is happening, and a section
// of the guide with its name; and the guide has none of an alert that is gone.
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (Queue\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections[m[1]] = true
	}
	for _, g := range readRules(t, "alert.rules.yml").Groups {
		for _, r := range g.Rules {
			if !sections[r.Alert] {
				t.Errorf("%s: docs/operating.md has no section %q", r.Alert, "### "+r.Alert)
			}
			delete(sections, r.Alert)
			if want := guideURL + "#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if s := r.Annotations["summary"]; !strings.HasSuffix(s, ".") || sentenceEnd.MatchString(s) {
				t.Errorf("%s: the summary is not one sentence: %q", r.Alert, s)
			}
			if r.Labels["severity"] != "page" && r.Labels["severity"] != "ticket" {
				t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
			}
		}
	}
	for name := range sections {
		t.Errorf("docs/operating.md says what to do for %s, which no rule is", name)
	}
}

// TestEveryAlertIsInTheTable: docs/alerts.md has one row of each alert, in their order.
func TestEveryAlertIsInTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows, alerts []string
	for _, m := range regexp.MustCompile(`(?m)^\| (Queue\w+) \|`).FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}
	for _, g := range readRules(t, "alert.rules.yml").Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
		}
	}
	slices.Sort(alerts)
	if !slices.Equal(rows, alerts) {
		t.Errorf("docs/alerts.md has rows of\n%v, and the alerts are\n%v", rows, alerts)
	}
}
