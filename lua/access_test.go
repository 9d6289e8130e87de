package lua

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// redisWith starts a Redis with more arguments, which ends with the test.
func redisWith(t *testing.T, args ...string) *process.Redis {
	t.Helper()
	r, err := process.NewRedis(t.Context(), "redis-server", t.TempDir(), args...)
	must(t, err)
	must(t, r.Start(t.Context()))
	t.Cleanup(func() { must(t, r.Stop()) })
	return r
}

// openAs opens a store that looks at how Redis is run.
func openAs(t *testing.T, address string, access Access) (*Store, error) {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: address, Access: access, Secrets: []string{"one"}, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() }) // where no connection came about, closing it is an error
	}
	return s, err
}

// TestPasswordIsReplaced: connections that are open outlive a change of the password; that new ones are refused is found, and is
// over as soon as the file has the new password.
func TestPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	r := redisWith(t)
	admin := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer func() { must(t, admin.Close()) }()
	change := func(password string) { must(t, admin.ConfigSet(t.Context(), "requirepass", password).Err()) }
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) { must(t, os.WriteFile(file, []byte(password+"\n"), 0o600)) }

	must(t, admin.Ping(t.Context()).Err())
	change("one")
	write("one")
	s, err := openAs(t, r.URL(), Access{PasswordFile: file})
	must(t, err)
	must(t, s.Ping(t.Context()))
	change("two")
	_ = s.inspect(t.Context())
	if !s.loginRefused.Load() {
		t.Error("the password was replaced, and that new connections are refused was not found")
	}
	client, is := s.client.(*redis.Client)
	if said := s.hint(logInAnew(t.Context(), client)); !is || !strings.Contains(said, "QUEUE_REDIS_PASSWORD_FILE") {
		t.Errorf("the error does not name the setting: %q", said)
	}
	write("two")
	must(t, s.inspect(t.Context()))
	if s.loginRefused.Load() {
		t.Error("the file has the new password, and new connections still count as refused")
	}
	must(t, s.Ping(t.Context()))

	for name, access := range map[string]Access{"absent": {PasswordFile: file + "x"}, "half": {CertFile: file}, "no certificate": {CertFile: file, KeyFile: file}} {
		if err := access.Check(); !errors.Is(err, ErrAccess) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(" ")
	if err := (Access{PasswordFile: file}).Check(); !errors.Is(err, ErrAccess) {
		t.Errorf("an empty file: %v", err)
	}
}

// TestNodeOfACluster: the URL of one node serves a part of the zones only, so the server does not start with it.
func TestNodeOfACluster(t *testing.T) {
	t.Parallel()
	r := redisWith(t, "--cluster-enabled", "yes")
	if _, err := openAs(t, r.URL(), Access{}); !errors.Is(err, ErrCluster) || !strings.Contains(err.Error(), "redis+cluster://") {
		t.Errorf("one node: %v", err)
	}
	c, err := openAs(t, strings.Replace(r.URL(), "redis://", "redis+cluster://", 1), Access{})
	must(t, err)
	if err := c.inspect(t.Context()); errors.Is(err, ErrCluster) {
		t.Errorf("the cluster: %v", err)
	}
}

