package infrastructure

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"gopkg.in/yaml.v3"
)

// maxUserData is what EC2 takes of user data, in bytes before base64.
const maxUserData = 16 << 10

// watching writes the files of the monitoring instance below a folder.
func watching(t *testing.T, topic string) (root, userData string) {
	t.Helper()
	root = t.TempDir()
	m := evaluate(t, "monitoring", map[string]any{
		"name": "event", "vpc_id": "vpc-01", "subnet_id": "subnet-0a", "server_security_group_id": "sg-01",
		"autoscaling_group_name": "event-servers", "admin_port": 8081, "alert_topic_arn": topic,
		"metrics_token_secret_arn": arn("metrics-token"),
		"redis_security_group_id":  redisGroup(topic),
	}, map[string]any{"root": root}, map[string]any{
		"data.aws_region.this.region":        region,
		"aws_ebs_volume.data.id":             "vol-01",
		"aws_secretsmanager_secret.password": map[string]any{"arn": arn("grafana")},
	})
	decode(t, m, "local.user_data", &userData)
	writeFiles(t, "", userData)
	// What monitoring-install fetches.
	writeFile(t, filepath.Join(root, "etc/prometheus/waiting-room/metrics-token"), metricsToken, 0o640)
	return root, userData
}

// redisGroup is the nodes' security group; without a topic there are none, either.
func redisGroup(topic string) string {
	if topic == "" {
		return ""
	}
	return "sg-02"
}

// TestMonitoring: Prometheus's own check of what it will read, and what Grafana is
// handed.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"", "arn:aws:sns:" + region + ":123456789012:duty"} {
		root, _ := watching(t, topic)
		config := filepath.Join(root, "etc/prometheus/waiting-room/prometheus.yml")
		said, err := exec.Command("promtool", "check", "config", config).CombinedOutput()
		files, jobs := "2 rule files found", []string{"queue-server", "prometheus"}
		if redisGroup(topic) != "" {
			files, jobs = "3 rule files found", []string{"queue-server", "redis-machine", "redis", "prometheus"}
		}
		if err != nil || !strings.Contains(string(said), files) {
			t.Errorf("promtool: %v\n%s", err, said)
		}
		var file struct {
			Alerting map[string]any   `yaml:"alerting"`
			Scrapes  []map[string]any `yaml:"scrape_configs"`
		}
		readYAML(t, config, &file)
		if (file.Alerting != nil) != (topic != "") {
			t.Errorf("with topic %q alerts go to %v", topic, file.Alerting)
		}
		var scraped []string
		for _, s := range file.Scrapes {
			name, _ := s["job_name"].(string)
			scraped = append(scraped, name)
		}
		if !slices.Equal(scraped, jobs) {
			t.Errorf("scraped are %q, want %q", scraped, jobs)
		}
		found, err := yaml.Marshal(file.Scrapes[0]["ec2_sd_configs"])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"refresh_interval: 30s", "tag:aws:autoscaling:groupName", "event-servers", "port: 8081"} {
			if !strings.Contains(string(found), want) {
				t.Errorf("servers are not found by %q:\n%s", want, found)
			}
		}
		shown, _ := file.Scrapes[0]["authorization"].(map[string]any)
		if token := filepath.Join(filepath.Dir(config), "metrics-token"); shown["credentials_file"] != token {
			t.Errorf("metrics are asked for with %v, want the token of %s", shown, token)
		}
		if tool, err := exec.LookPath("amtool"); err == nil {
			if said, err := exec.Command(tool, "check-config", filepath.Join(filepath.Dir(config), "alertmanager.yml")).CombinedOutput(); err != nil {
				t.Errorf("amtool: %v\n%s", err, said)
			}
		}
	}

	root, _ := watching(t, "")
	text, err := os.ReadFile(filepath.Join(root, "etc/grafana/dashboards/waiting-room.json"))
	if err != nil || !json.Valid(text) {
		t.Errorf("the dashboard: %v", err)
	}
	var sources struct {
		Datasources []struct {
			URL       string `yaml:"url"`
			IsDefault bool   `yaml:"isDefault"`
		} `yaml:"datasources"`
	}
	readYAML(t, filepath.Join(root, "etc/grafana/provisioning/datasources/prometheus.yaml"), &sources)
	if len(sources.Datasources) != 1 || !sources.Datasources[0].IsDefault || sources.Datasources[0].URL != "http://127.0.0.1:9090" {
		t.Errorf("%+v", sources)
	}
	for _, name := range []string{"etc/default/prometheus", "etc/default/prometheus-alertmanager"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !strings.Contains(string(text), "--web.listen-address=127.0.0.1:") {
			t.Errorf("%s does not keep it to this machine: %v\n%s", name, err, text)
		}
	}
}

