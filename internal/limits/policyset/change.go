package policyset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve"
)

// Errors of the methods. Compare with errors.Is.
var (
	// ErrUnknown: there is no policy of that name.
	ErrUnknown = errors.New("policyset: policy unknown")
	// ErrPrecondition: the policy is not as the caller had seen it, or is there
	// although it should not be. Nothing was changed.
	ErrPrecondition = errors.New("policyset: policy is not as it was seen")
)

// Version names a policy as it is: see serve.Version.
func Version(p limit.Policy) string {
	text, err := json.Marshal(p.WithDefaults()) // the keys of maps are sorted
	if err != nil {
		return `""` // there is nothing in a policy that is no JSON
	}
	return serve.Version(text)
}

// check returns ErrPrecondition unless the policy may be changed.
func check(only serve.Condition, p limit.Policy, there bool) error {
	version := ""
	if there {
		version = Version(p)
	}
	if !only.Allows(version) {
		return ErrPrecondition
	}
	return nil
}

// CheckName returns a *serve.FieldError for what can be no policy's name.
func CheckName(name string) error {
	if !limit.ValidName(name) {
		return &serve.FieldError{Field: "name", Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -"}
	}
	return nil
}

// Get returns a policy as the store has it; while the store is away, as it is in
// force here. It returns ErrUnknown.
func (b *Set) Get(ctx context.Context, name string) (limit.Policy, error) {
	if err := CheckName(name); err != nil {
		return limit.Policy{}, err
	}
	is, err := b.read(ctx)
	if err != nil {
		is = b.remembered()
	}
	p, ok := is.Find(name)
	if !ok {
		return limit.Policy{}, ErrUnknown
	}
	return p, nil
}

// Put makes a policy or replaces it, if the condition allows it, and reports
// whether it made it. The record says that it was done by the one of that name. It
// returns a *serve.InvalidError, ErrPrecondition, limit.ErrBookChanged, or an
// error of the store; nothing was changed then.
func (b *Set) Put(ctx context.Context, p limit.Policy, by string, only serve.Condition) (limit.Policy, bool, error) {
	if err := CheckName(p.Name); err != nil {
		return limit.Policy{}, false, err
	}
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return limit.Policy{}, false, &serve.InvalidError{Faults: Faults(err)}
	}
	made := false
	err := b.change(ctx, by, func(is limit.Book) (limit.Book, error) {
		was, there := is.Find(p.Name)
		made = !there
		if err := check(only, was, there); err != nil {
			return is, err
		}
		if !there && len(is.Policies) >= limit.MaxPolicies {
			return is, &serve.InvalidError{Faults: []string{fmt.Sprintf("there are %d policies, and may be no more", limit.MaxPolicies)}}
		}
		if there && Version(was) == Version(p) {
			return is, nil
		}
		return is.Put(p), nil
	})
	if err != nil {
		return limit.Policy{}, false, fmt.Errorf("policyset: put: %w", err)
	}
	b.log.InfoContext(ctx, "policy put", "policy", p.Name, "created", made, "by", by, "is", p)
	return p, made, nil
}

// Delete removes a policy, if the condition allows it. What its clients have taken
// is forgotten by and by. It returns ErrUnknown, ErrPrecondition,
// limit.ErrBookChanged, or an error of the store.
func (b *Set) Delete(ctx context.Context, name, by string, only serve.Condition) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := b.change(ctx, by, func(is limit.Book) (limit.Book, error) {
		was, there := is.Find(name)
		if err := check(only, was, there); err != nil {
			return is, err
		}
		if !there {
			return is, ErrUnknown
		}
		return is.Delete(name), nil
	})
	if err != nil {
		return fmt.Errorf("policyset: delete: %w", err)
	}
	b.log.InfoContext(ctx, "policy deleted", "policy", name, "by", by)
	return nil
}

// change makes another book of the store's; anew, if somebody else was first.
func (b *Set) change(ctx context.Context, by string, edit func(limit.Book) (limit.Book, error)) error {
	for range maxTries {
		is, err := b.read(ctx)
		if err != nil {
			return err
		}
		next, err := edit(is)
		if err != nil || next.Version == is.Version {
			return err
		}
		err = b.store.PutPolicies(ctx, next, is.Version, by)
		if err == nil {
			b.adopt(next)
			return nil
		}
		if !errors.Is(err, limit.ErrBookChanged) {
			return err
		}
	}
	return limit.ErrBookChanged
}

// Faults are what is wrong with a policy, one sentence each.
func Faults(err error) []string {
	var all []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		all = append(all, strings.TrimPrefix(line, limit.ErrInvalid.Error()+": "))
	}
	return all
}
