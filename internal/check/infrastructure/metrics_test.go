package infrastructure

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// watched: Debian's exporter, with the settings that redis-secrets wrote, sees a node;
// and all that the rules name is there, of the exporter or in the file of figures.
func watched(t *testing.T, r *Redis) {
	t.Helper()
	n := r.Nodes[0]
	file := filepath.Join(n.Root, "etc/default/prometheus-redis-exporter")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the exporter's settings: %v, %v; they hold a password", info, err)
	}
	at := process.Local(freePort(t))
	exporter := &process.Process{Name: "prometheus-redis-exporter", Env: []string{}}
	for name, value := range environment(t, file) {
		if name == "REDIS_EXPORTER_WEB_LISTEN_ADDRESS" {
			if value != process.Local(9121) {
				t.Errorf("it would listen on %s", value)
			}
			value = at
		}
		exporter.Env = append(exporter.Env, name+"="+value)
	}
	begin(t, exporter)
	figures := ""
	client := &http.Client{Timeout: requestTimeout}
	Await(t, startTimeout, "the exporter sees Redis", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		figures = string(text)
		return err == nil && strings.Contains(figures, "\nredis_up 1\n")
	})
	if denied, err := n.Admin(t.Context(), "acl", "log"); err != nil || strings.Contains(denied, "metrics") {
		t.Errorf("the exporter does what it may not: %v\n%s", err, denied)
	}
	own, err := os.ReadFile(filepath.Join(n.Root, "var/lib/prometheus/node-exporter/redis.prom"))
	if err != nil {
		t.Fatal(err)
	}
	ends(t, n, string(own))
	figures += "\n" + string(own)
	rules, err := os.ReadFile(folder("../../../deploy/prometheus/redis.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named(t, string(rules)) {
		if strings.HasPrefix(name, "redis_") && !regexp.MustCompile(`(?m)^`+name+`[{ ]`).MatchString(figures) {
			t.Errorf("redis.rules.yml names %s, which nobody shows", name)
		}
	}
}

// named are the series that rules name.
func named(t *testing.T, rules string) (names []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`(?s)expr: >-\n(.*?)\n +(?:for|labels):`).FindAllStringSubmatch(rules, -1) {
		e, err := parser.ParseExpr(found[1])
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				names = append(names, v.Name)
			}
			return nil
		})
	}
	if len(names) < 10 {
		t.Fatalf("the rules name %q only", names)
	}
	return names
}

// ends: the file of figures has the end of each certificate, as openssl tells it.
func ends(t *testing.T, n *Node, figures string) {
	t.Helper()
	for _, part := range []string{"ca", "node"} {
		said, err := exec.Command("openssl", "x509", "-in", n.Etc(part+".pem"), "-noout", "-enddate").Output()
		if err != nil {
			t.Fatal(err)
		}
		end, err := time.Parse("notAfter=Jan _2 15:04:05 2006 MST", strings.TrimSpace(string(said)))
		if err != nil {
			t.Fatal(err)
		}
		if want := `redis_certificate_end_timestamp_seconds{certificate="` + part + `"} ` + strconv.FormatInt(end.Unix(), 10) + "\n"; !strings.Contains(figures, want) {
			t.Errorf("the figures lack %s:\n%s", want, figures)
		}
	}
}

// TestPortsOfFigures: Prometheus asks where the nodes answer.
func TestPortsOfFigures(t *testing.T) {
	t.Parallel()
	var asked, open map[string]int
	decode(t, evaluate(t, "monitoring", map[string]any{
		"name": "event", "vpc_id": "vpc-01", "subnet_id": "subnet-0a", "server_security_group_id": "sg-01", "autoscaling_group_name": "event-servers",
		"metrics_token_secret_arn": arn("metrics-token"),
	}, nil, nil), "local.redis_ports", &asked)
	decode(t, NewRedis(t).module, "local.metrics_ports", &open)
	if len(open) != 2 || asked["redis"] != open["redis"] || asked["machine"] != open["machine"] {
		t.Errorf("asked are the ports %v, open are %v", asked, open)
	}
}
