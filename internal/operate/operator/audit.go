package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Changes are the latest changes, the newest first in each list. Those of policies are left out where a zone was asked
// for, those of zones where a policy was.
type Changes struct {
	Zones     []zone.Change  `json:"changes" maxItems:"1000" doc:"The newest first."`
	Policies  []limit.Change `json:"policyChanges" maxItems:"1000" doc:"Of policies of limits, the newest first."`
	Operators []audit.Event  `json:"operatorEvents" maxItems:"2000" doc:"Tokens and sessions that were made and revoked, and what was refused to somebody known, once a minute for each person and call; the newest first. Only for who has all zones, and where neither zoneId nor policy is given."`
}

// Recorded returns the latest changes of a zone, of a policy, or of all when both are "", as far as the person may see them. It returns
// people.ErrForbidden for another zone, and a *serve.FieldError for both of them, for a name that can be no policy's, and for a number that
// checkMost refuses.
func (s *Service) Recorded(ctx context.Context, zoneID, policy string, most int) (all Changes, err error) {
	who := people.Of(ctx)
	all = Changes{Zones: []zone.Change{}, Policies: []limit.Change{}, Operators: []audit.Event{}} // empty lists, not null
	if zoneID != "" && !who.Sees(zoneID) {
		return all, people.ErrForbidden
	}
	if err := checkMost(most); err != nil {
		return all, err
	}
	if policy != "" && (zoneID != "" || !limit.ValidName(policy)) {
		return all, &serve.FieldError{Field: "policy", Reason: "must be 1 to 64 of A-Z a-z 0-9 . _ -, and does not go with zoneId"}
	}
	if policy == "" {
		changes, err := s.Changes(ctx, zoneID, most)
		if err != nil {
			return all, err
		}
		all.Zones = append(all.Zones, slices.DeleteFunc(changes, func(c zone.Change) bool { return !who.Sees(c.ZoneID) })...)
	}
	if zoneID == "" {
		changes, err := s.Policies.Changes(ctx, policy, most)
		if err != nil {
			return all, err
		}
		all.Policies = append(all.Policies, changes...)
	}
	if zoneID == "" && policy == "" && who.MayAll(route.Viewer) {
		events, err := s.People.Events(ctx, most)
		if err != nil {
			return all, err
		}
		all.Operators = append(all.Operators, events...)
	}
	return all, nil
}

// Verified says of records whether they are as servers of this room wrote them.
type Verified struct {
	Records []audit.Check `json:"records" doc:"One for each record, in the order of their names."`
}

// Export is a record as it is kept.
type Export struct {
	audit.Check
	Exported []Entry           `json:"exported" maxItems:"10000" doc:"The entries, the newest first."`
	Texts    map[string]string `json:"texts,omitempty" doc:"The settings of more than 1 KB to which entries refer: JSON, by its SHA-256."`
}

// Entry is an entry of an export.
type Entry struct {
	N        int64  `json:"n" doc:"Its number; 0 for one of version 0.1.0."`
	AtMillis int64  `json:"at" doc:"When, in Unix milliseconds on the store's clock." example:"1795223373123"`
	SHA256   string `json:"sha256" doc:"The SHA-256 of text, which the next entry has as prev."`
	Fault    string `json:"fault,omitempty" doc:"What is wrong with it."`
	Text     string `json:"text" doc:"The entry as it is kept, with its seal: JSON. Settings of more than 1 KB stand there as hash and length."`
}

// Verify checks one record, or for "" all that the person may see. Errors are those of record.
func (s *Service) Verify(ctx context.Context, record string) (all Verified, err error) {
	names := []string{record}
	if record == "" {
		if names, err = s.Zones.Recorded(ctx); err != nil {
			return all, err
		}
		names = slices.DeleteFunc(append([]string{audit.Limits, audit.Operators, audit.Refusals}, names...),
			func(name string) bool { return !seesRecord(ctx, name) })
	}
	all.Records = make([]audit.Check, len(names))
	for i, name := range names {
		if _, all.Records[i], err = s.record(ctx, name); err != nil {
			return Verified{}, err
		}
	}
	return all, nil
}

// seesRecord reports whether a person may see a record: those of the room are for who has all zones.
func seesRecord(ctx context.Context, name string) bool {
	if strings.HasPrefix(name, ":") {
		return people.Of(ctx).MayAll(route.Viewer)
	}
	return people.Of(ctx).Sees(name)
}

// record reads a record and checks it. It returns people.ErrForbidden, line.ErrZoneUnknown if none is named, or a *serve.FieldError for what is no name of a record.
func (s *Service) record(ctx context.Context, name string) (p audit.Page, c audit.Check, err error) {
	if name == "" {
		return p, c, line.ErrZoneUnknown
	}
	ofRoom := name == audit.Limits || name == audit.Operators || name == audit.Refusals
	if !ofRoom && answer.CheckZoneID(name) != nil {
		return p, c, &serve.FieldError{Field: "record", Reason: "must be a zone's ID, :limits, :operators or :refusals"}
	}
	if !seesRecord(ctx, name) {
		return p, c, people.ErrForbidden
	}
	return s.Zones.Verify(ctx, name)
}

// Export returns a record with its entries. Errors are those of record.
func (s *Service) Export(ctx context.Context, name string) (out Export, err error) {
	p, c, err := s.record(ctx, name)
	if err != nil {
		return out, err
	}
	out = Export{Check: c, Exported: make([]Entry, len(p.Entries)), Texts: p.Texts}
	for i, text := range p.Entries {
		e := &out.Exported[i]
		if json.Unmarshal([]byte(text), e) != nil { // neither number nor time: somebody has written it
			*e = Entry{}
		}
		e.Text, e.SHA256 = text, audit.SHA256(text)
		for _, f := range c.Faults {
			if f.N == e.N {
				e.Fault = f.What
			}
		}
	}
	return out, nil
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

// ofRecord is the parameter that names a record.
type ofRecord struct {
	Record string `json:"record" doc:"A zone's ID, :limits, :operators or :refusals. All that you may see when absent, to verify." example:"TEST_ZONE"`
}
