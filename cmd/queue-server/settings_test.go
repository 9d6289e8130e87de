package main

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/zone"
)

const goodSecret = "pQiedzTxsL6PJdIhMVKW/3o+eZwFewKdy4XxukcL5zg="

func TestBadSettingsStopTheStart(t *testing.T) {
	const folder = "no-folder-is-made"
	tests := []struct {
		name string
		args []string
		env  map[string]string
		file string
		says []string
	}{
		{name: "unknown flag", args: []string{"--adr=:1"}, says: []string{"unknown flag: --adr"}},
		{name: "unknown command", args: []string{"server"}, says: []string{`unknown command "server"; did you mean "serve"?`}},
		{name: "flags before the command", args: []string{"--store=mysql", "serve"}, says: []string{`--store: "mysql" is none of`}},
		{name: "another word after them", args: []string{"--store=mysql", "zones"}, says: []string{`unknown command "zones" for "queue-server serve"`}},
		{name: "address without a port", args: []string{"--addr=localhost"},
			says: []string{`--addr: "localhost" is no address; write host:port`}},
		{name: "port out of range", env: map[string]string{"QUEUE_ADDR": ":70000"},
			says: []string{`QUEUE_ADDR: ":70000" has no port between 0 and 65535`}},
		{name: "operators' address", env: map[string]string{"QUEUE_ADMIN_ADDR": "8081"},
			says: []string{`QUEUE_ADMIN_ADDR: "8081" is no address`}},
		{name: "limits' address", args: []string{"--limits-addr=8082"}, says: []string{`--limits-addr: "8082" is no address`}},
		{name: "keys that others can change", env: map[string]string{"QUEUE_LIMITS_JWKS": "http://id.example/jwks.json"},
			says: []string{`QUEUE_LIMITS_JWKS: keyset: unusable key set: "http://id.example/jwks.json" is no https URL`}},
		{name: "no key set", args: []string{"--limits-jwks=settings_test.go"}, says: []string{"--limits-jwks: keyset: unusable key set"}},
		{name: "no API keys", env: map[string]string{"QUEUE_LIMITS_API_KEYS": "/there/is/none"},
			says: []string{"QUEUE_LIMITS_API_KEYS: identity: unusable list of API keys", "/there/is/none"}},
		{name: "API keys themselves", args: []string{"--limits-api-keys=settings_test.go"},
			says: []string{"--limits-api-keys: ", "line 1: no SHA-256 in hexadecimal"}},
		{name: "store", env: map[string]string{"QUEUE_STORE": "mysql"},
			says: []string{`QUEUE_STORE: "mysql" is none of embedded, redis`}},
		{name: "no Redis URL", env: map[string]string{"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": "localhost:6379"},
			says: []string{"QUEUE_REDIS_URL: lua: redis URL: it must begin with redis:// or rediss://"}},
		{name: "Redis database", args: []string{"--store=redis", "--redis-url=redis://a/db"},
			says: []string{"--redis-url: lua: redis URL: ", "the path must be a database's number"}},
		{name: "parameter of a Redis URL", args: []string{"--store=redis", "--redis-url=redis://a:6379/0?read_timeout=5s"},
			says: []string{`--redis-url: lua: redis URL: the parameter "read_timeout" is unknown`}},
		{name: "no authorities", env: map[string]string{"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": "rediss://a", "QUEUE_REDIS_CA": "/there/is/none.pem"},
			says: []string{"QUEUE_REDIS_CA: lua: access to redis: ", "/there/is/none.pem"}},
		{name: "authorities that are none", args: []string{"--store=redis", "--redis-url=rediss://a", "--redis-ca=settings_test.go"},
			says: []string{"--redis-ca: ", "settings_test.go holds no certificate in PEM"}},
		{name: "authorities without TLS", args: []string{"--store=redis", "--redis-url=redis://a", "--redis-ca=testdata/ca.pem"},
			says: []string{"--redis-ca: is set, and the redis URL asks for no TLS"}},
		{name: "no servers", env: map[string]string{"QUEUE_SERVERS": "0"},
			says: []string{"QUEUE_SERVERS: 0 is out of range, must be between 1 and 1000"}},
		{name: "short secret", env: map[string]string{"QUEUE_SECRET": "hunter2"},
			says: []string{"QUEUE_SECRET:", "has 7 bytes, must have at least 32", "openssl rand -base64 32"}},
		{name: "weak secret", env: map[string]string{"QUEUE_SECRET": strings.Repeat("a", 40)},
			says: []string{"QUEUE_SECRET:", "easy to guess", "openssl rand -base64 32"}},
		{name: "second secret short", env: map[string]string{"QUEUE_SECRET": goodSecret + ",x"},
			says: []string{"QUEUE_SECRET:", "number 2 of 2 has 1 bytes"}},
		{name: "short operators' token", env: map[string]string{"QUEUE_ADMIN_TOKEN": "hunter2"},
			says: []string{"QUEUE_ADMIN_TOKEN:", "has 7 characters, must have at least 22", "openssl rand -hex 32"}},
		{name: "operators' token that is guessed", env: map[string]string{"QUEUE_ADMIN_TOKEN": "changeme-hunter2-admin"},
			says: []string{"QUEUE_ADMIN_TOKEN:", "random bits", "openssl rand -hex 32"}},
		{name: "metrics' token that is guessed", env: map[string]string{"QUEUE_METRICS_TOKEN": "hunter2-hunter2-hunter2"},
			says: []string{"QUEUE_METRICS_TOKEN:", "random bits", "openssl rand -hex 32"}},
		{name: "secret as a flag", args: []string{"--secret=hunter2"}, says: []string{"--secret is no flag", "everybody on the machine can read",
			"Set QUEUE_SECRET, or name a file with --secret-file or QUEUE_SECRET_FILE", "make another"}},
		{name: "operators' token as a flag", args: []string{"serve", "--admin-token", "hunter2"}, says: []string{"--admin-token is no flag",
			"Set QUEUE_ADMIN_TOKEN, or name a file with --admin-token-file or QUEUE_ADMIN_TOKEN_FILE"}},
		{name: "metrics' token as a flag", args: []string{"--metrics-token=hunter2"}, says: []string{"--metrics-token is no flag"}},
		{name: "Redis's password as a flag", args: []string{"--store=redis", "--redis-url=redis://queue:hunter2@a:6379"},
			says: []string{"--redis-url: has a password", "set QUEUE_REDIS_URL"}},
		{name: "both a secret and its file", env: map[string]string{"QUEUE_SECRET": goodSecret, "QUEUE_SECRET_FILE": "x"},
			says: []string{"QUEUE_SECRET_FILE: is set, and so is QUEUE_SECRET; keep one of them"}},
		{name: "no file of a token", args: []string{"--admin-token-file=/there/is/none"},
			says: []string{"--admin-token-file: secret: open /there/is/none"}},
		{name: "an empty file", env: map[string]string{"QUEUE_SECRET_FILE": "/dev/null"},
			says: []string{"QUEUE_SECRET_FILE: ", "it is empty"}},
		{name: "who may read metrics", args: []string{"--metrics-access=all"},
			says: []string{`--metrics-access: "all" is none of auto, open, token`}},
		{name: "operators' host with a port", env: map[string]string{"QUEUE_ADMIN_HOSTS": "queue.example,queue.example:443"},
			says: []string{`QUEUE_ADMIN_HOSTS: "queue.example:443" is no name of a host`}},
		{name: "data folder", args: []string{"--data-dir="}, says: []string{"--data-dir: is empty; name a folder"}},
		{name: "data folder that is a file", args: []string{"--data-dir=settings_test.go"},
			says: []string{"none can be kept in the data folder", "not a directory"}},
		{name: "no duration", env: map[string]string{"QUEUE_SWEEP_EVERY": "often"},
			says: []string{`QUEUE_SWEEP_EVERY: time: invalid duration "often"`}},
		{name: "no duration on the command line", args: []string{"--drain-delay=5"},
			says: []string{`--drain-delay`, `missing unit`}},
		{name: "sweeps too often", args: []string{"--sweep-every=100ms"},
			says: []string{"--sweep-every: 100ms is out of range, must be between 1s and 1h0m0s"}},
		{name: "sweeps too seldom", args: []string{"--sweep-every=2h"}, says: []string{"--sweep-every: 2h0m0s is out of range"}},
		{name: "sweeps between the seconds", args: []string{"--sweep-every=1500ms"},
			says: []string{"--sweep-every: 1.5s is not in whole seconds"}},
		{name: "drains too long", env: map[string]string{"QUEUE_DRAIN_DELAY": "1h"}, says: []string{"QUEUE_DRAIN_DELAY: 1h0m0s is out of range"}},
		{name: "origins", env: map[string]string{"QUEUE_ALLOWED_ORIGINS": "https://shop.example,shop.example"},
			says: []string{`QUEUE_ALLOWED_ORIGINS:`, `"shop.example" is no origin; write https://shop.example`}},
		{name: "proxies", env: map[string]string{"QUEUE_TRUSTED_PROXIES": "10.0.0.0/8,proxy.example"},
			says: []string{`QUEUE_TRUSTED_PROXIES: "proxy.example" is neither a network (10.0.0.0/8) nor an address`}},
		{name: "backends", args: []string{"--client-ip-from=backend.example"},
			says: []string{`--client-ip-from: "backend.example" is neither a network (10.0.0.0/8) nor an address`}},
		{name: "issuer", env: map[string]string{"QUEUE_PASS_ISSUER": "our shop"},
			says: []string{`QUEUE_PASS_ISSUER: pass: unusable issuer: "our shop" is not 1 to 256 printable characters`}},
		{name: "log level", args: []string{"--log-level=loud"}, says: []string{`--log-level: "loud" is none of debug, info, warn, error`}},
		{name: "log format", args: []string{"--log-format=xml"}, says: []string{`--log-format: "xml" is none of text, json`}},
		{name: "all at once", args: []string{"--store=x"}, env: map[string]string{"QUEUE_LOG_LEVEL": "y"},
			says: []string{"--store: ", "QUEUE_LOG_LEVEL: "}},
		{name: "no file", args: []string{"--config=/there/is/none.yaml"},
			says: []string{"the configuration cannot be read", "/there/is/none.yaml"}},
		{name: "a provider, and nothing else", env: map[string]string{"QUEUE_OIDC_ISSUER": "http://id.example", "QUEUE_OIDC_SCOPES": "email", "QUEUE_OIDC_SESSION": "13h"},
			says: []string{`QUEUE_OIDC_ISSUER: "http://id.example" is no address`, `--admin-url: "" is no address`, "--oidc-client-id: is empty",
				"QUEUE_OIDC_SCOPES: lacks openid", "QUEUE_OIDC_SESSION: 13h0m0s is out of range", "has no groups"}},
		{name: "a proxy, and nothing else", env: map[string]string{"QUEUE_ADMIN_USER_HEADER": "X-User"}, file: "groups: [{group: shop, role: boss}]\n",
			says: []string{"--admin-proxies: is empty", `group shop: role "boss" must be viewer`}},
		{name: "unknown key in the file", file: "addr: :1\nadmin_addr: :2\n",
			says: []string{`queue.yaml:2: "admin_addr" is not a setting of the file; did you mean "admin-addr"?`}},
		{name: "bad value in the file", file: "# settings\nstore: mysql\n",
			says: []string{`queue.yaml:2: store: "mysql" is none of embedded, redis`}},
		{name: "bad duration in the file", file: "\n\nsweep-every: 30\n",
			says: []string{`queue.yaml:3: sweep-every: time: missing unit`}},
		{name: "bad zone in the file", file: "zones:\n  - zoneId: A\n    perMinute: -1\n",
			says: []string{"queue.yaml:2: ", "perMinute is -1, must be between 0 and"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"QUEUE_DATA_DIR": folder}
			maps.Copy(env, tt.env)
			if tt.file != "" {
				env["QUEUE_CONFIG"] = config(t, tt.file)
			}
			got := runToEnd(t, env, tt.args...)
			if got.status != cli.ExitUsage || got.out != "" {
				t.Errorf("status %d, want %d; stdout %q", got.status, cli.ExitUsage, got.out)
			}
			for _, want := range tt.says {
				if !strings.Contains(got.errOut, want) {
					t.Errorf("stderr does not say %q:\n%s", want, got.errOut)
				}
			}
			if strings.Contains(got.errOut, "hunter2") {
				t.Errorf("stderr tells a secret:\n%s", got.errOut)
			}
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the start was stopped, yet %s was made (%v)", folder, err)
			}
		})
	}
}

