package lua

import (
	"cmp"
	"context"
	"crypto/tls"
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

// ErrAccess is wrapped by the error for a file of an Access that cannot be used.
var ErrAccess = errors.New("lua: access to redis")

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

// Access is how Redis and this server prove to each other who they are, besides what the URL says. A file is read again at
// each dial, so that a secret or a certificate can be replaced while the server runs.
type Access struct {
	// Roots are the authorities that sign Redis's certificates. Nil: those that this machine trusts.
	Roots *x509.CertPool
	// CertFile and KeyFile are PEM files with the certificate that this server shows, for a Redis that asks for one
	// (tls-auth-clients yes, its default), and with its key. Empty: none is shown.
	CertFile, KeyFile string
	// UserFile and PasswordFile have the user's name and password in place of the URL's. White space at their ends is
	// ignored. Empty: what the URL says.
	UserFile, PasswordFile string
}

// Client makes the client for a URL:
//
//	redis://[user:password@]host:6379[/db]         one Redis (rediss:// with TLS)
//	redis://host1:7000,host2:7000,host3:7000       a cluster, any of its nodes
//	redis+cluster://host:7000                      a cluster, by one name
//	redis+sentinel://host1:26379,host2:26379/name  Sentinel, and the master's name
//
// "rediss" in place of "redis" asks for TLS in each: 1.2 or later, and a certificate
// that is good for the host of the URL. In a cluster and with Sentinel it must be
// good for the address that the nodes tell each other, since that is what is
// dialled. The query may hold sentinel_username and sentinel_password.
func Client(address string, access Access) (redis.UniversalClient, error) {
	open, err := parseURL(address, access)
	if err != nil {
		return nil, err
	}
	return open(), nil
}

// CheckURL returns the error that Client would, and opens nothing.
func CheckURL(address string) error {
	_, err := parseURL(address, Access{})
	return err
}

// HasTLS reports whether a URL asks for TLS.
func HasTLS(address string) bool { return strings.HasPrefix(address, "rediss") }

// ReadRoots reads a PEM file of the authorities that sign Redis's certificates.
func ReadRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAccess, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s holds no certificate in PEM", ErrAccess, file)
	}
	return roots, nil
}

// Check returns what is wrong with the files.
func (a Access) Check() error {
	if (a.CertFile == "") != (a.KeyFile == "") {
		return fmt.Errorf("%w: a certificate and its key belong together: name both files", ErrAccess)
	}
	if a.CertFile != "" {
		if _, err := a.certificate(nil); err != nil {
			return err
		}
	}
	if a.PasswordFile == "" && a.UserFile == "" {
		return nil
	}
	_, _, err := a.credentials("", "")
	return err
}

// certificate is tls.Config's GetClientCertificate.
func (a Access) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s and %s are no certificate and its key: %w", ErrAccess, a.CertFile, a.KeyFile, err)
	}
	return &pair, nil
}

// credentials returns what the files say, and for a file that is not named the URL's.
func (a Access) credentials(user, password string) (string, string, error) {
	for file, into := range map[string]*string{a.UserFile: &user, a.PasswordFile: &password} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", "", fmt.Errorf("%w: %w", ErrAccess, err)
		}
		if *into = strings.TrimSpace(string(text)); *into == "" {
			return "", "", fmt.Errorf("%w: %s is empty", ErrAccess, file)
		}
	}
	return user, password, nil
}

// opener makes the client that a URL asks for.
type opener func() redis.UniversalClient

func parseURL(address string, access Access) (opener, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The error of url.Parse repeats the URL, and so the password.
		return nil, fmt.Errorf("%w: not a URL; it should look like redis://127.0.0.1:6379, redis://a:6379,b:6379 with a host and a port "+
			"between all commas, or redis+cluster://a:6379", ErrURL)
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
	if kind == "cluster" && path != "" && path != "0" {
		return nil, fmt.Errorf("%w: a cluster has no database %s: leave the path out", ErrURL, path)
	}
	one := url.URL{Scheme: scheme, User: u.User, Host: hosts[0]}
	if kind == "" {
		one.Path = path
	}
	o, err := options(one, hosts, access)
	if err != nil {
		return nil, fmt.Errorf("%w: each of its hosts must be host:port, and for one Redis the path must be a database's number", ErrURL)
	}
	// logIn is asked at each dial. Nil: the password is the URL's.
	var logIn func(context.Context) (string, string, error)
	if access.UserFile != "" || access.PasswordFile != "" {
		logIn = func(context.Context) (string, string, error) { return access.credentials(o.Username, o.Password) }
	}
	switch kind {
	case "":
		o.Addrs = []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))}
		if o.TLSConfig != nil {
			// The one name that is dialled; other nodes are dialled by their own.
			o.TLSConfig.ServerName = u.Hostname()
		}
		simple := o.Simple()
		simple.CredentialsProviderContext = logIn
		return func() redis.UniversalClient { return redis.NewClient(simple) }, nil
	case "cluster":
		cluster := o.Cluster()
		cluster.ClusterStateReloadInterval, cluster.CredentialsProviderContext = stateReload, logIn
		return func() redis.UniversalClient { return redis.NewClusterClient(cluster) }, nil
	case "sentinel":
		if path == "" || strings.Contains(path, "/") {
			return nil, fmt.Errorf("%w: %s+sentinel:// needs the master's name as its path", ErrURL, scheme)
		}
		o.MasterName = path
		o.SentinelUsername, o.SentinelPassword = u.Query().Get(sentinelUsername), u.Query().Get(sentinelPassword)
		if logIn != nil {
			o.MinIdleConns = 0 // else connections are dialled before logIn is set below, for which FailoverOptions has no field
		}
		return func() redis.UniversalClient {
			client := redis.NewFailoverClient(o.Failover())
			client.Options().CredentialsProviderContext = logIn
			return client
		}, nil
	default:
		return nil, fmt.Errorf("%w: %s+%s is unknown; use %s, %s+cluster or %s+sentinel",
			ErrURL, scheme, kind, scheme, scheme, scheme)
	}
}

// options are those of all kinds of clients, and what go-redis reads in the URL of one
// node: who logs in, the database, and whether there is TLS.
func options(one url.URL, hosts []string, access Access) (*redis.UniversalOptions, error) {
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
		o.TLSConfig.RootCAs, o.TLSConfig.ServerName = access.Roots, ""
		if access.CertFile != "" {
			o.TLSConfig.GetClientCertificate = access.certificate
		}
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
