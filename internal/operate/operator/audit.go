package operator

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Changes are the latest changes, the newest first in each list. Those of policies are left out where a zone was asked
// for, those of zones where a policy was.
type Changes struct {
	Zones     []zone.Change  `json:"changes" maxItems:"1000" doc:"The newest first."`
	Policies  []limit.Change `json:"policyChanges" maxItems:"200" doc:"Of policies of limits, the newest first."`
	Operators []audit.Event  `json:"operatorEvents" maxItems:"200" doc:"Tokens and sessions that were made and revoked, and what was refused to somebody known, once a minute for each person and call; the newest first. Only for who has all zones, and where neither zoneId nor policy is given."`
}

// changes reads what is to be listed: the changes of a zone, of a policy, or of all when both are "". It returns a
// *serve.FieldError for both of them, for a name that can be no policy's, and for a number that checkMost refuses.
func (h *HTTP) changes(ctx context.Context, zoneID, policy string, most int) (all Changes, err error) {
	all = Changes{Zones: []zone.Change{}, Policies: []limit.Change{}, Operators: []audit.Event{}} // empty lists, not null
	if err := checkMost(most); err != nil {
		return all, err
	}
	if policy != "" && (zoneID != "" || !limit.ValidName(policy)) {
		return all, &serve.FieldError{Field: "policy", Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -, and does not go with zoneId"}
	}
	if policy == "" {
		changes, err := h.service.Changes(ctx, zoneID, most)
		if err != nil {
			return all, err
		}
		all.Zones = append(all.Zones, changes...)
	}
	if zoneID == "" && h.policies != nil {
		changes, err := h.policies.Changes(ctx, policy, most)
		if err != nil {
			return all, err
		}
		all.Policies = append(all.Policies, changes...)
	}
	if zoneID == "" && policy == "" && h.known != nil && people.Of(ctx).MayAll(route.Viewer) {
		events, err := h.known.Events(ctx, most)
		if err != nil {
			return all, err
		}
		all.Operators = append(all.Operators, events...)
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
	all, err := s.Zones.Changes(ctx, zoneID)
	if err == nil && zoneID != "" && len(all) == 0 {
		// A zone that was put back after a loss has no record, either.
		_, err = s.Zones.Zone(ctx, zoneID)
	}
	if err != nil {
		return nil, fmt.Errorf("operator: changes: %w", err)
	}
	return all[:min(len(all), limit)], nil
}