// TestSubjectOfAlerts: SNS takes fewer than 100 characters, and Alertmanager does not
// send again what it refuses.
func TestSubjectOfAlerts(t *testing.T) {
	t.Parallel()
	root, _ := watching(t, "arn:aws:sns:"+region+":123456789012:duty")
	var file struct {
		Receivers []struct {
			SNS []struct {
				Subject string `yaml:"subject"`
			} `yaml:"sns_configs"`
		} `yaml:"receivers"`
	}
	readYAML(t, filepath.Join(root, "etc/prometheus/waiting-room/alertmanager.yml"), &file)
	if len(file.Receivers) != 1 || len(file.Receivers[0].SNS) != 1 {
		t.Fatalf("%+v", file)
	}
	subject := template.Must(template.New("subject").Parse(file.Receivers[0].SNS[0].Subject))
	for _, long := range []bool{false, true} {
		alert, zone := "QueueStalled", "SALE"
		if long {
			alert, zone = "QueueSitePassesRefused", strings.Repeat("Z", 64)
		}
		var said strings.Builder
		if err := subject.Execute(&said, map[string]any{
			"Status": "resolved", "CommonLabels": map[string]string{"alertname": alert, "zone": zone},
		}); err != nil {
			t.Fatal(err)
		}
		full := "event: resolved " + alert + " " + zone
		if got := said.String(); got == "" || !strings.HasPrefix(full, got) || len(got) >= 100 || len(full) < 100 && got != full {
			t.Errorf("%q, of %q", got, full)
		}
	}
}

// TestStartingServersAreNoAlert: a server that is shown while it is being installed, for
// three minutes, is told to nobody: an alert that ends within group_wait is not sent.
func TestStartingServersAreNoAlert(t *testing.T) {
	t.Parallel()
	root, _ := watching(t, "arn:aws:sns:"+region+":123456789012:duty")
	type route struct {
		Matchers  []string      `yaml:"matchers"`
		GroupBy   []string      `yaml:"group_by"`
		GroupWait time.Duration `yaml:"group_wait"`
		Routes    []route       `yaml:"routes"`
	}
	var file struct {
		Route route `yaml:"route"`
	}
	readYAML(t, filepath.Join(root, "etc/prometheus/waiting-room/alertmanager.yml"), &file)
	down := slices.IndexFunc(file.Route.Routes, func(r route) bool {
		return slices.Equal(r.Matchers, []string{"alertname = QueueServerDown"})
	})
	if down < 0 || file.Route.Routes[down].GroupWait < 4*time.Minute || !slices.Contains(file.Route.Routes[down].GroupBy, "instance") {
		t.Errorf("QueueServerDown goes the way of all others: %+v", file.Route)
	}
	if len(file.Route.Routes) != 1 || file.Route.GroupWait > 10*time.Second {
		t.Errorf("others are late: %+v", file.Route)
	}
}

// TestUserDataFits: what EC2 refuses, Terraform would find out half-way.
func TestUserDataFits(t *testing.T) {
	t.Parallel()
	_, monitoring := watching(t, "arn:aws:sns:"+region+":123456789012:duty")
	var nodes []string
	decode(t, NewRedis(t).module, "local.user_data", &nodes)
	for _, userData := range append(slices.Clone(nodes), monitoring) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(userData)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if packed.Len() > maxUserData*9/10 {
			t.Errorf("%d bytes of user data, of at most %d; a tenth is to spare for what is to come:\n%.200s", packed.Len(), maxUserData, userData)
		}
		t.Logf("%d bytes", packed.Len())
	}
}

// TestScriptsAreBash: all that is rendered for bash is parsed by it.
func TestScriptsAreBash(t *testing.T) {
	t.Parallel()
	root, _ := watching(t, "arn:aws:sns:"+region+":123456789012:duty")
	r := NewRedis(t)
	for _, pattern := range []string{root + "/usr/local/sbin/*", r.Nodes[0].Root + "/usr/local/sbin/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			if said, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(file), err, said)
			}
		}
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
