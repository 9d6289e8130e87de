package operator

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrPrecondition: the zone is not as the caller of a conditional change had
// seen it, or is there although it should not be. Nothing was changed.
var ErrPrecondition = errors.New("operator: zone is not as it was seen")

// versionBytes of a hash tell settings apart.
const versionBytes = 16

// Version names settings: those of the same version are the same. It is what an
// ETag holds, quotes included, and the same on every server, also on one that does not
// know a setting that still has its default.
func Version(s zone.Settings) string {
	text := []byte(s.ZoneID)
	for _, x := range zone.Table.Differences(s, zone.Defaults(s.ZoneID)) {
		text = fmt.Appendf(text, " %s=%q", x.Name, x.Text(s))
	}
	sum := sha256.Sum256(text)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:versionBytes]) + `"`
}

// allows reports whether a zone with these settings may be changed; nil is a
// zone that is not there.
func allows(only serve.Condition, s *zone.Settings) bool {
	if only == (serve.Condition{}) {
		return true
	}
	version := ""
	if s != nil {
		version = Version(*s)
	}
	return only.Allows(version)
}

// check returns the settings of a zone, nil where there is none, if the
// condition allows to change it, else ErrPrecondition. Without a condition the
// store is not asked.
func (s *Service) check(ctx context.Context, zoneID string, only serve.Condition) (*zone.Settings, error) {
	if only == (serve.Condition{}) {
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
	if !allows(only, there) {
		return nil, ErrPrecondition
	}
	return there, nil
}

// PutIf is Put under a condition. Of two who make the same zone at the same
// moment because there was none, both may be told that they did; the record of
// changes tells who was later.
func (s *Service) PutIf(ctx context.Context, zoneID string, body []byte, by string, only serve.Condition) (zone.Settings, bool, error) {
	was, err := s.check(ctx, zoneID, only)
	if err != nil {
		return zone.Settings{}, false, err
	}
	return s.put(ctx, zoneID, body, by, was)
}

// DeleteIf is Delete under a condition. It is looked at before, and not in the
// moment of the deletion.
func (s *Service) DeleteIf(ctx context.Context, zoneID, by string, only serve.Condition) error {
	if _, err := s.check(ctx, zoneID, only); err != nil {
		return err
	}
	return s.Delete(ctx, zoneID, by)
}
