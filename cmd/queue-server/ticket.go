package main

import (
	"context"
	"log/slog"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/ticket"
)

// tickets are what invitations are checked with.
type tickets struct {
	keys *identity.Finder // nil where nobody is invited
	desk *ticket.Desk
}

// openTickets begins to keep the keys fresh; stop ends it.
func openTickets(ctx context.Context, s checked, l *limits, log *slog.Logger) (tickets, error) {
	if s.TicketsJWKS == "" {
		return tickets{desk: ticket.New(nil, l, log)}, nil
	}
	keys, err := identity.New(identity.FinderOptions{JWKS: s.TicketsJWKS, Issuer: s.TicketsIssuer, Logger: log})
	if err != nil {
		return tickets{}, err
	}
	keys.Start(ctx)
	return tickets{keys, ticket.New(keys, l, log)}, nil
}

func (t tickets) stop() {
	if t.keys != nil {
		t.keys.Stop()
	}
}
