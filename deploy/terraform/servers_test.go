package terraform

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// servers evaluates the module with sample values, and those of more besides, as
// it would be at a time.
func servers(t *testing.T, at string, more map[string]cty.Value) *Evaluated {
	t.Helper()
	m, err := Load("modules/servers")
	if err != nil {
		t.Fatal(err)
	}
	values := inputs(t, m)
	maps.Copy(values, more)
	e, err := m.Evaluate(Given{Variables: values, Now: at, Known: map[string]cty.Value{
		"data.aws_region.current.region": cty.StringVal("eu-central-1"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// argumentOf is a known argument of a resource, as text.
func argumentOf(t *testing.T, e *Evaluated, kind, label, name string) string {
	t.Helper()
	found := e.Of("resource", kind, label)
	if len(found) != 1 {
		t.Fatalf("there are %d %s.%s", len(found), kind, label)
	}
	v, err := e.Argument(found[0], name)
	if err != nil || !v.IsKnown() || v.IsNull() {
		t.Fatalf("%s.%s.%s is %#v, %v", kind, label, name, v, err)
	}
	text, err := e.Text(v.AsBigFloat().String())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The group is warmed up before the event, and a run at any time leaves the
// event's servers alone.
func TestTheEventsServers(t *testing.T) {
	t.Parallel()
	event := map[string]cty.Value{
		"event_start": cty.StringVal("2026-12-01T11:00:00Z"), "event_end": cty.StringVal("2026-12-01T14:00:00Z"),
		"min_size": cty.NumberIntVal(2), "max_size": cty.NumberIntVal(12), "event_size": cty.NumberIntVal(9),
	}
	tests := []struct {
		name, at                string
		given                   map[string]cty.Value
		least, warmUps, returns string
	}{
		{"no event", "2026-12-01T09:00:00Z", nil, "2", "0", "0"},
		{"the day before", "2026-11-30T11:00:00Z", event, "2", "1", "1"},
		{"a second before the warm-up", "2026-12-01T09:59:59Z", event, "2", "1", "1"},
		{"the warm-up", "2026-12-01T10:00:00Z", event, "9", "0", "1"},
		{"the event", "2026-12-01T12:00:00Z", event, "9", "0", "1"},
		{"its end", "2026-12-01T14:00:00Z", event, "2", "0", "0"},
		{"the day after", "2026-12-02T11:00:00Z", event, "2", "0", "0"},
	}
	for _, tt := range tests {
		e := servers(t, tt.at, tt.given)
		if got := argumentOf(t, e, "aws_autoscaling_group", "this", "min_size"); got != tt.least {
			t.Errorf("%s: at least %s servers, want %s", tt.name, got, tt.least)
		}
		if got := argumentOf(t, e, "aws_autoscaling_schedule", "warm_up", "count"); got != tt.warmUps {
			t.Errorf("%s: %s warm-ups ahead, want %s", tt.name, got, tt.warmUps)
		}
		if got := argumentOf(t, e, "aws_autoscaling_schedule", "back", "count"); got != tt.returns {
			t.Errorf("%s: %s ways back ahead, want %s", tt.name, got, tt.returns)
		}
	}
	e := servers(t, "2026-11-30T11:00:00Z", event)
	if got := argumentOf(t, e, "aws_autoscaling_schedule", "warm_up", "min_size"); got != "9" {
		t.Errorf("warmed up are %s servers, want 9", got)
	}
	if at, err := e.Text("local.warm_up_at"); err != nil || at != "2026-12-01T10:00:00Z" {
		t.Errorf("warmed up is at %s, %v; want an hour before the event", at, err)
	}
}

// withLimits are the variables of servers that answer questions about limits.
var withLimits = map[string]cty.Value{
	"limits_port": cty.NumberIntVal(8082), "limits_security_group_id": cty.StringVal("sg-0123456789abcdef9"),
	"limits_target_group_arn": cty.StringVal("arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/limit-/02"),
}

// Of the servers' ports the public one is the balancer's, the operators' one that of
// monitoring, and there is no third but that of limits, where there are any: it is
// that of their own balancer.
func TestWhoReachesTheServers(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"8080": samples["balancer_security_group_id"].AsString(), "8081": samples["monitoring_security_group_id"].AsString(),
	}
	for _, given := range []map[string]cty.Value{nil, withLimits} {
		if given != nil {
			want["8082"] = withLimits["limits_security_group_id"].AsString()
		}
		e := servers(t, now, given)
		got := make(map[string]string)
		for _, rule := range e.Of("resource", "aws_vpc_security_group_ingress_rule") {
			if n, err := e.Argument(rule, "count"); err != nil {
				t.Fatal(err)
			} else if !n.IsNull() && n.RawEquals(cty.NumberIntVal(0)) {
				continue
			}
			from, to := argumentOf(t, e, rule.Labels[0], rule.Labels[1], "from_port"), argumentOf(t, e, rule.Labels[0], rule.Labels[1], "to_port")
			if from != to {
				t.Errorf("%s is for ports %s to %s", Address(rule), from, to)
			}
			source, err := e.Argument(rule, "referenced_security_group_id")
			if err != nil {
				t.Fatal(err)
			}
			got[from] = source.AsString()
		}
		if !maps.Equal(got, want) {
			t.Errorf("the servers admit %v, want %v", got, want)
		}
	}
}

// What the servers could not work with is refused before anything is made.
func TestServersRefuse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		given   map[string]cty.Value
		refused bool
	}{
		{"a Redis at another port than is open", map[string]cty.Value{"redis_url": cty.StringVal("rediss://redis.example:6380")}, true},
		{"that port opened", map[string]cty.Value{"redis_url": cty.StringVal("rediss://redis.example:6380"), "redis_port": cty.NumberIntVal(6380)}, false},
		{"one of several is closed", map[string]cty.Value{"redis_url": cty.StringVal("redis+sentinel://a:26379,b:26380/main"), "redis_port": cty.NumberIntVal(6379), "redis_last_port": cty.NumberIntVal(26379)}, true},
		{"all of them open", map[string]cty.Value{"redis_url": cty.StringVal("redis+sentinel://a:26379,b:26380/main"), "redis_port": cty.NumberIntVal(6379), "redis_last_port": cty.NumberIntVal(26380)}, false},
		{"the usual port is not named", map[string]cty.Value{"redis_url": cty.StringVal("rediss://redis.example")}, false},
		{"limits", withLimits, false},
		{"limits that nobody reaches", map[string]cty.Value{"limits_port": cty.NumberIntVal(8082)}, true},
		{"limits at the operators' port", merged(withLimits, "limits_port", cty.NumberIntVal(8081)), true},
		{"API keys for no listener", map[string]cty.Value{"limits_api_keys_secret_arn": samples["signing_secret_arn"]}, true},
		{"everybody is a proxy", map[string]cty.Value{"trusted_proxies": cty.StringVal("0.0.0.0/0")}, true},
		{"a proxy that is no network", map[string]cty.Value{"trusted_proxies": cty.StringVal("cdn.example")}, true},
		{"a CDN", map[string]cty.Value{"trusted_proxies": cty.StringVal("198.51.100.0/24,203.0.113.0/24")}, false},
	}
	for _, tt := range tests {
		m, err := Load("modules/servers")
		if err != nil {
			t.Fatal(err)
		}
		values := inputs(t, m)
		maps.Copy(values, tt.given)
		if _, err := m.Evaluate(Given{Variables: values, Now: now}); errors.Is(err, ErrRefused) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// merged are values with another one.
func merged(values map[string]cty.Value, name string, v cty.Value) map[string]cty.Value {
	out := maps.Clone(values)
	out[name] = v
	return out
}

// An instance can be told 16 KiB, even with the largest configuration.
func TestUserDataFits(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	for rng := rand.New(rand.NewPCG(1, 2)); config.Len() < 8100; {
		fmt.Fprintf(&config, "key%x: %x\n", rng.Uint64(), rng.Uint64())
	}
	var proxies []string
	for rng := rand.New(rand.NewPCG(3, 4)); len(proxies) < 110; {
		proxies = append(proxies, fmt.Sprintf("%d.%d.%d.0/24", 100+rng.IntN(100), rng.IntN(256), rng.IntN(256)))
	}
	e := servers(t, now, map[string]cty.Value{
		"config_yaml": cty.StringVal(config.String()), "trusted_proxies": cty.StringVal(strings.Join(proxies, ",")),
	})
	data, err := e.Text("local.user_data")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > 16<<10 {
		t.Errorf("an instance is told %d bytes, at most %d fit", packed.Len(), 16<<10)
	}

	// What cloud-init is told, it can read: JSON is YAML.
	head, rest, _ := strings.Cut(data, "\n")
	var told struct {
		Files []struct {
			Path        string `json:"path"`
			Permissions string `json:"permissions"`
			Content     string `json:"content"`
		} `json:"write_files"`
		Run [][]string `json:"runcmd"`
	}
	if err := json.Unmarshal([]byte(rest), &told); err != nil || head != "#cloud-config" {
		t.Fatalf("%s: %v", head, err)
	}
	var paths []string
	for _, file := range told.Files {
		paths = append(paths, file.Path)
		if want := map[bool]string{true: "0755", false: "0644"}[strings.HasPrefix(file.Content, "#!")]; file.Permissions != want {
			t.Errorf("%s has permissions %s, want %s", file.Path, file.Permissions, want)
		}
	}
	if len(told.Run) != 1 || len(told.Run[0]) != 1 || !slices.Contains(paths, told.Run[0][0]) {
		t.Errorf("run is %v, written are %v", told.Run, paths)
	}
}

// TestInstall runs the instance's own script on a folder, with programs that
// stand in for Debian, systemd and AWS.
func TestInstall(t *testing.T) {
	t.Parallel()
	const good = "net.core.somaxconn = 65535\nnet.ipv4.ip_local_port_range = 10240 65535\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("package")))
	other := cty.StringVal(strings.Repeat("0a", 32))
	tests := []struct {
		name   string
		given  map[string]cty.Value
		env    []string
		kernel string
		result string
		says   string
	}{
		{name: "all is well", kernel: good, result: "CONTINUE", says: "ready after"},
		{name: "from S3", kernel: good, result: "CONTINUE", says: "ready after",
			given: map[string]cty.Value{"package_url": cty.StringVal("s3://bucket/queue-server.deb")}},
		{name: "another package", kernel: good, result: "ABANDON", says: "installing https",
			given: map[string]cty.Value{"package_sha256": other}},
		{name: "Session Manager's agent cannot be had", kernel: good, result: "CONTINUE", says: "agent cannot be installed",
			given: map[string]cty.Value{"ssm_agent_url": cty.StringVal("https://agent.example/agent.deb"), "ssm_agent_sha256": other}},
		{name: "the kernel's settings are not in force", kernel: "net.core.somaxconn = 4096\n", result: "ABANDON", says: "net.core.somaxconn is 65535, must be 4096"},
		{name: "too few open files", kernel: good, env: []string{"FILES=1024"}, result: "ABANDON", says: "may open 1024 files"},
		{name: "the agent does not install", kernel: good, env: []string{"APT_FAILS=1"}, result: "CONTINUE", says: "agent cannot be installed"},
		{name: "the package does not install", kernel: good, env: []string{"APT_FAILS=9"}, result: "ABANDON", says: "status 100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := map[string]cty.Value{"package_sha256": cty.StringVal(sum)}
			maps.Copy(given, tt.given)
			said, told := install(t, given, tt.kernel, tt.env)
			want := "autoscaling complete-lifecycle-action --auto-scaling-group-name room-servers --lifecycle-hook-name ready " +
				"--instance-id i-0123456789abcdef0 --lifecycle-action-result " + tt.result + "\n"
			if !strings.Contains(told, want) || strings.Count(told, "complete-lifecycle-action") != 1 {
				t.Errorf("AWS was told\n%s, want once\n%s", told, want)
			}
			if !strings.Contains(said, tt.says) {
				t.Errorf("it does not say %q:\n%s", tt.says, said)
			}
		})
	}
}

// The script gives up before the group does, and says why.
func TestInstallGivesUpFirst(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("modules/servers/files/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"\$SECONDS" -lt (\d+)`).FindSubmatch(script)
	if found == nil {
		t.Fatal("the script waits for ever")
	}
	gives, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	e := servers(t, now, nil)
	hook := Inner(e.Of("resource", "aws_autoscaling_group", "this")[0], "initial_lifecycle_hook")
	v, err := e.Argument(hook[0], "heartbeat_timeout")
	if err != nil {
		t.Fatal(err)
	}
	if group, _ := v.AsBigFloat().Int64(); int64(gives)+60 > group {
		t.Errorf("the script gives up after %d s, the group after %d s", gives, group)
	}
}

// install runs the script and returns what it said, and what AWS was told.
func install(t *testing.T, given map[string]cty.Value, kernel string, env []string) (said, told string) {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	instance, err := servers(t, now, given).Text("local.instance")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "etc/queue-server/instance"), instance)
	write(t, filepath.Join(root, "usr/lib/sysctl.d/60-queue-server.conf"), "# Kernel settings\n"+kernel)
	for name, text := range standIns {
		write(t, filepath.Join(bin, name), "#!/bin/bash\n"+text)
		if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "modules/servers/files/install.sh")
	cmd.Env = append(os.Environ(), append(env, "PATH="+bin+":"+os.Getenv("PATH"), "QUEUE_ROOT="+root, "TOLD="+root+"/told")...)
	out, err := cmd.CombinedOutput()
	aws, readErr := os.ReadFile(filepath.Join(root, "told"))
	if readErr != nil {
		t.Fatalf("AWS was told nothing: %v\n%s", err, out)
	}
	if failed := strings.Contains(string(aws), "ABANDON"); failed == (err == nil) {
		t.Errorf("the script ended with %v, and told AWS\n%s", err, aws)
	}
	return string(out), string(aws)
}

// standIns are the programs that the script calls, as far as it goes.
var standIns = map[string]string{
	"aws": `echo "$@" >>"$TOLD"; [ "$1 $2" != "s3 cp" ] || printf package >"${@: -1}"`,
	"apt-get": `[ "$1" = install ] || exit 0
n=$(cat "$TOLD.apt" 2>/dev/null || echo 0); echo $((n + 1)) >"$TOLD.apt"
[ "$n" -ge "${APT_FAILS:-0}" ] || exit 100`,
	"systemctl": `case $1 in cat) exit 1 ;; show) echo "${FILES:-1048576}" ;; esac`,
	"sysctl":    `case "$*" in *somaxconn) echo 65535 ;; *port_range) printf '10240\t65535\n' ;; esac`,
	"sleep":     `exit 0`,
	"curl": `while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; http*) url=$1 ;; esac; shift; done
case $url in
*/api/token) echo token ;;
*/instance-id) echo i-0123456789abcdef0 ;;
*.deb) printf package >"$out" ;;
http://127.0.0.1:8080/readyz) ;;
*) exit 22 ;;
esac`,
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
