package lua

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
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
	must(t, other.DeleteZone(ctx, "X", audit.By{}))
	sees("another server deleted one", y)
	put(t, other, x)
	sees("it was made again", x, y)
	s.client.Unlink(ctx, s.keys("Y")[0])
	sees("the store lost one", x)
	put(t, other, y)
	sees("it was put back", x, y)
}

// TestZonesWithoutTheirList: while the node with the list of zones is away, a change of a zone on another node is read all the
// same, and so is one of a zone whose own node was away meanwhile.
func TestZonesWithoutTheirList(t *testing.T) {
	t.Parallel()
	s := openStore(t, time.Now)
	other := openPatient(t, sharedServer(t), time.Now)
	other.prefix = s.prefix
	t.Cleanup(func() { other.close(t) })
	ctx, x, y := t.Context(), zone.Defaults("X"), zone.Defaults("Y")
	put(t, other, x)
	put(t, other, y)
	all, err := s.Zones(ctx)
	must(t, err)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	var gone []string
	s.client.AddHook(keysAway{&gone})
	sees := func(what string, away []string, want ...zone.Settings) {
		t.Helper()
		gone = away
		all, err := s.Zones(ctx)
		if !slices.EqualFunc(all, want, zone.Settings.Equal) || errors.Is(err, line.ErrStoreUnavailable) != (len(away) > 0) {
			t.Fatalf("%s: %+v, %v, want %+v", what, all, err, want)
		}
	}
	x.SoldOut = zone.Texts{zone.DefaultText: "Sold out."}
	put(t, other, x)
	sees("the list is away, and a zone changed", []string{s.zonesKey()}, x, y)
	sees("a zone is away, too", []string{s.zonesKey(), s.keys("Y")[0]}, x)
	y.PerMinute++
	put(t, other, y)
	sees("that zone is back, and changed", []string{s.zonesKey()}, x, y)
	must(t, other.DeleteZone(ctx, "Y", audit.By{}))
	sees("it was deleted", []string{s.zonesKey()}, x)
	sees("all is back", nil, x)
}

// keysAway has pipelines' commands fail that name one of the keys.
type keysAway struct{ keys *[]string }

func (keysAway) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (keysAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (a keysAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if key, _ := cmd.Args()[1].(string); slices.Contains(*a.keys, key) {
				cmd.SetErr(errors.New("refused"))
			}
		}
		return err
	}
}
