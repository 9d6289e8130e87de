package policyset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/zone"
)

// DefaultInterval is how often the book is read: twice within the second in which
// a change must be in force everywhere.
const DefaultInterval = 500 * time.Millisecond

// maxTries bounds how often a change is made anew because another came first.
// Operators are people: whoever loses five times in a row has met a script, and
// should know.
const maxTries = 5

// Store is where the book is kept.
type Store interface {
	// Policies returns the policies; one of version 0 where there are none.
	Policies(ctx context.Context) (limit.Book, error)
	// PutPolicies replaces the version that was read: else limit.ErrBookChanged.
	PutPolicies(ctx context.Context, b limit.Book, was int64, by string) error
	// RestorePolicies puts a book back where there is none, or an older one.
	RestorePolicies(ctx context.Context, b limit.Book) error
	// PolicyChanges is the record of changes, the newest first.
	PolicyChanges(ctx context.Context) ([]limit.Change, error)
}

// Options of a Set. Store and Use are required.
type Options struct {
	Store Store
	// Seeds are the policies to make when absent: valid, with distinct names.
	Seeds []limit.Policy
	// Use hears of every book that comes into force, one at a time.
	Use func(limit.Book)
	// Interval between two readings. DefaultInterval when 0.
	Interval time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Set remembers the policies, and puts back what the store lost. Its methods
// may be called from any goroutine.
type Set struct {
	store    Store
	seeds    []limit.Policy
	use      func(limit.Book)
	interval time.Duration
	log      *slog.Logger

	mu sync.Mutex
	// book is in force. failing: the latest reading did.
	book    limit.Book
	failing bool

	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a Set in which the seeds are in force. Call Start before use and
// Stop after.
func New(o Options) *Set {
	b := &Set{store: o.Store, seeds: o.Seeds, use: o.Use, interval: o.Interval, log: o.Logger}
	if b.interval <= 0 {
		b.interval = DefaultInterval
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.book, _ = b.seeded(limit.Book{})
	// What was never written is no version that could win over another.
	b.book.Version = 0
	b.use(b.book.Clone())
	return b
}

// Start reads the book once, and goes on in the background until Stop. A store
// that is away does not fail it: the seeds are in force until it is back.
func (b *Set) Start(ctx context.Context) {
	b.runOnce(ctx)
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		tick := time.NewTicker(b.interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				b.runOnce(ctx)
			}
		}
	}()
}

// Stop ends the reading and waits for it. A Set that was not started need not
// be stopped.
func (b *Set) Stop() {
	if b.cancel == nil {
		return
	}
	b.cancel()
	<-b.done
}

// runOnce reads the book; a failure is logged when it begins and when it ends.
func (b *Set) runOnce(ctx context.Context) {
	_, err := b.read(ctx)
	if ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	before := b.failing
	b.failing = err != nil
	b.mu.Unlock()
	switch {
	case err != nil && !before:
		b.log.Warn("the policies of limits cannot be read from the store; going on with those remembered", "error", err)
	case err == nil && before:
		b.log.Info("the policies of limits can be read from the store again")
	}
}

// read returns the store's book, once it has in it what this server remembers and
// what the configuration names, and is in force here.
func (b *Set) read(ctx context.Context) (limit.Book, error) {
	for range maxTries {
		is, err := b.store.Policies(ctx)
		if err != nil {
			return limit.Book{}, err
		}
		if had := b.remembered(); had.Version > is.Version {
			if err := b.store.RestorePolicies(ctx, had); err != nil {
				return limit.Book{}, err
			}
			b.log.Warn("the store had lost the policies of limits; they were put back",
				"version", had.Version, "found", is.Version)
			continue
		}
		next, missing := b.seeded(is)
		if !missing {
			b.adopt(is)
			return is, nil
		}
		if err := b.store.PutPolicies(ctx, next, is.Version, zone.ByConfig); err != nil && !errors.Is(err, limit.ErrBookChanged) {
			return limit.Book{}, err
		}
	}
	return limit.Book{}, limit.ErrBookChanged
}

// seeded is the book with those seeds that it has not, and whether there are any.
func (b *Set) seeded(is limit.Book) (next limit.Book, missing bool) {
	next = is
	for _, p := range b.seeds {
		if _, ok := next.Find(p.Name); !ok && !slices.Contains(next.Deleted, p.Name) && len(next.Policies) < limit.MaxPolicies {
			next, missing = next.Put(p), true
		}
	}
	return next, missing
}

func (b *Set) remembered() limit.Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.book
}

// adopt puts a book that the store has into force, unless a newer one is.
func (b *Set) adopt(is limit.Book) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if is.Version < b.book.Version || reflect.DeepEqual(is, b.book) {
		return
	}
	b.book = is
	b.use(b.usable(is.Clone()))
}

// usable leaves out what is no policy to this version of the server: what a newer one
// has put there before it was rolled back, or somebody by hand.
func (b *Set) usable(is limit.Book) limit.Book {
	is.Policies = slices.DeleteFunc(is.Policies, func(p limit.Policy) bool {
		err := p.Validate()
		if err != nil {
			b.log.Error("a policy in the store is of no use here, and not in force: put or delete it", "policy", p.Name, "error", err)
		}
		return err != nil
	})
	return is
}

// All returns all policies by name, as the store has them; while the store is away,
// as they are in force here.
func (b *Set) All(ctx context.Context) []limit.Policy {
	is, err := b.read(ctx)
	if err != nil {
		is = b.remembered()
	}
	return is.Clone().Policies
}

// InForce returns all policies by name, as they are in force on this server. It asks
// nothing of the store.
func (b *Set) InForce() []limit.Policy { return b.remembered().Clone().Policies }

// Find returns the policy of that name that is in force on this server.
func (b *Set) Find(name string) (limit.Policy, bool) { return b.remembered().Find(name) }

// Changes returns the record of changes, of one policy or for "" of all: the newest
// first, limit of them at most.
func (b *Set) Changes(ctx context.Context, name string, most int) ([]limit.Change, error) {
	all, err := b.store.PolicyChanges(ctx)
	if err != nil {
		return nil, fmt.Errorf("policyset: changes: %w", err)
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(c limit.Change) bool { return c.Policy != name })
	}
	return all[:min(len(all), most)], nil
}
