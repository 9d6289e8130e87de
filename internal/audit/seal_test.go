package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
)

// kept is a record as a store keeps it.
type kept struct {
	head    string
	entries []string // the newest first
}

// add has a server that has the secrets add entries, a day apart.
func (k *kept) add(t *testing.T, s *audit.Sealer, days ...int) {
	t.Helper()
	for _, day := range days {
		tail := audit.Tail{Head: k.head, Length: len(k.entries), AtMillis: int64(day) * (24 * time.Hour).Milliseconds()}
		if tail.Length > 0 {
			tail.Newest, tail.Oldest = k.entries[0], k.entries[max(0, len(k.entries)-audit.OldestRead):]
		}
		a, err := s.Compose("Z", tail, map[string]any{"by": "ada"})
		if err != nil {
			t.Fatal(err)
		}
		k.head, k.entries = a.Next, slices.Insert(k.entries, 0, a.Text)[:a.Keep]
		s.Added("Z", a)
	}
}

func (k *kept) says(s *audit.Sealer) string {
	return strings.Join(s.Check("Z", audit.Page{Head: k.head, Entries: k.entries}).Says(), "; ")
}

func sealer(secrets ...string) *audit.Sealer {
	o := audit.Options{}
	for _, secret := range secrets {
		o.Secrets = append(o.Secrets, []byte(secret))
	}
	return audit.NewSealer(o)
}

// TestTrimmedRecordVerifies: entries older than 90 days go with the next change, and those that are left verify.
func TestTrimmedRecordVerifies(t *testing.T) {
	t.Parallel()
	var k kept
	k.add(t, sealer("one"), 1, 2, 3, 92)
	c := sealer("one").Check("Z", audit.Page{Head: k.head, Entries: k.entries})
	if len(k.entries) != 2 || c.Trimmed != 2 || len(c.Faults) > 0 {
		t.Errorf("%d entries, %+v", len(k.entries), c)
	}
}

// TestRotatedSecret: a later entry proves those of a secret that is gone.
func TestRotatedSecret(t *testing.T) {
	t.Parallel()
	var k kept
	k.add(t, sealer("old"), 1, 2)
	k.add(t, sealer("new", "old"), 3)
	if got := k.says(sealer("new")); got != "verified" {
		t.Error(got)
	}
}

// TestRolledBackRecord: a server that has seen the newer entries finds out, and what it writes next shows the gap to all.
func TestRolledBackRecord(t *testing.T) {
	t.Parallel()
	var k kept
	saw := sealer("one")
	k.add(t, saw, 1, 2)
	before := kept{k.head, slices.Clone(k.entries)}
	k.add(t, saw, 3, 4)
	if got := before.says(sealer("one")); got != "verified" {
		t.Errorf("to a server that has seen nothing: %s", got)
	}
	if got := before.says(saw); !strings.Contains(got, "this server has seen entry 4, and the newest one now is 2") {
		t.Error(got)
	}
	before.add(t, saw, 5)
	if got := before.says(sealer("one")); got != "TAMPERED: entries 3 to 4 were taken out" {
		t.Error(got)
	}
}

// TestOldEntries: those of version 0.1.0 are taken as the oldest part, and said so.
func TestOldEntries(t *testing.T) {
	t.Parallel()
	k := kept{entries: []string{`{"format":1,"at":172800000,"by":"b"}`, `{"format":1,"at":86400000,"by":"a"}`}}
	k.add(t, sealer("one"), 3)
	if got := k.says(sealer("one")); got != "verified; the 2 oldest entries have no seal: version 0.1.0 wrote them, they prove nothing" {
		t.Error(got)
	}
}
