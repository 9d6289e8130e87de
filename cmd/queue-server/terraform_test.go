package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/openqueue/waitingroom/deploy/terraform"
)

// What deploy/terraform says of this server, against what this server does.

// evaluate gives a module sample values, and those of more besides.
func evaluate(t *testing.T, module string, more map[string]cty.Value) *terraform.Evaluated {
	t.Helper()
	m, err := terraform.Load(filepath.Join("../../deploy/terraform/modules", module))
	if err != nil {
		t.Fatal(err)
	}
	values, err := m.Sample()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(values, more)
	e, err := m.Evaluate(terraform.Given{
		Variables: values, Now: "2026-12-01T09:00:00Z",
		Known: map[string]cty.Value{"data.aws_region.current.region": cty.StringVal("eu-central-1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inSeconds is what an expression of a module is, as a duration.
func inSeconds(t *testing.T, e *terraform.Evaluated, expression string) time.Duration {
	t.Helper()
	text, err := e.Text(expression)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * time.Second
}

func TestTheBalancerClosesBeforeTheServer(t *testing.T) {
	balancer := evaluate(t, "balancer", nil)
	if got := inSeconds(t, balancer, "var.idle_timeout_seconds"); got >= idleTimeout {
		t.Errorf("the balancer keeps idle connections for %v, the server for %v: the server must be the later", got, idleTimeout)
	}
	m, values := balancer.Module, map[string]cty.Value{"idle_timeout_seconds": cty.NumberIntVal(int64(idleTimeout / time.Second))}
	sample, err := m.Sample()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(sample, values)
	if _, err := m.Evaluate(terraform.Given{Variables: sample}); !errors.Is(err, terraform.ErrRefused) {
		t.Errorf("the balancer's module takes an idle timeout of %v, which is the server's: %v", idleTimeout, err)
	}
}

func TestTheBalancerWaitsForTheDrain(t *testing.T) {
	balancer, servers := evaluate(t, "balancer", nil), evaluate(t, "servers", nil)
	delay := inSeconds(t, servers, "var.drain_delay_seconds")
	if noticed := inSeconds(t, balancer, "local.noticed_seconds"); delay <= noticed {
		t.Errorf("a server drains for %v, the balancer notices within %v", delay, noticed)
	}
	tooShort, err := servers.Sample()
	if err != nil {
		t.Fatal(err)
	}
	tooShort["drain_delay_seconds"] = cty.NumberIntVal(int64(inSeconds(t, balancer, "local.noticed_seconds") / time.Second))
	if _, err := servers.Evaluate(terraform.Given{Variables: tooShort}); !errors.Is(err, terraform.ErrRefused) {
		t.Errorf("the servers' module takes a drain delay of %#v: %v", tooShort["drain_delay_seconds"], err)
	}
	out := servers.Of("output", "deregistration_delay_seconds")
	v, err := servers.Argument(out[0], "value")
	if err != nil {
		t.Fatal(err)
	}
	given, _ := v.AsBigFloat().Int64()
	if got, want := time.Duration(given)*time.Second, delay+shutdownTimeout; got != want {
		t.Errorf("a server that leaves is given %v, takes up to %v", got, want)
	}
	if got := inSeconds(t, balancer, "var.deregistration_delay_seconds"); got != delay+shutdownTimeout {
		t.Errorf("the balancer's default is %v, want %v", got, delay+shutdownTimeout)
	}
	path := terraform.Inner(balancer.Of("resource", "aws_lb_target_group", "this")[0], "health_check")[0]
	if v, err := balancer.Argument(path, "path"); err != nil || v.AsString() != "/readyz" {
		t.Errorf("the balancer asks %v, %v", v, err)
	}
}

// An instance starts the server with two files of variables: what Terraform
// knows, and what the instance fetches itself.
func TestTheInstancesEnvironment(t *testing.T) {
	t.Parallel()
	const password = "a/b@c:d %&é" // an existing Redis may have any
	answers := map[string]string{
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-signing-1 AWSCURRENT":       "N3w" + goodSecret,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-signing-1 AWSPREVIOUS":      goodSecret,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-admin-token-1 AWSCURRENT":   "Jx4mQ8sVd1Kz7RwT2pLn",
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-metrics-token-1 AWSCURRENT": scraperToken,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:password AWSCURRENT":             password,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:ca AWSCURRENT":                   "-----BEGIN CERTIFICATE-----\n",
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:api-keys AWSCURRENT":             strings.Repeat("0a", 32) + " pro\n",
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:jwks AWSCURRENT":                 `{"keys":[{"kty":"oct","k":"` + strings.Repeat("c2Vj", 12) + `"}]}`,
	}
	without := maps.Clone(answers)
	delete(without, "arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-signing-1 AWSPREVIOUS")
	secret := func(name string) cty.Value {
		return cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:" + name)
	}
	tests := []struct {
		name    string
		given   map[string]cty.Value
		answers map[string]string
		want    map[string]string
	}{
		{name: "a Redis without a password", answers: answers, want: map[string]string{
			"QUEUE_REDIS_URL": "rediss://10.20.0.5:6379,10.20.16.5:6379,10.20.32.5:6379",
			"QUEUE_SECRET":    "N3w" + goodSecret, "QUEUE_ADMIN_TOKEN": "Jx4mQ8sVd1Kz7RwT2pLn", "QUEUE_METRICS_TOKEN": scraperToken,
			"QUEUE_STORE": storeRedis, "QUEUE_ADDR": ":8080", "QUEUE_ADMIN_ADDR": ":8081", "QUEUE_SERVERS": "7",
			"QUEUE_DRAIN_DELAY": "15s", "QUEUE_TRUSTED_PROXIES": "10.20.0.0/16",
		}},
		{
			name: "a cluster with TLS and a user",
			given: map[string]cty.Value{
				"redis_password_secret_arn": secret("password"), "redis_ca_secret_arn": secret("ca"), "redis_user": cty.StringVal("queue"),
				"allowed_origins": cty.StringVal("https://shop.example,capacitor://localhost"), "max_size": cty.NumberIntVal(20),
				"trusted_proxies": cty.StringVal("198.51.100.0/24,203.0.113.0/24"),
			},
			answers: answers,
			want: map[string]string{
				"QUEUE_REDIS_URL":       "rediss://queue:a%2Fb%40c%3Ad%20%25%26%C3%A9@10.20.0.5:6379,10.20.16.5:6379,10.20.32.5:6379",
				"QUEUE_REDIS_CA":        "/run/queue-server-secrets/redis-ca.pem",
				"QUEUE_ALLOWED_ORIGINS": "https://shop.example,capacitor://localhost", "QUEUE_SERVERS": "22",
				"QUEUE_TRUSTED_PROXIES": "10.20.0.0/16,198.51.100.0/24,203.0.113.0/24",
			},
		},
		{
			name: "limits", answers: answers,
			given: map[string]cty.Value{
				"limits_port": cty.NumberIntVal(8082), "limits_security_group_id": cty.StringVal("sg-0123456789abcdef9"),
				"limits_target_group_arn":    cty.StringVal("arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/limit-/02"),
				"limits_api_keys_secret_arn": secret("api-keys"), "limits_jwks_secret_arn": secret("jwks"),
			},
			want: map[string]string{
				"QUEUE_LIMITS_ADDR": ":8082", "QUEUE_LIMITS_API_KEYS": "/run/queue-server-secrets/limits-api-keys",
				"QUEUE_LIMITS_JWKS": "/run/queue-server-secrets/limits-jwks.json",
			},
		},
		{
			name: "first round of a rotation", answers: answers, given: map[string]cty.Value{"signing_order": cty.StringVal("previous,current")},
			want: map[string]string{"QUEUE_SECRET": goodSecret + ",N3w" + goodSecret},
		},
		{
			name: "second round", answers: answers, given: map[string]cty.Value{"signing_order": cty.StringVal("current,previous")},
			want: map[string]string{"QUEUE_SECRET": "N3w" + goodSecret + "," + goodSecret},
		},
		{
			name: "first round before there is another", answers: without, given: map[string]cty.Value{"signing_order": cty.StringVal("previous,current")},
			want: map[string]string{"QUEUE_SECRET": "N3w" + goodSecret},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			servers := evaluate(t, "servers", tt.given)
			env := variablesOf(t, textOf(t, servers, "local.environment"))
			run := fetchSecrets(t, textOf(t, servers, "local.instance"), tt.answers)
			written, err := os.ReadFile(filepath.Join(run, "environment"))
			if err != nil {
				t.Fatal(err)
			}
			fetched := variablesOf(t, string(written))
			if got := slices.Sorted(maps.Keys(fetched)); !slices.Equal(got, []string{"QUEUE_ADMIN_TOKEN", "QUEUE_METRICS_TOKEN", "QUEUE_REDIS_URL", "QUEUE_SECRET"}) {
				t.Errorf("fetched are %v", got)
			}
			maps.Copy(env, fetched)
			for name, want := range tt.want {
				if env[name] != want {
					t.Errorf("%s is %q, want %q", name, env[name], want)
				}
			}
			for name := range env {
				if _, ok := settingDefaults()[name]; !ok {
					t.Errorf("the server has no setting %s", name)
				}
			}
			delete(env, "QUEUE_REDIS_CA") // it is elsewhere here; and no real one
			for _, name := range []string{"QUEUE_LIMITS_API_KEYS", "QUEUE_LIMITS_JWKS"} {
				if file, set := env[name]; set { // as this server reads it, from where it is here
					env[name] = filepath.Join(run, filepath.Base(file))
				}
			}
			s, src := parse(t, env)
			if _, err := s.check(src.where); err != nil {
				t.Errorf("the server refuses its environment: %v", err)
			}
			checkModes(t, run, tt.want["QUEUE_REDIS_CA"] != "", tt.want["QUEUE_LIMITS_JWKS"] != "")
		})
	}
}

// checkModes holds secrets to root's eyes, those of limits to the server's, too, and
// the authority's certificate to everybody's.
func checkModes(t *testing.T, run string, ca, limits bool) {
	t.Helper()
	want := map[string]os.FileMode{"environment": 0o600}
	if limits {
		want["limits-api-keys"], want["limits-jwks.json"] = 0o640, 0o640
	}
	if ca {
		want["redis-ca.pem"] = 0o644
	}
	entries, err := os.ReadDir(run)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]os.FileMode)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Name()] = info.Mode()
	}
	if !maps.Equal(got, want) {
		t.Errorf("the instance keeps %v, want %v", got, want)
	}
}

