package container

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const chart = "../../deploy/helm/queue-server"

// TestKubernetes stores what deploy has for Kubernetes in one API server, which refuses what it would refuse of a user.
func TestKubernetes(t *testing.T) {
	c := startCluster(t)
	t.Run("gateways", c.testGateways)
	for _, which := range []string{"HELM3", "HELM4"} { // both majors are in use
		helm := room.Tool(t, which)
		t.Run(which, func(t *testing.T) { c.testChart(t, helm) })
		t.Run("pods "+which, func(t *testing.T) { c.testPods(t, helm) })
	}
}

// helm runs one of them against the cluster. What it warns of is an error, but that it follows the chart's links.
func (c *cluster) helm(t *testing.T, helm string, args ...string) (said string, failed bool) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), helm, args...) // a test's cleanup needs it, too
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+home, "HELM_NAMESPACE=room")
	var out, complaints strings.Builder // what is rendered has alerts whose severity is "warning"
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	var lines []string
	for line := range strings.Lines(complaints.String()) {
		if !strings.Contains(line, "found symbolic link in path") {
			lines = append(lines, line)
		}
	}
	said = strings.Join(lines, "")
	if strings.Contains(strings.ToLower(said), "warning") {
		t.Errorf("%s %s: %s", helm, args, said)
	}
	return said + out.String(), err != nil
}

// everything is a chart with all that it can have.
const everything = `
redis: {url: "rediss+cluster://redis:6379", caSecret: redis-ca, tlsSecret: redis-tls, passwordSecret: redis-password}
autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 12}
zones:
  - {zoneId: SHOP, perMinute: 600, message: "All {{ seats }} are there: \"yes\""}
  - {zoneId: GIGS, perMinute: 60}
sites: [{zone: SHOP, upstream: "http://shop.shop.svc:8000"}, {host: gigs.example, path: /tickets, zone: GIGS, upstream: "https://gigs"}]
limits:
  - {name: search, key: [ip], rules: [{algorithm: token_bucket, limit: 10, windowSeconds: 60}]}
limitsApi: {enabled: true}
networkPolicy:
  gateFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  limitsFrom: [{podSelector: {matchLabels: {app: shop}}}]
  adminFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
ingress: {enabled: true, className: nginx, tls: [{hosts: [shop.example], secretName: shop}]}
httpRoute: {enabled: true}
serviceMonitor: {enabled: true, labels: {release: prometheus, app.kubernetes.io/version: theirs}}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
service: {type: LoadBalancer, annotations: {a: b}}
priorityClassName: system-cluster-critical
tlsSecret: shop-tls
podLabels: {team: sales, app.kubernetes.io/version: theirs, app.kubernetes.io/component: theirs}
podAnnotations: {note: x, checksum/settings: theirs}
podSecurityContext: {seccompProfile: {type: RuntimeDefault}, supplementalGroups: [5]}
extraEnv: [{name: QUEUE_DRAIN_DELAY, value: 20s}, {name: A, value: b}]
jobs: {podLabels: {team: jobs}, podAnnotations: {note: job}, affinity: {nodeAffinity: {}}, priorityClassName: system-node-critical}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: a, operator: Exists}]
imagePullSecrets: [{name: registry}]
`

