package infrastructure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// refused: the servers' user may do nothing but what a store does, with keys that are
// a store's.
func refused(t *testing.T, r *Redis) {
	t.Helper()
	n := r.Nodes[0]
	for _, command := range []string{
		"flushall", "flushdb", "keys *", "scan 0", "config get *", "config set maxmemory 1", "config rewrite",
		"script flush", "script kill", "function flush", "acl list", "acl whoami", "client list", "client kill type normal",
		"shutdown nosave", "replicaof no one", "cluster nodes", "cluster reset", "cluster failover",
		"cluster addslots 1", "module list", "monitor", "save", "bgrewriteaof", "subscribe x", "publish x y", "dump {Z}:zone",
		"migrate 127.0.0.1 1 {Z}:zone 0 1", "restore {Z}:zone 0 x", "swapdb 0 1", "latency reset", "slowlog get",
		"get other", "set other 1", "unlink other", "hgetall admin:{Z}", "del {Z}:zone", "rename {Z}:a {Z}:b",
	} {
		if said, err := n.As(t.Context(), "queue", strings.Fields(command)...); err == nil || !strings.Contains(said, "NOPERM") {
			t.Errorf("queue %s: %q, want NOPERM", command, said)
		}
	}
	for script, key := range map[string]string{
		"return redis.call('get', KEYS[1])":                                       "other",
		"return redis.call('get', 'other')":                                       "{Z}:zone",
		"return redis.call('flushall')":                                           "{Z}:zone",
		"return redis.call('keys', '*')":                                          "{Z}:zone",
		"return redis.call('config', 'get', 'requirepass')":                       "{Z}:zone",
		"return redis.call('eval', 'return 1', 0)":                                "{Z}:zone",
		"#!lua flags=allow-cross-slot-keys\nreturn redis.call('set', 'other', 1)": "{Z}:zone",
	} {
		said, err := n.As(t.Context(), "queue", "eval", script, "1", key)
		if err == nil {
			t.Errorf("queue, script %q on %s: %q", script, key, said)
		}
	}
	for _, command := range []string{"get {Z}:zone", "flushall", "config get *", "replicaof no one", "info"} {
		if said, err := n.As(t.Context(), "replica", strings.Fields(command)...); err == nil || !strings.Contains(said, "NOPERM") {
			t.Errorf("replica %s: %q, want NOPERM", command, said)
		}
	}
	for _, command := range []string{"get {Z}:zone", "keys *", "eval 'return 1' 0", "config get *", "cluster nodes", "flushall", "acl list"} {
		if said, err := n.As(t.Context(), "metrics", strings.Fields(command)...); err == nil || !strings.Contains(said, "NOPERM") {
			t.Errorf("metrics %s: %q, want NOPERM", command, said)
		}
	}
	if said, err := n.Admin(t.Context(), "acl", "getuser", "default"); err != nil || !strings.Contains(said, "off") {
		t.Errorf("default: %v, %s", err, said)
	}
	for _, name := range []string{"users.acl", "users.acl.in", "redis.conf"} {
		text, err := os.ReadFile(n.Etc(name))
		if err != nil {
			t.Fatal(err)
		}
		for user, password := range passwords {
			if strings.Contains(string(text), password) {
				t.Errorf("%s holds the password of %s", name, user)
			}
		}
	}
}

// shutOut: without TLS, without a password, with another authority, with no
// certificate on the bus.
func shutOut(t *testing.T, r *Redis) {
	t.Helper()
	n := r.Nodes[0]
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port))
	plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := converse(plain, "PING\r\n"); err == nil && strings.Contains(said, "PONG") {
		t.Errorf("without TLS: %q", said)
	}

	pem, err := os.ReadFile(n.Etc("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	dial := func(address, name string, roots *x509.CertPool) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
		return d.DialContext(t.Context(), "tcp", address)
	}
	conn, err := dial(address, "127.0.0.1", roots)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := converse(conn, "PING\r\n"); err != nil || !strings.HasPrefix(said, "-NOAUTH") {
		t.Errorf("without a password: %q, %v", said, err)
	}
	if _, err := dial(address, "127.0.0.1", nil); err == nil {
		t.Error("whoever trusts the machine's authorities alone trusts the node")
	}
	if _, err := dial(address, "127.0.0.2", roots); err == nil {
		t.Error("the certificate is good for an address that is no node's")
	}

	// On the bus: TLS 1.3 tells the client after its handshake that it lacks one.
	bus := ""
	for _, m := range n.Members(t) {
		if m.Node == n {
			bus = m.bus
		}
	}
	if conn, err = dial(net.JoinHostPort("127.0.0.1", bus), "127.0.0.1", roots); err == nil {
		_, err = converse(conn, "")
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("the bus takes who has no certificate: %v", err)
	}
}

