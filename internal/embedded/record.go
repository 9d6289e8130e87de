package embedded

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	recordName = "changes.json"
	// recordFormat is the format of changes.json, as zonesFormat is of zones.json.
	recordFormat = 1
)

// keptRecord is what changes.json holds: the changes of each zone, the newest first, also of deleted zones. It may have
// megabytes, and is written only when it changes. It is written before zones.json, so that a crash between the two files
// leaves no change without its entry.
type keptRecord struct {
	Format  int                      `json:"format"`
	Changes map[string][]zone.Change `json:"changes"`
	// Policies are the changes of the policies of limits, the newest first.
	Policies []limit.Change `json:"policies,omitempty"`
	// Operators is the record of the operators, the newest first.
	Operators []audit.Event `json:"operators,omitempty"`
}

// readRecord reads the contents of changes.json.
func (s *Store) readRecord(b []byte) error {
	var has keptRecord
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	if has.Changes == nil {
		return errors.New("it has no changes")
	}
	s.record, s.policyChanges, s.operatorEvents = has.Changes, has.Policies, has.Operators
	return nil
}

// dropOldRecords forgets the records of zones that were deleted more than recordLife ago.
func (s *Store) dropOldRecords() {
	oldest := s.now().Add(-recordLife).UnixMilli()
	maps.DeleteFunc(s.record, func(id string, changes []zone.Change) bool {
		return s.queues[id] == nil && (len(changes) == 0 || changes[0].AtMillis <= oldest)
	})
}