// testChart installs, upgrades and removes the chart.
func (c *cluster) testChart(t *testing.T, helm string) {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	room.Write(t, values, everything)
	for name, args := range map[string][]string{
		"redis":      {"--set", "redis.url=redis://redis:6379"},
		"embedded":   {"--set", "store=embedded,replicaCount=1"},
		"secrets":    {"--set", "redis.existingSecret=redis,existingSecret=mine,networkPolicy.enabled=false,settings.admin-plaintext=allow,gate.enabled=false"},
		"everything": {"--values", values},
		"OpenShift":  {"--set", "redis.url=redis://redis:6379,podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,podSecurityContext.fsGroup=null,zones[0].zoneId=A"},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, failed := c.helm(t, helm, append([]string{"template", "queue-server", chart, "--kube-version", "1.33.0"}, args...)...)
			if failed {
				t.Fatal(rendered)
			}
			onceEach(t, rendered)
			if name == "OpenShift" && strings.Contains(rendered, "65532") {
				t.Error("a user id is pinned, which OpenShift refuses")
			}
			t.Cleanup(func() { c.helm(t, helm, "uninstall", "queue-server", "--no-hooks", "--ignore-not-found") })
			// A controller of Jobs is not there to end the hook's: they are applied below, as any object.
			if said, failed := c.helm(t, helm, append([]string{"install", "queue-server", chart, "--no-hooks"}, args...)...); failed {
				t.Fatal(said)
			}
			hooks, failed := c.helm(t, helm, "get", "hooks", "queue-server")
			if failed {
				t.Fatal(hooks)
			}
			c.apply(t, "room", hooks)
			before := c.secret(t)
			if said, failed := c.helm(t, helm, append([]string{"upgrade", "queue-server", chart, "--no-hooks", "--set", "drainDelaySeconds=9"}, args...)...); failed {
				t.Fatal(said)
			}
			if after := c.secret(t); after != before {
				t.Error("an upgrade has made another secret: every token in circulation would be refused")
			}
			if said, failed := c.helm(t, helm, "uninstall", "queue-server", "--no-hooks"); failed {
				t.Fatal(said)
			}
			if kept := c.secret(t); kept != before {
				t.Error("the secret went with the release")
			}
		})
	}
	for name, tt := range map[string]struct{ args, says string }{
		"two embedded":         {"store=embedded", "set replicaCount to 1 instead of 2"},
		"embedded, autoscaled": {"store=embedded,replicaCount=1,autoscaling.enabled=true", "set autoscaling.enabled to false"},
		"no Redis":             {"store=redis", "set redis.url"},
		"Redis twice":          {"redis.url=redis://r,redis.existingSecret=r", "keep one"},
		"a slip":               {"redis.url=redis://r,replicacount=3", "replicacount"},
		"not a number":         {"redis.url=redis://r,replicaCount=many", "replicaCount"},
		"an unknown store":     {"store=memory", "store"},
		"a zone without an id": {"redis.url=redis://r,zones[0].perMinute=6", "zoneId"},
		"a zone's slip":        {"redis.url=redis://r,zones[0].zoneId=A,zones[0].perMinut=6", "perMinut"},
		"a zone's bound":       {"redis.url=redis://r,zones[0].zoneId=A,zones[0].perMinute=-6", "perMinute"},
		"a zone's name":        {"redis.url=redis://r,zones[0].zoneId=shop a", "zoneId"},
		"a setting's slip":     {"redis.url=redis://r,settings.log-fromat=json", "log-fromat"},
		"plain operators":      {"redis.url=redis://r,networkPolicy.enabled=false", "admin-plaintext"},
		"a site elsewhere":     {"redis.url=redis://r,settings.upstream=http://shop", "write sites"},
		"nobody may scrape":    {"redis.url=redis://r,serviceMonitor.enabled=true", "networkPolicy.adminFrom"},
		"TLS for plain Redis":  {"redis.url=redis://r,redis.tlsSecret=a", "rediss"},
	} {
		said, failed := c.helm(t, helm, "install", "queue-server", chart, "--no-hooks", "--set", tt.args)
		if !failed || !strings.Contains(said, tt.says) {
			t.Errorf("%s: failed: %t, want one that says %q: %s", name, failed, tt.says, said)
		}
	}
}

