package lua

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// Options of a store.
type Options struct {
	// URL says where Redis is; see Client for its forms.
	URL string
	// Access is how Redis and this server prove to each other who they are.
	Access Access
	// Prefix begins every key. Empty: none.
	Prefix string
	// Now, when not nil, is the clock instead of the Redis server's: for
	// tests alone.
	Now func() time.Time
	// Secrets are the fingerprints of the server's secrets, the one that signs
	// first. While servers that were here before have others, Ping returns
	// line.ErrSecrets. Empty: nobody is asked.
	Secrets []string
	// Visitors, where Secrets are set, have the key that all servers share: see announce. Nil: it is not shared.
	Visitors VisitorKey
	// Sealer seals the records of changes. Nil: one that no other process can check.
	Sealer *audit.Sealer
	// NoEviction has Open return ErrEviction if Redis is there and may evict keys. If that is found later, the log and a
	// metric say so. It is looked at only with Secrets.
	NoEviction bool
	// Logger gets what goes wrong in the background. Nil: slog.Default().
	Logger *slog.Logger
	// Registerer gets the store's metrics. Nil: they are not exported.
	Registerer prometheus.Registerer
}

// VisitorKey is the key by which a server turns a clientId into an id. *token.Keys have one.
type VisitorKey interface {
	// VisitorKey returns the key in use.
	VisitorKey() []byte
	// UseVisitorKey has another key used, which the store had before.
	UseVisitorKey(key []byte) error
}

// clientLog writes go-redis's own log at level debug. It has no levels, and says several times a second that a node is
// away, which metrics and readiness report.
type clientLog struct{ logger *slog.Logger }

// Printf is what go-redis calls.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.logger.DebugContext(ctx, "the redis client says", "text", fmt.Sprintf(format, v...))
}

var quiet sync.Once

const (
	// callTimeout bounds one script call, dialling and NOSCRIPT included. With
	// patience before it, a poll is answered with 503 within 500 ms.
	callTimeout = 400 * time.Millisecond
	// batchTimeout bounds a call that many visitors share, none of whom waits so long (zones.Options.Within). A reply that
	// is late since this machine is busy must not close the connection: to dial another, a busy machine has no time.
	batchTimeout = 2 * time.Second
	// patience is how long a call may take before those who wait behind it no
	// longer count on it: they get a call of their own if one may be sent, and
	// if it fails are refused with it, for they lack the time for another.
	patience = 50 * time.Millisecond
	// changeTimeout bounds an operator's call, which may wait longer.
	changeTimeout = 2 * time.Second
	// reloadEvery bounds how often a failing cluster is asked who is master.
	reloadEvery = 200 * time.Millisecond
)

// timeouts are callTimeout, batchTimeout and changeTimeout. Tests of what a store answers set longer ones, since their
// machine may be busy.
type timeouts struct{ call, batch, change time.Duration }

var _ store.Store = (*Store)(nil)

// Store is the Redis store: what its methods promise, package store says.
type Store struct {
	client redis.UniversalClient
	prefix string
	now    func() time.Time
	// steady is a clock that nobody sets; zero times where now is not the true time.
	steady   func() time.Time
	logger   *slog.Logger
	metrics  *metrics
	timeouts timeouts
	// noteAfter is when notes are sent: noteAfter, but longer in tests of what happens until
	// then. closing is closed when the store is, and they are sent at once.
	noteAfter time.Duration
	closing   chan struct{}

	known   known
	mu      sync.RWMutex
	batches map[string]*zoneBatch
	// partitions gather the decisions on limits.
	partitions [limit.Partitions]*batch[*decision]
	// linger is how long a limit's key is kept beyond its use: lingerFor, but longer
	// in tests, whose clock is not that by which Redis removes keys.
	linger time.Duration
	// work is held by every call in flight, so that Close can wait for them.
	work sync.WaitGroup

	// announced is nil if secrets are not compared with those of other servers. here is how many are here.
	announced *announcement
	here      atomic.Int64
	unready   unready
	visitors  VisitorKey

	sealer *audit.Sealer

	// failsOver: Redis is a cluster or has Sentinel, so that each master needs a replica. warned is what was warned of.
	failsOver, noEviction bool
	evicts, loginRefused  atomic.Bool
	// tls: the URL asks for it. answered: Redis has answered this server once.
	tls      bool
	answered atomic.Bool
	warned   sync.Map

	reload sync.Mutex
	last   time.Time
}

// Open makes a store. Redis need not be there yet: calls fail with
// line.ErrStoreUnavailable until it is.
func Open(ctx context.Context, o Options) (*Store, error) {
	client, err := Client(o.URL, o.Access)
	if err != nil {
		return nil, err
	}
	s, err := openOn(client, o)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	if err := s.warm(ctx); err != nil {
		s.logger.Warn("redis is not there yet; visitors get 503 until it is", "err", fmt.Errorf("%w%s", err, s.hint(err)))
	}
	if len(o.Secrets) > 0 {
		s.announced = newAnnouncement(o.Secrets)
		_ = s.announce(ctx) // warm has logged it already
		if err := s.inspect(ctx); o.NoEviction && errors.Is(err, ErrEviction) || errors.Is(err, ErrCluster) {
			return nil, errors.Join(err, client.Close())
		}
		s.work.Go(s.keepAnnouncing)
	}
	return s, nil
}

