package infrastructure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/deploy/terraform"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	// nodes is how many Redis nodes modules/redis makes, in as many shards.
	nodes  = 6
	shards = 3
	// nodeTimeoutMilliseconds is shorter than on instances, which have zones of
	// availability between them.
	nodeTimeoutMilliseconds = 1500
	// startTimeout bounds what a person would wait for, on a busy machine.
	startTimeout = time.Minute
	// scriptTimeout bounds one run of a script.
	scriptTimeout = 2 * time.Minute
)

// Redis is the cluster of modules/redis on loopback ports.
type Redis struct {
	Nodes []*Node
	// Patience is how long one run of redis-join waits for others, in whole seconds.
	Patience time.Duration
	// secrets is the folder that stands in for Secrets Manager.
	secrets string
	// addresses are host:port.
	addresses []string
	module    *terraform.Evaluated
}

// Node is one of its machines: a folder in the place of /, and a process.
type Node struct {
	Root string
	Port int
	// Subnet is the zone of availability that Terraform puts the node in, and Shard
	// the part of the slots that it is for.
	Subnet, Shard int
	redis         *Redis
	running       *process.Process
}

// The users' passwords. Terraform has Secrets Manager draw them.
var passwords = map[string]string{
	"queue":   strings.Repeat("q7", 24),
	"admin":   strings.Repeat("a7", 24),
	"replica": strings.Repeat("r7", 24),
	"metrics": strings.Repeat("m5", 24),
}

// NewRedis makes the nodes' files, as cloud-init would write them, and their
// certificates, as the operator would. Nothing runs yet.
func NewRedis(t testing.TB) *Redis {
	t.Helper()
	r := &Redis{secrets: t.TempDir(), Patience: startTimeout}
	var addresses []map[string]any
	for range nodes {
		port, bus := freePort(t), freePort(t)
		addresses = append(addresses, map[string]any{"address": "127.0.0.1", "port": port, "bus_port": bus})
		r.addresses = append(r.addresses, "127.0.0.1:"+strconv.Itoa(port))
	}
	for k, a := range addresses {
		n := &Node{Root: t.TempDir(), redis: r}
		n.Port, _ = a["port"].(int)
		n.write(t, k, addresses)
		r.Nodes = append(r.Nodes, n)
	}
	for user, password := range passwords {
		writeFile(t, filepath.Join(r.secrets, user), password, 0o600)
	}
	return r
}

// put gives a secret another value, as Terraform and Secrets Manager would.
func (r *Redis) put(t testing.TB, secret, value string) {
	t.Helper()
	r.script(t, folder("testdata/aws"), "secretsmanager", "put-secret-value", "--secret-id", arn(secret), "--secret-string", value)
}

// arn is the name of a secret; the stand-in takes what follows the last colon.
func arn(secret string) string {
	return "arn:aws:secretsmanager:" + region + ":123456789012:secret:" + secret
}

// write writes the files of node k.
func (n *Node) write(t testing.TB, k int, addresses []map[string]any) {
	t.Helper()
	secrets, certificates := make(map[string]any), make(map[string]any)
	for user := range passwords {
		secrets[user] = map[string]any{"arn": arn(user)}
	}
	for _, part := range []string{"ca", "ca-key", "node"} {
		certificates[part] = map[string]any{"arn": arn(part)}
	}
	volumes := make([]map[string]any, nodes)
	for i := range volumes {
		volumes[i] = map[string]any{"id": fmt.Sprintf("vol-0%d", i)}
	}
	m := evaluate(t, "redis", map[string]any{
		"name": "event", "vpc_id": "vpc-01", "subnet_a": "subnet-0a", "subnet_b": "subnet-0b", "subnet_c": "subnet-0c",
		"client_security_group_id": "sg-01", "node_timeout_milliseconds": nodeTimeoutMilliseconds,
	}, map[string]any{
		"root": n.Root, "group": strconv.Itoa(os.Getgid()), "nodes": addresses,
	}, map[string]any{
		"data.aws_region.this.region":                 region,
		"data.aws_ec2_instance_type.this.memory_size": 16 << 10,
		"aws_secretsmanager_secret.password":          secrets,
		"aws_secretsmanager_secret.certificate":       certificates,
		"aws_ebs_volume.data":                         volumes,
	})
	var places []struct {
		Shard  int `json:"shard"`
		Subnet int `json:"subnet"`
	}
	var userData []string
	decode(t, m, "local.places", &places)
	decode(t, m, "local.user_data", &userData)
	n.Shard, n.Subnet = places[k].Shard, places[k].Subnet
	writeFiles(t, "", userData[k])
	n.redis.module = m
	mkdir(t, n.Data())
}

