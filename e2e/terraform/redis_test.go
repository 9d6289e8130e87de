package terraform

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

// node is an instance of the module redis, on an address of the loopback network.
type node struct {
	root, address string
	redis         *process.Process
}

// TestMasterIsLost: two nodes of Redis and three sentinels, from the files that instances get,
// with certificates of certificates.sh. A server, with the settings of its instance, keeps a
// zone there. The master is killed, and the zone is at the other node.
func TestMasterIsLost(t *testing.T) {
	s := newSecrets(t, map[string]string{
		"queue": "queue4password", "node": "node4password", "node AWSPREVIOUS": "node4before", "admin": "admin4password",
		"metrics": "metrics4password", "signing": strings.Repeat("9fK2mZq0VtYc4RbN7wXsJd1L", 2), "admin-token": room.OperatorToken,
		"signing AWSPREVIOUS": strings.Repeat("1fK2mZq0VtYc4RbN7wXsJd1L", 2), "metrics-token": "Wm3Tz8Kc1Vn6Yb4Qp9Xs2Jd7",
	})
	nodes := make([]*node, 3)
	// Addresses of this run alone: others may run beside it.
	network := fmt.Sprintf("127.%d.%d.", 2+rand.IntN(200), rand.IntN(256))
	var addresses, sentinels, names []string
	for k := range nodes {
		nodes[k] = &node{root: t.TempDir(), address: network + strconv.Itoa(k+1)}
		addresses = append(addresses, nodes[k].address)
		sentinels = append(sentinels, fmt.Sprintf("%q", nodes[k].address+" 26379"))
		names = append(names, nodes[k].address+":26379")
	}
	certificates, err := filepath.Abs(folder + "modules/redis/certificates.sh")
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, nil, certificates, append([]string{"event", region, "ca", "ca-key", "instance"}, addresses...)...)
	for k, n := range nodes {
		n.make(t, s, k < 2, addresses[0], sentinels)
	}
	for _, n := range nodes[:2] {
		s.run(t, nil, n.root+"/redis-role")
		n.redis = room.Adopt(t, &process.Process{Name: "redis-server", Args: []string{n.root + "/etc/redis-node/redis.conf"}, Dir: n.root})
		room.Launch(t, n.redis)
	}
	url := "rediss+sentinel://" + strings.Join(names, ",") + "/room?sentinel_username=queue&sentinel_password=@PASSWORD@"
	server := room.Start(t, environment(t, s, url))
	server.AwaitReady(t)
	const path = "/admin/zones/SHOP"
	if r := server.Admin(t, http.MethodPut, path, `{"zoneId":"SHOP","perMinute":600}`); r.Status != http.StatusCreated {
		t.Fatalf("the zone is not made: %+v", r)
	}

	replica := nodes[1]
	room.Await(t, "the replica has the zone", func() bool {
		for _, file := range room.Glob(t, filepath.Join(replica.root, "var/lib/redis/appendonlydir/*")) {
			if said, err := os.ReadFile(file); err == nil && bytes.Contains(said, []byte("SHOP")) {
				return true
			}
		}
		return false
	})
	room.Await(t, "the sentinels know the replica and each other", func() bool {
		known := 0
		for _, n := range nodes {
			said, err := os.ReadFile(n.root + "/var/lib/redis/sentinel.conf")
			if err != nil {
				return false
			}
			known += strings.Count(string(said), "sentinel known-")
		}
		return known == 3*3
	})
	nodes[0].redis.Kill()
	room.Await(t, "the limit is raised, which needs the store", func() bool {
		return server.Admin(t, http.MethodPatch, path, `{"perMinute":900}`).Status == http.StatusOK
	})
	// The node that was away comes back as the replica of the other.
	s.run(t, nil, nodes[0].root+"/redis-role")
	if role := room.Read(t, nodes[0].root+"/etc/redis-node/role.conf"); role != "replicaof "+replica.address+" 6379\n" {
		t.Errorf("the node that was the master comes back as %q", role)
	}
}

