package operator

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// DefaultChanges is how many changes a list shows if it is not said.
const DefaultChanges = 100

// changesQuery is which changes are to be listed.
type changesQuery struct {
	// zoneID and policy are "" for all. With one, the others' are left out.
	zoneID, policy string
	limit          int
}

// readChangesQuery reads a query. It returns a *serve.FieldError for a parameter that is unknown, is there twice or has a wrong
// value.
func readChangesQuery(raw string) (q changesQuery, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return q, &serve.FieldError{Field: "the query", Reason: "is not well-formed"}
	}
	q.limit = DefaultChanges
	for name, values := range query {
		switch text := values[0]; {
		case len(values) > 1:
			err = &serve.FieldError{Field: name, Reason: "is given twice"}
		case name == "zoneId" && !query.Has("policy"):
			q.zoneID, err = text, answer.CheckZoneID(text)
		case name == "policy" && !query.Has("zoneId"):
			if q.policy = text; !limit.ValidName(text) {
				err = &serve.FieldError{Field: name, Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -"}
			}
		case name == "limit":
			if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > zone.MaxChangesListed {
				err = &serve.FieldError{Field: name, Reason: fmt.Sprintf("must be a whole number from 1 to %d", zone.MaxChangesListed)}
			}
		default: // what was sent is not repeated
			err = &serve.FieldError{Field: "the query", Reason: "may hold zoneId or policy, and limit, nothing else"}
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// Changes are the latest changes, the newest first in each list. Those of policies are left out where a zone was asked
// for, those of zones where a policy was.
type Changes struct {
	Zones    []zone.Change  `json:"changes"`
	Policies []limit.Change `json:"policyChanges"`
}

// changes reads what is to be listed.
func (h *HTTP) changes(ctx context.Context, q changesQuery) (all Changes, err error) {
	all = Changes{Zones: []zone.Change{}, Policies: []limit.Change{}} // empty lists, not null
	if q.policy == "" {
		changes, err := h.service.Changes(ctx, q.zoneID, q.limit)
		if err != nil {
			return all, err
		}
		all.Zones = append(all.Zones, changes...)
	}
	if q.zoneID == "" && h.policies != nil {
		changes, err := h.policies.Changes(ctx, q.policy, q.limit)
		if err != nil {
			return all, err
		}
		all.Policies = append(all.Policies, changes...)
	}
	return all, nil
}

// Changes returns the latest changes of a zone, or for "" of all zones: the
// newest first, limit of them at most. A zone that was deleted still has its
// record. It returns an error for a zone that never was.
func (s *Service) Changes(ctx context.Context, zoneID string, limit int) ([]zone.Change, error) {
	if zoneID != "" {
		if err := answer.CheckZoneID(zoneID); err != nil {
			return nil, err
		}
	}
	all, err := s.store.Changes(ctx, zoneID)
	if err == nil && zoneID != "" && len(all) == 0 {
		// A zone that was put back after a loss has no record, either.
		_, err = s.store.Zone(ctx, zoneID)
	}
	if err != nil {
		return nil, fmt.Errorf("operator: changes: %w", err)
	}
	return all[:min(len(all), limit)], nil
}