// onceEach fails for a key that stands twice in a map, of which most parsers take the last.
func onceEach(t *testing.T, text string) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var one any
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// secret is what the chart made, as it stands in the cluster; "" if there is none.
func (c *cluster) secret(t *testing.T) string {
	t.Helper()
	_, answer, err := c.ask(t.Context(), http.MethodGet, "/api/v1/namespaces/room/secrets/queue-server", nil)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"data": ?\{[^}]*\}`).FindString(string(answer))
}

// testGateways stores the examples of deploy/kubernetes.
func (c *cluster) testGateways(t *testing.T) {
	for _, file := range room.Glob(t, "../../deploy/kubernetes/*.yaml") {
		c.apply(t, "room", room.Read(t, file))
	}
}

// pod is what a Deployment and a Job have in common.
type pod struct {
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args []string
					Env  []struct{ Name, Value string }
				}
			}
		}
	}
}

// testPods runs the commands of the pods as processes: the server, and the Job that applies the zones.
func (c *cluster) testPods(t *testing.T, helm string) {
	t.Helper()
	redis := room.StartRedis(t)
	values := filepath.Join(t.TempDir(), "values.yaml")
	room.Write(t, values, "zones: [{zoneId: SHOP, perMinute: 600}]\nlimits: [{name: search, key: [ip], rules: [{algorithm: token_bucket, limit: 10, windowSeconds: 60}]}]\nredis: {url: \""+redis.URL()+"\"}\nlimitsApi: {enabled: true}\n")
	t.Cleanup(func() { c.helm(t, helm, "uninstall", "queue-server", "--no-hooks") })
	if said, failed := c.helm(t, helm, "install", "queue-server", chart, "--no-hooks", "--values", values); failed {
		t.Fatal(said)
	}
	hooks, _ := c.helm(t, helm, "get", "hooks", "queue-server")
	c.apply(t, "room", hooks)

	// What is mounted.
	dir := t.TempDir()
	var config struct{ Data map[string]string }
	c.get(t, "/api/v1/namespaces/room/configmaps/queue-server", &config)
	for name, text := range config.Data {
		room.Write(t, filepath.Join(dir, name), text)
	}
	var secret struct{ Data map[string]string }
	c.get(t, "/api/v1/namespaces/room/secrets/queue-server", &secret)
	for name, text := range secret.Data {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		room.Write(t, filepath.Join(dir, "secrets", name), string(plain))
	}
	addresses := map[string]string{":8080": room.FreeAddr(t), ":8081": room.FreeAddr(t), ":8082": room.FreeAddr(t), ":8083": room.FreeAddr(t)}
	run := func(path string) *process.Process {
		var p pod
		c.get(t, path, &p)
		of := p.Spec.Template.Spec.Containers[0]
		put := func(value string) string {
			value = strings.NewReplacer("/etc/queue-server", dir, "/var/lib/queue-server", filepath.Join(dir, "data"),
				"http://queue-server-admin:8081", "http://"+addresses[":8081"]).Replace(value)
			if at, ok := addresses[value]; ok {
				return at
			}
			return value
		}
		cmd := &process.Process{Name: room.Program(t), Dir: dir, Env: os.Environ()}
		for _, arg := range of.Args {
			cmd.Args = append(cmd.Args, put(arg))
		}
		for _, e := range of.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+put(e.Value))
		}
		return room.Adopt(t, cmd)
	}
	server := run("/apis/apps/v1/namespaces/room/deployments/queue-server")
	room.Launch(t, server)
	room.Await(t, "the server is ready", func() bool {
		r, err := room.Ask(context.Background(), http.DefaultClient, http.MethodGet, "http://"+addresses[":8080"]+"/readyz", "")
		return err == nil && r.Status == http.StatusOK
	})
	// An upgrade neither ends an operator's pause nor takes back what else was changed.
	token := room.Read(t, filepath.Join(dir, "secrets", "admin-token"))
	room.Request(t, http.MethodPatch, "http://"+addresses[":8081"]+"/admin/zones/SHOP", `{"perMinute":0,"pageTitle":"Shop"}`,
		"Authorization", "Bearer "+token, "X-Operator", "anna")
	for _, what := range []string{"zones", "limits"} {
		job := run(fmt.Sprintf("/apis/batch/v1/namespaces/room/jobs/queue-server-%s", what))
		room.Launch(t, job)
		if status, ended := job.Wait(room.Patience); !ended || status != 0 {
			t.Errorf("%s: ended %t with %d: %s", what, ended, status, job.Output())
		} else if what == "zones" && !strings.Contains(job.Output(), "perMinute stays 0: set by anna") {
			t.Errorf("the Job does not say what stays: %s", job.Output())
		}
	}
	if r := room.Request(t, http.MethodGet, "http://"+addresses[":8081"]+"/admin/zones/SHOP", "", "Authorization", "Bearer "+token); !strings.Contains(r.Body, `"perMinute":0`) || !strings.Contains(r.Body, `"pageTitle":"Shop"`) {
		t.Errorf("the Job has undone what an operator set: %+v", r)
	}
	if r := room.Request(t, http.MethodGet, "http://"+addresses[":8080"]+"/traffic/zones/SHOP", ""); r.Status != http.StatusOK {
		t.Errorf("the zone is not there: %+v", r)
	}
	metrics := room.Request(t, http.MethodGet, "http://"+addresses[":8081"]+"/metrics", "", "Authorization", "Bearer "+room.Read(t, filepath.Join(dir, "secrets", "metrics-token")))
	if metrics.Status != http.StatusOK {
		t.Errorf("Prometheus cannot read the metrics: %+v", metrics)
	}
}