// parse returns the settings of serve, unchecked.
func parse(t *testing.T, env map[string]string, args ...string) (settings, *sources) {
	t.Helper()
	var s settings
	var command cobra.Command
	addFlags(&command, &s)
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	src := newSources(environ(env))
	if err := src.fill(command.Flags()); err != nil {
		t.Fatal(err)
	}
	return s, src
}

func TestFlagWinsThenEnvironmentThenFile(t *testing.T) {
	file := config(t, "addr: :1\nadmin-addr: :2\nredis-url: redis://file\ndrain-delay: 3s\n")
	env := map[string]string{
		"QUEUE_CONFIG": file, "QUEUE_ADDR": ":10", "QUEUE_ADMIN_ADDR": ":20", "QUEUE_DATA_DIR": "",
	}
	s, src := parse(t, env, "--addr=:100")
	got := []string{s.Addr, s.AdminAddr, s.RedisURL, s.DrainDelay.String(), s.DataDir}
	want := []string{":100", ":20", "redis://file", "3s", "./data"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	for flag, where := range map[string]string{
		"addr": "--addr", "admin-addr": "QUEUE_ADMIN_ADDR", "redis-url": file + ":3: redis-url", "data-dir": "--data-dir",
	} {
		if got := src.where(flag); got != where {
			t.Errorf("%s comes from %q, want %q", flag, got, where)
		}
	}
	if s, _ := parse(t, env, "--config", config(t, "store: redis")); s.Store != storeRedis {
		t.Errorf("store %q: the flag's file was not read", s.Store)
	}
}

func TestEverythingCanBeSetInTheFile(t *testing.T) {
	file := config(t, `
addr: 127.0.0.1:1
admin-addr: 127.0.0.1:2
store: redis
redis-url: rediss://redis.example:6380
redis-ca: testdata/ca.pem
secret:
  - `+goodSecret+`
  - another secret of 32 bytes or more
admin-token: `+operatorToken+`
admin-hosts: [queue.example]
metrics-access: token
metrics-token: `+scraperToken+`
data-dir: /var/lib/queue
limits-addr: 127.0.0.1:3
limits-api-keys: any
limits-jwks: https://id.example/jwks.json
limits-jwt-issuer: https://id.example
limits-jwt-audience: shop
limits-jwt-claim: customer
limits-jwt-tier-claim: plan
tickets-jwks: https://shop.example/jwks.json
tickets-issuer: https://shop.example
sweep-every: 1m
trusted-proxies: [10.0.0.0/8, "2001:db8::/32", 192.0.2.7]
drain-delay: 0s
log-level: debug
log-format: json
zones:
  - zoneId: A
`)
	s, src := parse(t, map[string]string{"QUEUE_CONFIG": file})
	c, err := s.check(src.where, src.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.secrets) != 2 || len(c.proxies) != 3 || c.level != slog.LevelDebug || c.adminToken != operatorToken ||
		c.metricsToken != scraperToken || c.MetricsAccess != metricsToken || !slices.Equal(c.AdminHosts, []string{"queue.example"}) ||
		c.redisAccess.Roots == nil || c.SweepEvery != time.Minute || c.DrainDelay != 0 || c.RedisURL != "rediss://redis.example:6380" ||
		c.LimitsAddr != "127.0.0.1:3" || c.LimitsAPIKeys != "any" || c.LimitsJWKS != "https://id.example/jwks.json" ||
		c.LimitsIssuer != "https://id.example" || c.LimitsAudience != "shop" || c.LimitsClaim != "customer" || c.LimitsTier != "plan" ||
		c.TicketsJWKS != "https://shop.example/jwks.json" || c.TicketsIssuer != "https://shop.example" {
		t.Errorf("got %+v", c)
	}
	if len(src.file.Zones) != 1 || !src.file.Zones[0].Equal(zone.Defaults("A")) {
		t.Errorf("zones %+v", src.file.Zones)
	}
	var proxies []string
	for _, p := range c.proxies {
		proxies = append(proxies, p.String())
	}
	if got, want := strings.Join(proxies, " "), "10.0.0.0/8 2001:db8::/32 192.0.2.7/32"; got != want {
		t.Errorf("proxies %q, want %q", got, want)
	}
}

// TestFilesOfThisProjectAreGood reads the configurations that are shipped.
func TestFilesOfThisProjectAreGood(t *testing.T) {
	for _, pattern := range []string{"../../deploy/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "\nzones:") {
				continue // some other tool's
			}
			if _, src := parse(t, map[string]string{"QUEUE_CONFIG": file}); len(src.file.Zones) == 0 {
				t.Errorf("%s has no zones", file)
			}
		}
	}
}

// TestMisspeltVariables: they are named, with the one that may be meant, and nothing else is.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	got := misspelt([]string{
		"QUEUE_SERVRES=2", "QUEUE_TRUSTED_PROXYS=10.0.0.0/8", "QUEUE_CONFG=x", "QUEUE_SERVERS=2", "QUEUE_CONFIG=x", "QUEUE_SECRET=x",
		"QUEUE_ADMIN_URL=http://127.0.0.1:8081", "QUEUE_OPERATOR=ann", "SERVRES=2",
		"QUEUE_PORT=tcp://10.0.0.1:80", "QUEUE_PORT_80_TCP_ADDR=10.0.0.1", "QUEUE_SERVICE_HOST=10.0.0.1", "QUEUE_SERVICE_PORT=80",
	})
	want := map[string]string{"QUEUE_SERVRES": "QUEUE_SERVERS", "QUEUE_TRUSTED_PROXYS": "QUEUE_TRUSTED_PROXIES", "QUEUE_CONFG": "QUEUE_CONFIG"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
