package zone

import (
	"cmp"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/setting"
)

// Change is one entry of a zone's record of changes. A change that changes
// nothing is no entry, nor is putting back a zone that a store has lost.
type Change struct {
	AtMillis int64  `json:"at" minimum:"1" maximum:"9007199254740991" doc:"When, in Unix milliseconds on the store's clock." example:"1795223373123"`
	ZoneID   string `json:"zoneId"`
	audit.By
	Was *Settings `json:"was" doc:"The settings before; null if the change made the zone."`
	Now *Settings `json:"now" doc:"The settings after; null if the change deleted the zone."`
}

const (
	// ByConfig is who makes the zones that the configuration names.
	ByConfig = "QUEUE_CONFIG"
	// MaxByLength bounds the name of who changes a zone, in bytes.
	MaxByLength = 64
	// MaxChanges is how many a list of changes holds: the latest. A record may have more.
	MaxChanges = audit.PageSize
)

// CheckBy returns an error, a sentence without its subject, for what cannot be
// the name of who changes a zone: a line of text of at most MaxByLength bytes. An
// empty name is none.
func CheckBy(name string) error { return setting.CheckText(name, MaxByLength) }

// NewestFirst merges the records of several zones, each the newest first, into
// one of at most MaxChanges. Within a zone the order stays as it is, also
// where the store's clock was set back between two changes.
func NewestFirst(records ...[]Change) []Change {
	type dated struct {
		at int64 // no later than that of any newer one of the zone
		Change
	}
	var all []dated
	for _, r := range records {
		for i, c := range r {
			at := c.AtMillis
			if i > 0 {
				at = min(at, all[len(all)-1].at)
			}
			all = append(all, dated{at, c})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return cmp.Compare(b.at, a.at) })
	out := make([]Change, min(len(all), MaxChanges))
	for i := range out {
		out[i] = all[i].Change
	}
	return out
}
