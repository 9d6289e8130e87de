package lua

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrURL is wrapped by the error for a URL that cannot be used.
var ErrURL = errors.New("lua: redis URL")

// ErrRoots is wrapped by the error for a file of certificates that cannot be used.
var ErrRoots = errors.New("lua: certificate authorities of redis")

const (
	// dialTimeout and ioTimeout bound one dial and one exchange. A caller with less time does not wait for them. Once
	// poolSize dials have failed, the client stops dialling for a while. So no dial may fail because this machine is busy.
	dialTimeout = time.Second
	ioTimeout   = batchTimeout
	// poolSize is a node's connections: a zone has maxInFlight calls under
	// way, so this serves dozens of busy zones a node.
	poolSize = 64
	// minIdle keeps connections open before the crowd comes.
	minIdle = 8
	// stateReload is how often a cluster client looks anew even if no call
	// failed, for slots that were moved.
	stateReload = 5 * time.Second
)

// Client makes the client for a URL:
//
//	redis://[user:password@]host:6379[/db]         one Redis (rediss:// with TLS)
//	redis://host1:7000,host2:7000,host3:7000       a cluster, any of its nodes
//	redis+cluster://host:7000                      a cluster, by one node
//	redis+sentinel://host1:26379,host2:26379/name  Sentinel, and the master's name
//
// "rediss" in place of "redis" asks for TLS in each: 1.2 or later, and a certificate
// that is good for the host of the URL. In a cluster and with Sentinel it must be
// good for the address that the nodes tell each other, since that is what is
// dialled. One of roots has signed it, or if roots is nil, an authority that this machine
// trusts. The query may hold sentinel_username and sentinel_password.
func Client(address string, roots *x509.CertPool) (redis.UniversalClient, error) {
	open, err := parseURL(address, roots)
	if err != nil {
		return nil, err
	}
	return open(), nil
}

// CheckURL returns the error that Client would, and opens nothing.
func CheckURL(address string) error {
	_, err := parseURL(address, nil)
	return err
}

// HasTLS reports whether a URL asks for TLS.
func HasTLS(address string) bool { return strings.HasPrefix(address, "rediss") }

// ReadRoots reads a PEM file of the authorities that sign Redis's certificates.
func ReadRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRoots, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s holds no certificate in PEM", ErrRoots, file)
	}
	return roots, nil
}

// opener makes the client that a URL asks for.
type opener func() redis.UniversalClient

func parseURL(address string, roots *x509.CertPool) (opener, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The error of url.Parse repeats the URL, and so the password.
		return nil, fmt.Errorf("%w: not a URL; it should look like redis://127.0.0.1:6379", ErrURL)
	}
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	if scheme != "redis" && scheme != "rediss" || u.Host == "" {
		return nil, fmt.Errorf("%w: it must begin with redis:// or rediss:// and name a host", ErrURL)
	}
	hosts := strings.Split(u.Host, ",")
	if kind == "" && len(hosts) > 1 {
		kind = "cluster"
	}
	if err := checkQuery(u.RawQuery, kind); err != nil {
		return nil, err
	}
	path := strings.Trim(u.Path, "/")
	one := url.URL{Scheme: scheme, User: u.User, Host: hosts[0]}
	if kind == "" {
		one.Path = path
	}
	o, err := options(one, hosts, roots)
	if err != nil {
		return nil, fmt.Errorf("%w: each of its hosts must be host:port, and for one Redis the path must be a database's number", ErrURL)
	}
	switch kind {
	case "":
		o.Addrs = []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))}
		if o.TLSConfig != nil {
			// The one name that is dialled; other nodes are dialled by their own.
			o.TLSConfig.ServerName = u.Hostname()
		}
		return func() redis.UniversalClient { return redis.NewClient(o.Simple()) }, nil
	case "cluster":
		cluster := o.Cluster()
		cluster.ClusterStateReloadInterval = stateReload
		return func() redis.UniversalClient { return redis.NewClusterClient(cluster) }, nil
	case "sentinel":
		if path == "" || strings.Contains(path, "/") {
			return nil, fmt.Errorf("%w: %s+sentinel:// needs the master's name as its path", ErrURL, scheme)
		}
		o.MasterName = path
		o.SentinelUsername, o.SentinelPassword = u.Query().Get(sentinelUsername), u.Query().Get(sentinelPassword)
		return func() redis.UniversalClient { return redis.NewFailoverClient(o.Failover()) }, nil
	default:
		return nil, fmt.Errorf("%w: %s+%s is unknown; use %s, %s+cluster or %s+sentinel",
			ErrURL, scheme, kind, scheme, scheme, scheme)
	}
}

// options are those of all kinds of clients, and what go-redis reads in the URL of one
// node: who logs in, the database, and whether there is TLS.
func options(one url.URL, hosts []string, roots *x509.CertPool) (*redis.UniversalOptions, error) {
	parsed, err := redis.ParseURL(one.String())
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{
		Addrs: hosts, DB: parsed.DB, Username: parsed.Username, Password: parsed.Password, TLSConfig: parsed.TLSConfig,
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, PoolTimeout: ioTimeout,
		// Redirections only: commands that must not be sent twice are not.
		MaxRetries: -1, MaxRedirects: 3,
		DialerRetries: 1, ContextTimeoutEnabled: true,
		PoolSize: poolSize, MinIdleConns: minIdle,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if o.TLSConfig != nil {
		o.TLSConfig.RootCAs, o.TLSConfig.ServerName = roots, ""
	}
	return o, nil
}

// The parameters that a Sentinel's URL may have.
const (
	sentinelUsername = "sentinel_username"
	sentinelPassword = "sentinel_password"
)

// checkQuery refuses parameters that nothing here reads: else an operator would find out
// too late that a timeout has no effect. The error leaves out values, which may be secret.
func checkQuery(raw, kind string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Errorf("%w: what follows the ? is not well-formed", ErrURL)
	}
	for name := range query {
		if kind != "sentinel" || name != sentinelUsername && name != sentinelPassword {
			return fmt.Errorf("%w: the parameter %q is unknown; there are %s and %s, for Sentinel",
				ErrURL, name, sentinelUsername, sentinelPassword)
		}
	}
	return nil
}
