package infrastructure

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	// signingSecret and the tokens are such as Terraform would have drawn.
	signingSecret = "8fK2mZq0VtYc4RbN7wXsJd1LhGp6EuAo3TiMy5Qk9SvCfBnWxHzDrPgUjOeIlKa2"
	adminToken    = "Wm3Tz8Kc1Vn6Yb4Qp9Xs2Jd7LhGr5EuAo0FiMyRkSvCtBnWx"
	metricsToken  = "Hq7Wd2Zx9Lm4Sv6Tk1Rb8NcYp3Gj5FuQe0AoXiBzKtDnVrMs"
	// requestTimeout is what a visitor bears.
	requestTimeout = 3 * time.Second
	// places are the folders of an instance that a server's settings name.
	runFolder, dataFolder = "/run/queue-server-secrets", "/var/lib/queue-server"
)

// Server is queue-server as an instance of modules/servers runs it.
type Server struct {
	Public, Operators string // http://host:port
	client            *http.Client
}

// StartServer starts queue-server on the cluster: cloud-init's files, the secrets as
// the instance's own script fetches them, and the settings that systemd would read.
func (r *Redis) StartServer(t testing.TB) *Server {
	t.Helper()
	root := t.TempDir()
	public, operators := freePort(t), freePort(t)
	r.put(t, "signing", signingSecret)
	r.put(t, "admin-token", adminToken)
	r.put(t, "metrics-token", metricsToken)
	writeFiles(t, root, servers(t, r))

	mkdir(t, root+runFolder)
	mkdir(t, root+dataFolder)
	r.script(t, "/usr/bin/env", "QUEUE_INSTANCE_FILE="+root+"/etc/queue-server/instance", "RUNTIME_DIRECTORY="+root+runFolder,
		root+"/usr/local/sbin/queue-server-secrets")

	// The settings name folders of the instance, and ports that may be taken here.
	queue := &process.Process{Name: binary(t), Args: []string{"serve", "--addr=" + process.Local(public), "--admin-addr=" + process.Local(operators)}}
	// The instance's environment is all that the server gets, and where
	// scripts/dates.sh moves the clock, that of the instance.
	queue.Env = []string{"CLOCK_AHEAD_SECONDS=" + os.Getenv("CLOCK_AHEAD_SECONDS")}
	for _, file := range []string{"/etc/queue-server/environment", runFolder + "/environment"} {
		for name, value := range environment(t, root+file) {
			for _, folder := range []string{runFolder, dataFolder} {
				value = strings.ReplaceAll(value, folder, root+folder)
			}
			queue.Env = append(queue.Env, name+"="+value)
		}
	}
	begin(t, queue)
	s := &Server{
		Public: "http://" + process.Local(public), Operators: "http://" + process.Local(operators),
		client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	Await(t, startTimeout, "the server is ready", func() bool {
		status, _ := s.Do(t.Context(), http.MethodGet, s.Public+"/readyz", nil, nil)
		return status == http.StatusOK
	})
	return s
}

// servers is the user data of an instance of modules/servers, on this cluster.
func servers(t testing.TB, r *Redis) string {
	t.Helper()
	m := evaluate(t, "servers", map[string]any{
		"name": "event", "vpc_id": "vpc-01", "vpc_cidr": "127.0.0.0/8",
		"subnet_a": "subnet-0a", "subnet_b": "subnet-0b", "subnet_c": "subnet-0c",
		"balancer_security_group_id": "sg-01", "monitoring_security_group_id": "sg-02",
		"target_group_arn":    "arn:aws:elasticloadbalancing:" + region + ":123456789012:targetgroup/event/01",
		"request_count_label": "app/event/0123456789abcdef/targetgroup/event/0123456789abcdef",
		"package_url":         "https://releases.example/queue-server_1.0.0_amd64.deb", "package_sha256": strings.Repeat("0a", 32),
		"signing_secret_arn": arn("signing"), "admin_token_secret_arn": arn("admin-token"),
		"metrics_token_secret_arn": arn("metrics-token"),
		"redis_url":                r.output(t, "url"), "redis_user": r.output(t, "user"), "redis_port": 1, "redis_last_port": 65535,
		"redis_password_secret_arn": arn("queue"), "redis_ca_secret_arn": arn("ca"),
	}, nil, map[string]any{"data.aws_region.current.region": region})
	var userData string
	decode(t, m, "local.user_data", &userData)
	return userData
}

// output is what modules/redis hands on, for these nodes.
func (r *Redis) output(t testing.TB, name string) string {
	t.Helper()
	v, err := r.module.Argument(r.module.Of("output", name)[0], "value")
	if err != nil || !v.IsKnown() || v.Type() != cty.String {
		t.Fatalf("output %s: %#v, %v", name, v, err)
	}
	return v.AsString()
}

// environment reads a file of settings as systemd does, as far as these need it.
func environment(t testing.TB, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for l := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(l), "="); ok && !strings.HasPrefix(name, "#") {
			if strings.ContainsAny(value, `"'\`) {
				t.Fatalf("%s: %s needs systemd's rules for quotes", file, name)
			}
			all[name] = value
		}
	}
	return all
}

// binary builds queue-server.
func binary(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "queue-server")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/queue-server")
	cmd.Dir = folder("../../..")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, said)
	}
	return file
}

// Do sends a request, with the operators' token where they are asked, and decodes
// the answer. The status is 0 where there was none.
func (s *Server) Do(ctx context.Context, method, url string, body, into any) (status int, text string) {
	sent, err := json.Marshal(body)
	if err != nil {
		return 0, err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(sent))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(url, s.Operators+"/admin") {
		req.Header.Set("Authorization", "Bearer "+adminToken)
	}
	if url == s.Operators+"/metrics" {
		req.Header.Set("Authorization", "Bearer "+metricsToken)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	if into != nil && res.StatusCode/100 == 2 {
		if err := json.Unmarshal(answer, into); err != nil {
			return 0, err.Error()
		}
	}
	return res.StatusCode, string(answer)
}
