package lua

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestZonesReadsWhatChanged: settings that were read before are not read again, and what another server changed,
// deleted or put back is seen.
func TestZonesReadsWhatChanged(t *testing.T) {
	t.Parallel()
	s := openStore(t, time.Now)
	other := openPatient(t, sharedServer(t), time.Now)
	other.prefix = s.prefix
	t.Cleanup(func() { other.close(t) })
	ctx, x, y := t.Context(), zone.Defaults("X"), zone.Defaults("Y")
	sees := func(what string, want ...zone.Settings) {
		t.Helper()
		if all, err := s.Zones(ctx); err != nil || !slices.EqualFunc(all, want, zone.Settings.Equal) {
			t.Fatalf("%s: %+v, %v, want %+v", what, all, err, want)
		}
	}
	put(t, other, x)
	put(t, other, y)
	sees("at first", x, y)

	key := s.keys("X")[0]
	text := s.client.HGet(ctx, key, "json").Val()
	s.client.HSet(ctx, key, "json", strings.Repeat("unread", 10))
	sees("nothing changed", x, y)
	s.client.HSet(ctx, key, "json", text)

	y.PerMinute++
	put(t, other, y)
	sees("another server changed one", x, y)
	must(t, other.DeleteZone(ctx, "X", ""))
	sees("another server deleted one", y)
	put(t, other, x)
	sees("it was made again", x, y)
	s.client.Unlink(ctx, s.keys("Y")[0])
	sees("the store lost one", x)
	put(t, other, y)
	sees("it was put back", x, y)
}