// converse sends a text and returns what comes first.
func converse(c net.Conn, text string) (string, error) {
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	buf := make([]byte, 512)
	k, err := c.Read(buf)
	return string(buf[:k]), err
}

// renewed: a node that reloads takes the new password, and the one before it while
// servers change over; and a new certificate of the same authority.
func renewed(t *testing.T, r *Redis) {
	t.Helper()
	n := r.Nodes[1]
	keepsConnections(t, n)
	before, err := os.ReadFile(n.Etc("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	was := serial(t, n)
	old := passwords["queue"]
	r.put(t, "queue", strings.Repeat("n9", 24))
	r.Certificates(t)
	n.Secrets(t, "reload")
	for _, password := range []string{old, strings.Repeat("n9", 24)} {
		if said, err := n.with(t.Context(), "queue", password, "ping"); err != nil {
			t.Errorf("queue with one of two passwords: %v %s", err, said)
		}
	}
	r.put(t, "queue", strings.Repeat("m8", 24))
	n.Secrets(t, "reload")
	if said, err := n.with(t.Context(), "queue", old, "ping"); err == nil {
		t.Errorf("a password of the one before the last: %s", said)
	}
	after, err := os.ReadFile(n.Etc("ca.pem"))
	if err != nil || string(after) != string(before) {
		t.Errorf("another authority: %v", err)
	}
	if serial(t, n) == was {
		t.Error("the node shows its old certificate")
	}
	keepsAuthority(t, r)
	r.put(t, "queue", old)
	n.Secrets(t, "reload")
	rotates(t, r)
	for _, n := range r.Nodes {
		n.Secrets(t, "reload")
	}
	r.AwaitWhole(t)
}

// keepsConnections: each day a node looks for what was renewed. Where nothing was, nobody
// who is connected notices, neither servers nor the replica, whose connection is looked at.
func keepsConnections(t *testing.T, n *Node) {
	t.Helper()
	replica := func() string {
		said, err := n.Admin(t.Context(), "client", "list", "type", "replica")
		id, _, _ := strings.Cut(said, " ")
		if err != nil || !strings.HasPrefix(id, "id=") {
			t.Fatalf("the replica's connection: %v %s", err, said)
		}
		return id
	}
	before := replica()
	n.Secrets(t, "reload")
	if after := replica(); after != before {
		t.Errorf("the replica's connection was %s, and is %s", before, after)
	}
}

// rotates: password_version makes all passwords anew, that with which a node speaks to its
// own Redis among them, and the one before it is known until the next.
func rotates(t *testing.T, r *Redis) {
	t.Helper()
	next := func(user string) string { return strings.Repeat(user[:1]+"2", 24) }
	for _, value := range []func(string) string{next, r.Password} {
		for user := range passwords {
			r.put(t, user, value(user))
		}
		for _, n := range r.Nodes {
			n.Secrets(t, "reload")
			for user := range passwords {
				for _, password := range []string{r.Password(user), next(user)} {
					if said, err := n.with(t.Context(), user, password, "ping"); err != nil {
						t.Errorf("%s with one of two passwords: %v %s", user, err, said)
					}
				}
			}
		}
	}
}

// keepsAuthority: who may write the authority's secrets, and cannot read them now,
// makes no other.
func keepsAuthority(t *testing.T, r *Redis) {
	t.Helper()
	key, kept := filepath.Join(r.secrets, "ca-key"), filepath.Join(r.secrets, "kept")
	if err := errors.Join(os.Rename(key, kept), os.Mkdir(key, 0o700)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(r.secrets, "ca"))
	if err != nil {
		t.Fatal(err)
	}
	said, err := r.run(t.Context(), filepath.Join(modules, "redis/certificates.sh"),
		"event", region, arn("ca"), arn("ca-key"), arn("node"), "127.0.0.1")
	if err == nil || !strings.Contains(said, "cannot read") {
		t.Errorf("it went on without the authority's key: %v\n%s", err, said)
	}
	if after, err := os.ReadFile(filepath.Join(r.secrets, "ca")); err != nil || string(after) != string(before) {
		t.Errorf("it made another authority: %v", err)
	}
	if err := errors.Join(os.RemoveAll(key), os.Rename(kept, key)); err != nil {
		t.Fatal(err)
	}
}

// serial is that of the certificate that a node shows.
func serial(t *testing.T, n *Node) string {
	t.Helper()
	pem, err := os.ReadFile(n.Etc("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}).
		DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	secure, ok := c.(*tls.Conn)
	if !ok {
		t.Fatalf("a %T", c)
	}
	return secure.ConnectionState().PeerCertificates[0].SerialNumber.String()
}
