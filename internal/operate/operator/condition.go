package operator

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrPrecondition: the zone is not as the caller of a conditional change had
// seen it, or is there although it should not be. Nothing was changed.
var ErrPrecondition = errors.New("operator: zone is not as it was seen")

// versionBytes of a hash tell settings apart.
const versionBytes = 16

// Version names settings: those of the same version are the same. It is what an
// ETag holds, quotes included, and the same on every server.
func Version(s zone.Settings) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", s))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:versionBytes]) + `"`
}

// Condition is when a change may be made: the fields If-Match and If-None-Match
// of its request (RFC 9110, section 13.1). The zero value always allows it.
type Condition struct{ IfMatch, IfNoneMatch string }

// allows reports whether a zone with these settings may be changed; nil is a
// zone that is not there.
func (c Condition) allows(s *zone.Settings) bool {
	if c == (Condition{}) {
		return true
	}
	version := ""
	if s != nil {
		version = Version(*s)
	}
	return c.Allows(version)
}

// Allows reports whether what has this version may be changed; "" is what is not
// there.
func (c Condition) Allows(version string) bool {
	return (c.IfMatch == "" || named(c.IfMatch, version)) && (c.IfNoneMatch == "" || !named(c.IfNoneMatch, version))
}

// named reports whether a list of versions, or *, names this one.
func named(list, version string) bool {
	if version == "" {
		return false
	}
	for each := range strings.SplitSeq(list, ",") {
		if each = strings.TrimSpace(each); each == "*" || each == version {
			return true
		}
	}
	return false
}

// check returns the settings of a zone, nil where there is none, if the
// condition allows to change it, else ErrPrecondition. Without a condition the
// store is not asked.
func (s *Service) check(ctx context.Context, zoneID string, only Condition) (*zone.Settings, error) {
	if only == (Condition{}) {
		return nil, nil
	}
	if err := answer.CheckZoneID(zoneID); err != nil {
		return nil, err
	}
	settings, err := s.store.Zone(ctx, zoneID)
	there := &settings
	switch {
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		there = nil
	case err != nil:
		return nil, fmt.Errorf("operator: look before a change: %w", err)
	}
	if !only.allows(there) {
		return nil, ErrPrecondition
	}
	return there, nil
}

// PutIf is Put under a condition. Of two who make the same zone at the same
// moment because there was none, both may be told that they did; the record of
// changes tells who was later.
func (s *Service) PutIf(ctx context.Context, zoneID string, body []byte, by string, only Condition) (zone.Settings, bool, error) {
	was, err := s.check(ctx, zoneID, only)
	if err != nil {
		return zone.Settings{}, false, err
	}
	return s.put(ctx, zoneID, body, by, was)
}

// DeleteIf is Delete under a condition. It is looked at before, and not in the
// moment of the deletion.
func (s *Service) DeleteIf(ctx context.Context, zoneID, by string, only Condition) error {
	if _, err := s.check(ctx, zoneID, only); err != nil {
		return err
	}
	return s.Delete(ctx, zoneID, by)
}
