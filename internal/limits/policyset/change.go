package policyset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// Errors of the methods. Compare with errors.Is.
var (
	// ErrUnknown says that there is no policy of that name.
	ErrUnknown = refusal.Like("policyset: policy unknown", limiter.ErrPolicyUnknown)
	// ErrPrecondition says that the policy is not as the caller had seen it, or exists
	// although it should not. Nothing was changed.
	ErrPrecondition = refusal.New("policyset: policy is not as it was seen", refusal.Precondition)
)

// Version returns the version of a policy: see serve.Version.
func Version(p limit.Policy) string {
	text, err := json.Marshal(p.WithDefaults()) // the keys of maps are sorted
	if err != nil {
		return `""` // never happens: every policy can be written as JSON
	}
	return serve.Version(text)
}

// find returns the policy of that name, and ErrPrecondition unless the condition is true of it.
func find(in limit.PolicySet, name string, condition serve.Condition) (p limit.Policy, there bool, err error) {
	version := ""
	if p, there = in.Find(name); there {
		version = Version(p)
	}
	if !condition.Allows(version) {
		err = ErrPrecondition
	}
	return p, there, err
}

// CheckName returns a *serve.FieldError for a name that no policy can have.
func CheckName(name string) error {
	if !limit.ValidName(name) {
		return &serve.FieldError{Field: "name", Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -"}
	}
	return nil
}

// Get returns a policy as the store has it, or while the store is away, as it is in force
// here. The error is a *serve.FieldError or ErrUnknown.
func (s *Set) Get(ctx context.Context, name string) (limit.Policy, error) {
	if err := CheckName(name); err != nil {
		return limit.Policy{}, err
	}
	current, err := s.read(ctx)
	if err != nil {
		current = s.remembered()
	}
	p, ok := current.Find(name)
	if !ok {
		return limit.Policy{}, ErrUnknown
	}
	return p, nil
}

// Put makes a policy or replaces it, if the condition allows that, and reports whether it made
// it. by is who does it, for the record. The error is a *serve.FieldError, or wraps a
// *serve.InvalidError, ErrPrecondition, limit.ErrPoliciesChanged or an error of the store.
// With any of them but the last, nothing was changed.
func (s *Set) Put(ctx context.Context, p limit.Policy, by audit.By, condition serve.Condition) (limit.Policy, bool, error) {
	if err := CheckName(p.Name); err != nil {
		return limit.Policy{}, false, err
	}
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return limit.Policy{}, false, &serve.InvalidError{Faults: Faults(err)}
	}
	made := false
	err := s.change(ctx, by, func(current limit.PolicySet) (limit.PolicySet, error) {
		was, there, err := find(current, p.Name, condition)
		if made = !there; err != nil {
			return current, err
		}
		if !there && len(current.Policies) >= limit.MaxPolicies {
			return current, &serve.InvalidError{Faults: []string{fmt.Sprintf("there are %d policies, and may be no more", limit.MaxPolicies)}}
		}
		if there && Version(was) == Version(p) {
			return current, nil
		}
		return current.Put(p), nil
	})
	if err != nil {
		return limit.Policy{}, false, fmt.Errorf("policyset: put: %w", err)
	}
	s.options.Logger.InfoContext(ctx, "policy put", "policy", p.Name, "created", made, "by", by.Who(), "is", p)
	return p, made, nil
}

// Delete removes a policy, if the condition allows that. by is who does it, for the record.
// What its clients have taken is forgotten as it expires. The error is a *serve.FieldError, or
// wraps ErrUnknown, ErrPrecondition, limit.ErrPoliciesChanged or an error of the store.
func (s *Set) Delete(ctx context.Context, name string, by audit.By, condition serve.Condition) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := s.change(ctx, by, func(current limit.PolicySet) (limit.PolicySet, error) {
		_, there, err := find(current, name, condition)
		switch {
		case err != nil:
			return current, err
		case !there:
			return current, ErrUnknown
		}
		return current.Delete(name), nil
	})
	if err != nil {
		return fmt.Errorf("policyset: delete: %w", err)
	}
	s.options.Logger.InfoContext(ctx, "policy deleted", "policy", name, "by", by.Who())
	return nil
}

// change edits the policies of the store. If somebody else changed them first, it edits those
// again, up to maxTries times.
func (s *Set) change(ctx context.Context, by audit.By, edit func(limit.PolicySet) (limit.PolicySet, error)) error {
	for range maxTries {
		current, err := s.read(ctx)
		if err != nil {
			return err
		}
		next, err := edit(current)
		if err != nil || next.Version == current.Version {
			return err
		}
		err = s.put(ctx, current, next, by)
		if err == nil {
			s.adopt(next)
			return nil
		}
		if !errors.Is(err, limit.ErrPoliciesChanged) {
			return err
		}
	}
	return limit.ErrPoliciesChanged
}

// Faults returns the faults in an error of limit.Policy.Validate, one sentence each.
func Faults(err error) []string {
	var all []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		all = append(all, strings.TrimPrefix(line, limit.ErrInvalid.Error()+": "))
	}
	return all
}

// Read reads a policy strictly, from YAML or from JSON, which is YAML. It returns all faults.
// Fields that are missing stay empty, except that name is the name then.
func Read(n *yaml.Node, name string) (limit.Policy, []strictyaml.Fault) {
	var r strictyaml.Reader
	p := limit.Policy{Name: name}
	r.Struct(n, "a policy", &p)
	if len(r.Faults) == 0 {
		if err := p.Validate(); err != nil {
			for _, text := range Faults(err) {
				r.Fault(n, "%s", text)
			}
		}
	}
	return p, r.Faults
}