// make writes what the instance gets, fetches its secrets, and starts its sentinel.
func (n *node) make(t *testing.T, s *secrets, data bool, master string, sentinels []string) {
	t.Helper()
	var rules []string
	for line := range strings.Lines(room.Read(t, "../../lua/permissions.acl")) {
		if !strings.HasPrefix(line, "#") {
			rules = append(rules, strings.Fields(line)...)
		}
	}
	values := map[string]string{
		"address": n.address, "port": "6379", "maxmemory_mib": "100", "permissions": strings.Join(rules, " "), "region": region,
		"figures.redis": "9121", "figures.machine": "9100", "sentinels": strings.Join(sentinels, " "),
	}
	for _, name := range []string{"ca", "instance", "queue", "node", "admin", "metrics"} {
		values["secrets."+name] = name
	}
	const from = "modules/redis/templates/"
	room.Do(t, n.root, "mkdir", "-p", "var/lib/redis", "etc/default")
	room.Write(t, n.root+"/etc/redis-node/users.acl.in", render(t, from+"users.acl.tftpl", n.root, values))
	room.Write(t, n.root+"/etc/redis-node/sentinel.acl.in", render(t, from+"sentinel.acl", n.root, values))
	secrets := strings.ReplaceAll(render(t, from+"secrets.sh.tftpl", n.root, values), "chown redis:redis", ": chown")
	room.WriteAs(t, n.root+"/redis-secrets", secrets, 0o755)
	if data {
		room.Write(t, n.root+"/etc/redis-node/redis.conf", render(t, from+"redis.conf.tftpl", n.root, values))
		room.WriteAs(t, n.root+"/redis-role", render(t, from+"role.sh.tftpl", n.root, values), 0o755)
	}
	values["port"], values["master"] = "26379", master+" 6379"
	room.Write(t, n.root+"/etc/redis-node/sentinel.conf.in", render(t, from+"sentinel.conf.tftpl", n.root, values))
	s.run(t, nil, n.root+"/redis-secrets")
	room.Launch(t, room.Adopt(t, &process.Process{Name: "redis-server", Args: []string{n.root + "/var/lib/redis/sentinel.conf", "--sentinel"}, Dir: n.root}))
}

// environment is what an instance of the module room gives its server: what Terraform knows,
// and what the instance fetches itself.
func environment(t *testing.T, s *secrets, url string) map[string]string {
	t.Helper()
	root, run := t.TempDir(), t.TempDir()
	instance := root + "/instance"
	room.Write(t, instance, render(t, "modules/room/templates/instance.tftpl", root, map[string]string{
		"region": region, "group": "event-servers", "hook": "ready", "port": "8080", "package_url": "", "package_sha256": "",
		"signing_arn": "signing", "signing_order": "previous,current", "signing_version": "2", "admin_token_arn": "admin-token",
		"metrics_token_arn": "metrics-token", "redis_url": url, "redis_user": "queue", "redis_password_arn": "queue", "redis_ca_arn": "ca",
	}))
	s.run(t, map[string]string{"QUEUE_INSTANCE_FILE": instance, "RUNTIME_DIRECTORY": run}, folder+"modules/room/files/secrets.sh")
	fetched := room.Read(t, run+"/environment")
	known := render(t, "modules/room/templates/environment.tftpl", root, map[string]string{
		"port": "8080", "admin_port": "8081", "servers": "14", "trusted_proxies": "10.20.0.0/16", "allowed_origins": "https://shop.example", "drain_delay": "15",
	})
	env := make(map[string]string)
	for line := range strings.Lines(known + fetched) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			env[name] = value
		}
	}
	if want := strings.Repeat("1fK2mZq0VtYc4RbN7wXsJd1L", 2) + "," + strings.Repeat("9fK2mZq0VtYc4RbN7wXsJd1L", 2); env["QUEUE_SECRET"] != want {
		t.Errorf("the first round of a rotation signs with %q", env["QUEUE_SECRET"])
	}
	// Of the instance: here are no such folders, and ports may be taken.
	env["QUEUE_CONFIG"] = room.Config(t, "zones: []\n")
	env["QUEUE_REDIS_CA"] = run + "/redis-ca.pem"
	for _, name := range []string{"QUEUE_ADDR", "QUEUE_ADMIN_ADDR", "QUEUE_DATA_DIR", "QUEUE_DRAIN_DELAY"} {
		delete(env, name)
	}
	return env
}
