package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// ByHeader is the header in which whoever changes a zone gives a name for
	// the record of changes. It proves nothing: all operators have one token.
	ByHeader = "X-Operator"
	// DefaultChanges is how many changes a list shows if it is not said.
	DefaultChanges = 100
)

// ReadBy returns the name that a request gives in ByHeader; "" if it gives none.
// It returns a *answer.FieldError for what can be no name.
func ReadBy(r *http.Request) (string, error) { return readBy(r.Header.Values(ByHeader)) }

// readBy returns the name in the values of the ByHeader; "" if there are none.
// It returns a *answer.FieldError for what can be no name.
func readBy(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", &answer.FieldError{Field: ByHeader, Reason: "is given twice"}
	}
	if err := zone.CheckBy(values[0]); err != nil {
		return "", &answer.FieldError{Field: ByHeader, Reason: err.Error()}
	}
	return values[0], nil
}

// readChangesQuery reads zoneId and limit from a query. It returns a *answer.FieldError for
// anything else, and for a limit that is none.
func readChangesQuery(raw string) (zoneID string, limit int, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return "", 0, &answer.FieldError{Field: "the query", Reason: "is not well-formed"}
	}
	limit = DefaultChanges
	for name, values := range query {
		switch {
		case name != "zoneId" && name != "limit":
			// What was sent is not repeated, and a list of faults is not worth it.
			return "", 0, &answer.FieldError{Field: "the query", Reason: "may hold zoneId and limit, nothing else"}
		case len(values) > 1:
			return "", 0, &answer.FieldError{Field: name, Reason: "is given twice"}
		case name == "zoneId":
			zoneID = values[0]
			err = answer.CheckZoneID(zoneID)
		default:
			if limit, err = strconv.Atoi(values[0]); err != nil || limit < 1 || limit > zone.MaxChangesListed {
				reason := fmt.Sprintf("must be a whole number from 1 to %d", zone.MaxChangesListed)
				err = &answer.FieldError{Field: name, Reason: reason}
			}
		}
		if err != nil {
			return "", 0, err
		}
	}
	return zoneID, limit, nil
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
