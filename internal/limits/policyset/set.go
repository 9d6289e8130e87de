package policyset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

// readEvery is how often the policies are read: twice within the second in which
// a change must be in force everywhere.
const readEvery = 500 * time.Millisecond

// maxTries bounds how often a change is tried because another one came first. A change that loses five times in a row
// competes with a script, of which its operator should know.
const maxTries = 5

// SetOptions configure New. Store and Use are required.
type SetOptions struct {
	Store line.Keeper
	// Seeds are the policies to make when absent: valid, with distinct names.
	Seeds []limit.Policy
	// Use is called with every set that comes into force, by one goroutine at a time.
	Use func(limit.PolicySet)
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Set remembers the policies, and puts back what the store lost. Its methods
// may be called from any goroutine.
type Set struct {
	options SetOptions

	mu sync.Mutex
	// policies are those in force. failing says that the latest reading failed.
	policies limit.PolicySet
	failing  bool

	reading background.Group
}

// New returns a Set in which the seeds are in force. Call Start before use and Stop
// afterwards.
func New(o SetOptions) *Set {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Set{options: o}
	s.policies, _ = s.seeded(limit.PolicySet{})
	// No store has these yet, so their version must not win over one of a store.
	s.policies.Version = 0
	s.options.Use(s.policies.Clone())
	return s
}

// Start reads the policies once, and then in the background until Stop. While the store is
// away, the seeds are in force.
func (s *Set) Start(ctx context.Context) {
	s.runOnce(ctx)
	s.reading.Start(ctx, background.Every(readEvery, s.runOnce))
}

// Stop ends what Start began, and waits for it. A Set that was not started need not be
// stopped.
func (s *Set) Stop() { s.reading.Stop() }

// runOnce reads the policies. It logs when the store begins to fail, and when it answers
// again.
func (s *Set) runOnce(ctx context.Context) {
	_, err := s.read(ctx)
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	before := s.failing
	s.failing = err != nil
	s.mu.Unlock()
	switch {
	case err != nil && !before:
		s.options.Logger.Warn("the policies of limits cannot be read from the store; going on with those remembered", "error", err)
	case err == nil && before:
		s.options.Logger.Info("the policies of limits can be read from the store again")
	}
}

// read returns the policies of the store, once they include what this server remembers and
// what the configuration names, and are in force here.
func (s *Set) read(ctx context.Context) (limit.PolicySet, error) {
	for range maxTries {
		current, err := Stored(ctx, s.options.Store)
		if err != nil {
			return limit.PolicySet{}, err
		}
		if remembered := s.remembered(); remembered.Version > current.Version {
			if err := Replace(ctx, s.options.Store, remembered, current.Version); err == nil {
				s.options.Logger.Warn("the store had lost the policies of limits; they were put back",
					"version", remembered.Version, "found", current.Version)
			} else if !errors.Is(err, limit.ErrPoliciesChanged) {
				return limit.PolicySet{}, err
			}
			continue
		}
		next, missing := s.seeded(current)
		if !missing {
			s.adopt(current)
			return current, nil
		}
		if err := s.put(ctx, current, next, audit.By{Name: zone.ByConfig, Via: audit.ViaFile}); err != nil && !errors.Is(err, limit.ErrPoliciesChanged) {
			return limit.PolicySet{}, err
		}
	}
	return limit.PolicySet{}, limit.ErrPoliciesChanged
}

// put has the store replace current by next, and note who did it.
func (s *Set) put(ctx context.Context, current, next limit.PolicySet, by audit.By) error {
	return Replace(ctx, s.options.Store, next, current.Version, limit.Changes(current, next, by)...)
}

// seeded adds the seeds that a set lacks, and reports whether it lacked any.
func (s *Set) seeded(current limit.PolicySet) (next limit.PolicySet, missing bool) {
	next = current
	for _, p := range s.options.Seeds {
		if lacks(next, p.Name) && len(next.Policies) < limit.MaxPolicies {
			next, missing = next.Put(p), true
		}
	}
	return next, missing
}

// lacks reports whether a set has no policy of that name, though no operator has deleted it.
func lacks(in limit.PolicySet, name string) bool {
	_, there := in.Find(name)
	return !there && !slices.Contains(in.Deleted, name)
}

func (s *Set) remembered() limit.PolicySet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policies
}

// adopt puts the policies of the store into force, unless newer ones are in force.
func (s *Set) adopt(current limit.PolicySet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current.Version < s.policies.Version || reflect.DeepEqual(current, s.policies) {
		return
	}
	s.policies = current
	s.options.Use(s.usable(current.Clone()))
}

// usable leaves out policies that are not valid for this version of the server. A newer
// version may have written them before it was rolled back, or somebody by hand.
func (s *Set) usable(current limit.PolicySet) limit.PolicySet {
	current.Policies = slices.DeleteFunc(current.Policies, func(p limit.Policy) bool {
		err := p.Validate()
		if err != nil {
			s.options.Logger.Error("a policy in the store is not valid for this version of the server, and not in force: replace or delete it", "policy", p.Name, "error", err)
		}
		return err != nil
	})
	return current
}

// All returns all policies by name, as the store has them, or while the store is away, as
// they are in force here.
func (s *Set) All(ctx context.Context) []limit.Policy {
	current, err := s.read(ctx)
	if err != nil {
		current = s.remembered()
	}
	return current.Clone().Policies
}

// InForce returns all policies by name, as they are in force on this server. It does not ask
// the store.
func (s *Set) InForce() []limit.Policy { return s.remembered().Clone().Policies }

// Find returns the policy of that name that is in force on this server.
func (s *Set) Find(name string) (limit.Policy, bool) { return s.remembered().Find(name) }

// Changes returns the latest changes of a policy, or of all policies if name is "": the newest
// first, but no more than most of them. The error wraps one of the store.
func (s *Set) Changes(ctx context.Context, name string, most int) ([]limit.Change, error) {
	all, err := Recorded(ctx, s.options.Store)
	if err != nil {
		return nil, fmt.Errorf("policyset: changes: %w", err)
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(c limit.Change) bool { return c.Policy != name })
	}
	return all[:min(len(all), most)], nil
}