// writeFiles does with the write_files of cloud-init's user data what it would, below
// a folder.
func writeFiles(t testing.TB, root, userData string) {
	t.Helper()
	var config struct {
		WriteFiles []struct {
			Path        string `yaml:"path"`
			Content     string `yaml:"content"`
			Permissions string `yaml:"permissions"`
		} `yaml:"write_files"`
	}
	if !strings.HasPrefix(userData, "#cloud-config\n") {
		t.Fatalf("cloud-init takes this for something else: %.40q", userData)
	}
	if err := yaml.Unmarshal([]byte(userData), &config); err != nil {
		t.Fatal(err)
	}
	for _, f := range config.WriteFiles {
		mode, err := strconv.ParseUint(f.Permissions, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		mkdir(t, filepath.Dir(root+f.Path))
		writeFile(t, root+f.Path, f.Content, os.FileMode(mode))
	}
}

// Certificates runs certificates.sh, as the operator does after the first apply.
func (r *Redis) Certificates(t testing.TB) {
	t.Helper()
	r.script(t, filepath.Join(modules, "redis/certificates.sh"),
		"event", region, arn("ca"), arn("ca-key"), arn("node"), "127.0.0.1")
}

// StartRedis makes a cluster as instances do: certificates; on each node its
// secrets, Redis, and then redis-join, on all at once.
func StartRedis(t testing.TB) *Redis {
	t.Helper()
	r := NewRedis(t)
	r.Certificates(t)
	for _, n := range r.Nodes {
		n.Secrets(t)
		n.Start(t)
	}
	r.JoinAll(t)
	r.AwaitWhole(t)
	return r
}

// JoinAll runs redis-join on all nodes at once, as their timers do.
func (r *Redis) JoinAll(t testing.TB) {
	t.Helper()
	var all sync.WaitGroup
	for _, n := range r.Nodes {
		all.Go(func() {
			if _, err := n.Join(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// Secrets runs redis-secrets on the node.
func (n *Node) Secrets(t testing.TB, args ...string) {
	t.Helper()
	n.redis.script(t, n.sbin("redis-secrets"), args...)
}

// Join runs redis-join on the node, and returns what it said.
func (n *Node) Join(ctx context.Context, args ...string) (string, error) {
	return n.redis.run(ctx, n.sbin("redis-join"), args...)
}

// Guard runs redis-guard, which systemd runs before Redis.
func (n *Node) Guard(ctx context.Context) (string, error) {
	return n.redis.run(ctx, n.sbin("redis-guard"))
}

// Start starts Redis as the unit does, and waits until it answers.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	if said, err := n.Guard(t.Context()); err != nil {
		t.Fatalf("redis-guard: %v\n%s", err, said)
	}
	n.running = begin(t, &process.Process{Name: "redis-server", Args: []string{n.Etc("redis.conf")}})
	Await(t, startTimeout, "a node answers", func() bool {
		_, err := n.Admin(t.Context(), "ping")
		return err == nil
	})
}

// Kill kills Redis there and then.
func (n *Node) Kill() { n.running.Kill() }

// Wipe empties the node's data volume.
func (n *Node) Wipe(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(n.Data()); err != nil {
		t.Fatal(err)
	}
	mkdir(t, n.Data())
}

// Data is the folder that is /var/lib/redis on the instance.
func (n *Node) Data() string { return filepath.Join(n.Root, "var/lib/redis") }

// Etc is a file of the node's configuration.
func (n *Node) Etc(name string) string { return filepath.Join(n.Root, "etc/redis-node", name) }

func (n *Node) sbin(name string) string { return filepath.Join(n.Root, "usr/local/sbin", name) }

// Admin runs a command of Redis as the user admin.
func (n *Node) Admin(ctx context.Context, args ...string) (string, error) {
	return n.As(ctx, "admin", args...)
}

// As runs a command as one of the users, with redis-cli. An error reply is an error.
func (n *Node) As(ctx context.Context, user string, args ...string) (string, error) {
	return n.with(ctx, user, passwords[user], args...)
}

func (n *Node) with(ctx context.Context, user, password string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all := append([]string{
		"-e", "-h", "127.0.0.1", "-p", strconv.Itoa(n.Port),
		"--tls", "--cacert", n.Etc("ca.pem"), "--user", user,
	}, args...)
	cmd := exec.CommandContext(ctx, "redis-cli", all...)
	cmd.Env = append(os.Environ(), "REDISCLI_AUTH="+password)
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return said, fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return said, nil
}

// CAFile is what QUEUE_REDIS_CA names on a server.
func (r *Redis) CAFile() string { return r.Nodes[0].Etc("ca.pem") }

// Password is that of a user.
func (r *Redis) Password(user string) string { return passwords[user] }

// URL is QUEUE_REDIS_URL for a user.
func (r *Redis) URL(user string) string {
	return "rediss://" + user + ":" + passwords[user] + "@" + strings.Join(r.addresses, ",")
}