// TestTLSAsShipped: a Redis with TLS asks its clients for a certificate unless it is told not to. What is missing is named.
func TestTLSAsShipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, key := makeCertificate(t, dir, "ca", nil, nil)
	makeCertificate(t, dir, "redis", authority, key)
	makeCertificate(t, dir, "room", authority, key)
	in := func(name string) string { return filepath.Join(dir, name) }
	port, err := process.FreePort(t.Context())
	must(t, err)
	r := redisWith(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", in("redis.crt"), "--tls-key-file", in("redis.key"), "--tls-ca-cert-file", in("ca.crt"))
	roots, err := ReadRoots(in("ca.crt"))
	must(t, err)
	shown := Access{Roots: roots, CertFile: in("room.crt"), KeyFile: in("room.key")}
	for name, tt := range map[string]struct {
		url    string
		access Access
		says   string // "" if it works
	}{
		"as it should be":        {"rediss://127.0.0.1:" + strconv.Itoa(port), shown, ""},
		"no certificate":         {"rediss://127.0.0.1:" + strconv.Itoa(port), Access{Roots: roots}, "QUEUE_REDIS_CERT_FILE"},
		"an unknown authority":   {"rediss://127.0.0.1:" + strconv.Itoa(port), Access{CertFile: shown.CertFile, KeyFile: shown.KeyFile}, "QUEUE_REDIS_CA"},
		"no TLS to a TLS port":   {"redis://127.0.0.1:" + strconv.Itoa(port), Access{}, "begin QUEUE_REDIS_URL with rediss"},
		"TLS to a port without":  {"rediss://" + r.Addr(), shown, "begin QUEUE_REDIS_URL with redis instead"},
		"no TLS to one without ": {r.URL(), Access{}, ""},
	} {
		u, err := url.Parse(tt.url)
		must(t, err)
		s, err := openAs(t, u.String(), tt.access)
		must(t, err)
		switch err := s.Ping(t.Context()); {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want an error that says %q", name, err, tt.says)
		}
	}
}

// TestSentinelWithPasswords: Sentinels and Redis have passwords of their own. That of the Sentinels is in the URL's query, that of Redis before the
// hosts or in a file; what is wrong is named.
func TestSentinelWithPasswords(t *testing.T) {
	t.Parallel()
	node := redisWith(t, "--requirepass", "of-redis", "--masterauth", "of-redis")
	sentinel, err := process.NewRedis(t.Context(), "redis-server", t.TempDir())
	must(t, err)
	conf := filepath.Join(sentinel.Dir, "sentinel.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\nrequirepass of-sentinel\nsentinel monitor room 127.0.0.1 %d 1\n"+
		"sentinel auth-pass room of-redis\n", sentinel.Port, node.Port), 0o600))
	sentinel.Args = []string{conf, "--sentinel"}
	must(t, sentinel.Start(t.Context()))
	t.Cleanup(func() { must(t, sentinel.Stop()) })
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte("of-redis\n"), 0o600))
	in := func(user, query string) string { return "redis+sentinel://" + user + sentinel.Addr() + "/room" + query }
	for name, tt := range map[string]struct {
		url    string
		access Access
		says   string // "" if it works
	}{
		"both":                     {in(":of-redis@", "?sentinel_password=of-sentinel"), Access{}, ""},
		"Redis's from a file":      {in("", "?sentinel_password=of-sentinel"), Access{PasswordFile: file}, ""},
		"with the Sentinel's user": {in(":of-redis@", "?sentinel_username=default&sentinel_password=of-sentinel"), Access{}, ""},
		"no Sentinel's":            {in(":of-redis@", ""), Access{}, "sentinel_password"},
		"a wrong Sentinel's":       {in(":of-redis@", "?sentinel_password=of-redis"), Access{}, "sentinel_password"},
		"no Redis's":               {in("", "?sentinel_password=of-sentinel"), Access{}, "QUEUE_REDIS_PASSWORD_FILE"},
		"a wrong Redis's":          {in(":of-sentinel@", "?sentinel_password=of-sentinel"), Access{}, "QUEUE_REDIS_PASSWORD_FILE"},
		"another master's name":    {strings.Replace(in(":of-redis@", "?sentinel_password=of-sentinel"), "/room", "/mymaster", 1), Access{}, "name"},
	} {
		s, err := openAs(t, tt.url, tt.access)
		must(t, err)
		switch err := s.Ping(t.Context()); {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want an error that says %q", name, err, tt.says)
		}
		if tt.says == "" {
			must(t, s.inspect(t.Context()))
			if s.loginRefused.Load() {
				t.Errorf("%s: logging in once more is refused", name)
			}
		}
	}
}

// makeCertificate writes NAME.crt and NAME.key: an authority if there is no other, else signed by that one.
func makeCertificate(t *testing.T, dir, name string, authority *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	one := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: authority == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if authority == nil {
		authority, signer = one, key
	}
	der, err := x509.CreateCertificate(rand.Reader, one, authority, &key.PublicKey, signer)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	made, err := x509.ParseCertificate(der)
	must(t, err)
	return made, key
}