// openOn makes a store on a client that is there. Its scripts are not loaded yet.
func openOn(client redis.UniversalClient, o Options) (s *Store, err error) {
	s = &Store{
		unready: unready{found: make(map[reason]error)},
		client:  client, prefix: o.Prefix, visitors: o.Visitors, now: o.Now, logger: o.Logger,
		timeouts: timeouts{callTimeout, batchTimeout, changeTimeout},
		linger:   lingerFor, noteAfter: noteAfter, closing: make(chan struct{}),
		batches: make(map[string]*zoneBatch), noEviction: o.NoEviction, sealer: o.Sealer,
	}
	if s.sealer == nil {
		s.sealer = audit.NewSealer(audit.Options{})
	}
	_, isCluster := client.(*redis.ClusterClient)
	s.tls = HasTLS(o.URL)
	s.failsOver = isCluster || strings.Contains(o.URL, "+sentinel://")
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.steady = time.Now; s.now != nil {
		s.steady = func() time.Time { return time.Time{} }
	}
	quiet.Do(func() { redis.SetLogger(clientLog{s.logger}) })
	if s.metrics, err = newMetrics(o.Registerer, s); err != nil {
		return nil, err
	}
	s.openPartitions()
	return s, nil
}

// Close sends the notes that are in hand, waits for the calls in flight, and closes the
// connections. To be called once.
func (s *Store) Close() error {
	close(s.closing)
	if s.announced != nil {
		s.withdraw()
	}
	s.work.Wait()
	return s.client.Close()
}

// warm loads the scripts on every master, so that the first crowd does not.
func (s *Store) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	return s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		for _, sc := range scripts {
			if err := c.ScriptLoad(ctx, sc.text).Err(); err != nil {
				return fmt.Errorf("lua: loading %s: %w", sc.name, err)
			}
		}
		return nil
	})
}

// eachMaster does something on every master, and returns the first error.
func (s *Store) eachMaster(ctx context.Context, on func(ctx context.Context, c *redis.Client) error) error {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, on)
	case *redis.Client:
		return on(ctx, c)
	default:
		return fmt.Errorf("lua: no way to reach the masters through a %T", c)
	}
}

// failed turns an error of the client into the store's.
func (s *Store) failed(ctx context.Context, call string, err error) error {
	if redis.HasErrorPrefix(err, "OOM") {
		return s.failedAs(ctx, line.ErrStoreFull, call, err)
	}
	return s.failedAs(ctx, line.ErrStoreUnavailable, call, err)
}

// failedAs turns an error of the client into one that wraps another. A network
// error makes a cluster client ask at once which nodes are there: by itself it
// would notice a killed master a minute later.
func (s *Store) failedAs(ctx context.Context, as error, call string, err error) error {
	s.metrics.failures.WithLabelValues(call).Inc()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return err
	}
	if cluster, ok := s.client.(*redis.ClusterClient); ok && s.mayReload() {
		cluster.ReloadState(ctx)
	}
	return fmt.Errorf("%w: %s: %w%s", as, call, err, s.hint(err))
}

func (s *Store) mayReload() bool {
	s.reload.Lock()
	defer s.reload.Unlock()
	if time.Since(s.last) < reloadEvery {
		return false
	}
	s.last = time.Now()
	return true
}

// clock is the scripts' first argument.
func (s *Store) clock() string {
	if s.now == nil {
		return ""
	}
	return strconv.FormatInt(s.now().UnixMicro(), 10)
}

// wall is the time by which what is remembered grows old.
func (s *Store) wall() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// keys are the keys of a zone, in the order of keys.lua.
func (s *Store) keys(zoneID string) []string {
	tag := s.prefix + "{" + zoneID + "}:"
	return []string{
		tag + "zone", tag + "line", tag + "live", tag + "due", tag + "log",
		tag + "departed", tag + "seen:", tag + "waits", tag + "marks", tag + "inside", tag + "over",
		tag + "aside:0", tag + "aside:1",
	}
}

// leaseKey is held by the server that sweeps the zone.
func (s *Store) leaseKey(zoneID string) string { return s.prefix + "{" + zoneID + "}:sweep" }

// recordKeys are those of a record of changes: the list, and the hash. That of refusals lies beside that of the operators.
func (s *Store) recordKeys(name string) []string {
	if name == audit.Refusals {
		tag := s.prefix + "{" + audit.Operators + "}:refusals"
		return []string{tag, tag + ":record"}
	}
	tag := s.prefix + "{" + name + "}:"
	return []string{tag + "audit", tag + "record"}
}

// drawKey has the list of a draw.
func (s *Store) drawKey(zoneID, nonce string) string {
	return fmt.Sprintf("%s{%s}:draw:%s", s.prefix, zoneID, nonce)
}

// minutesKey has the rows of a zone's minutes of one day, counted from 1970.
func (s *Store) minutesKey(zoneID string, day int64) string {
	return fmt.Sprintf("%s{%s}:minutes:%d", s.prefix, zoneID, day)
}

// zonesKey is the list of the zones' names, recordsKey that of the zones which
// have a record of changes, deleted ones included. Each lies in a slot of its own.
func (s *Store) zonesKey() string   { return s.prefix + "zones" }
func (s *Store) recordsKey() string { return s.prefix + "records" }