// fetchSecrets runs the instance's own script. AWS is where the answers are, by
// ARN and version, in place of its command line; the folder it wrote to is
// returned.
func fetchSecrets(t *testing.T, instance string, answers map[string]string) string {
	t.Helper()
	dir, run := t.TempDir(), t.TempDir()
	for key, answer := range answers {
		writeFile(t, filepath.Join(dir, strings.ReplaceAll(key, " ", "-")), answer)
	}
	file := filepath.Join(dir, "instance")
	writeFile(t, file, instance)
	// Called as: aws secretsmanager get-secret-value --secret-id ARN --version-stage LABEL ...
	writeFile(t, filepath.Join(dir, "aws"), fmt.Sprintf(`#!/bin/sh
[ "$AWS_DEFAULT_REGION $1 $2 $3 $5" = "eu-central-1 secretsmanager get-secret-value --secret-id --version-stage" ] || exit 2
cat "%s/$4-$6" 2>/dev/null || { echo "An error occurred (ResourceNotFoundException)" >&2; exit 254; }
echo "a warning that is no part of the secret" >&2
`, dir))
	if err := os.Chmod(filepath.Join(dir, "aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../../deploy/terraform/modules/servers/files/secrets.sh")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "QUEUE_INSTANCE_FILE="+file, "RUNTIME_DIRECTORY="+run,
		"QUEUE_GROUP="+strconv.Itoa(os.Getgid()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, answer := range answers {
		if strings.Contains(string(out), answer) {
			t.Errorf("the script says a secret:\n%s", out)
		}
	}
	return run
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func textOf(t *testing.T, e *terraform.Evaluated, expression string) string {
	t.Helper()
	s, err := e.Text(expression)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// variablesOf reads a file as systemd does, as far as ours go: no quotes, no
// continued lines.
func variablesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	env := make(map[string]string)
	for lines := bufio.NewScanner(strings.NewReader(file)); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.ContainsAny(value, `"'\`) || strings.TrimSpace(value) != value {
			t.Errorf("systemd would not take this line as it stands: %q", line)
		}
		if _, twice := env[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		env[name] = value
	}
	return env
}
