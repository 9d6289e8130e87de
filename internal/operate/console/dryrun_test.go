package console_test

import (
	"encoding/binary"
	"regexp"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/watch"
)

// TestDryRun runs the line of a real store dry: 1,000 wait, and nothing of it
// changes.
func TestDryRun(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	was := r.put("Z")
	for i := range uint64(1060) {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], i+1)
		_, err := r.store.Join(t.Context(), "Z", id)
		must(t, err)
	}
	before, err := r.store.Observe(t.Context(), "Z", 0)
	must(t, err)
	r.seen.round(map[string]watch.Sample{"Z": {At: start.UnixMilli(), Store: watch.StoreOK, Waiting: before.State.Waiting}})
	p := r.enter("Anna")
	w := p.get("zones/Z/forecast?perMinute=1,000")
	shows(t, w, "Dry run of Z", "At 1,000 a minute the last of the 1,000 waiting now is in at about 12:00 UTC , in ",
		"From now, half of them wait ", "polls a second on average", "Set this limit …")
	if !regexp.MustCompile(`data-dry-plot="\[\[[0-9.,]+\],\[[0-9,]+\],\[[0-9,]+\]\]"`).Match(w.Body.Bytes()) {
		t.Error("there is nothing to plot")
	}
	after, err := r.store.Observe(t.Context(), "Z", 0)
	must(t, err)
	if after.State != before.State || !r.zone("Z").Equal(was) {
		t.Errorf("the dry run has changed the zone from %+v to %+v", before, after)
	}
	shows(t, p.get("zones/Z/forecast?perMinute=0"), "At 0 a minute nobody of the 1,000 waiting enters.")
	shows(t, p.get("zones/Z/forecast?perMinute=many"), "Limit: write a whole number")
}
