package checkapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/serve"
)

// Limits decides questions. *limiter.Limiter implements it.
type Limits interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
	// Sources returns what the policy tells clients apart by; ok is false if there is
	// no such policy.
	Sources(policy string) (sources []limit.Source, ok bool)
}

// Service answers questions. It is safe for concurrent use.
type Service struct {
	limits     Limits
	identities *identity.Finder
}

// New returns the service.
func New(limits Limits, identities *identity.Finder) *Service {
	return &Service{limits: limits, identities: identities}
}

// Check decides a question in which the service has named the key. The error is a
// *serve.FieldError or wraps limiter.ErrPolicyUnknown. A refusal is no error.
func (s *Service) Check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	if q.Tier != "" && !limit.ValidName(q.Tier) {
		return limiter.Answer{}, &serve.FieldError{Field: "tier", Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -"}
	}
	return s.ask(ctx, q)
}

// Auth decides about the client whose request a gateway has forwarded. The cost is 1. The
// errors are those of Check.
func (s *Service) Auth(ctx context.Context, policy string, r *http.Request) (limiter.Answer, error) {
	sources, ok := s.limits.Sources(policy)
	if !ok {
		return limiter.Answer{}, limiter.ErrPolicyUnknown
	}
	who := s.identities.Find(r, sources)
	return s.ask(ctx, limiter.Question{Policy: policy, Key: who.Key, Tier: who.Tier, Cost: 1})
}

func (s *Service) ask(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	a, err := s.limits.Check(ctx, q)
	switch {
	case errors.Is(err, limiter.ErrKey):
		return a, &serve.FieldError{Field: "key", Reason: fmt.Sprintf("must have 1 to %d bytes", limiter.MaxKey)}
	case errors.Is(err, limiter.ErrCost):
		return a, &serve.FieldError{
			Field: "cost", Reason: "must be between 1 and the least that a rule of the policy permits at once",
		}
	case err != nil:
		return a, fmt.Errorf("checkapi: %w", err)
	}
	return a, nil
}
