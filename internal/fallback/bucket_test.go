package fallback

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestBucket(t *testing.T) {
	r := window.Rates{PerMinute: 4, WindowMillis: 6000, Limit: 2, PerSecond: 2}
	var b bucket
	for i, step := range []struct {
		at   int64
		want bool
	}{
		{100_000, true}, {100_000, true}, {100_000, false}, {106_000, false},
		{106_001, true}, {112_001, true},
		{118_002, false}, // four in the minute
		{160_000, false}, {160_001, true}, {160_001, true}, {160_001, false},
		{166_002, true}, // the fourth of the last minute, the third being at 112.001
		{172_003, true},
	} {
		if got := b.room(step.at, r) > 0; got != step.want {
			t.Fatalf("step %d, at %d: room %t, want %t", i, step.at, got, step.want)
		}
		if step.want {
			b.add(step.at)
		}
	}
	if n := len(b.times); n > 5 {
		t.Errorf("%d times are kept", n)
	}
}

func TestBucketCountsWhatTheStoreMayHaveAdmitted(t *testing.T) {
	s := admitting(600)
	b := bucket{lost: lostTo(s, 3, 1_000_000)}
	r := share(s, 3)
	for _, tt := range []struct{ after, want int64 }{
		{0, -0}, {6000, 0}, {6001, 20}, {60_001, 20},
	} {
		if got := b.room(1_000_000+tt.after, r); got != tt.want {
			t.Errorf("%d ms after: room for %d, want %d", tt.after, got, tt.want)
		}
	}
}

// Against a plain list: no interval is ever over, and room is what is left.
func TestBucketIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := window.Rates{
			PerMinute:    rapid.Int64Range(1, 50).Draw(t, "perMinute"),
			WindowMillis: 1000 * rapid.Int64Range(1, 60).Draw(t, "window"),
			Limit:        rapid.Int64Range(1, 10).Draw(t, "limit"),
			PerSecond:    rapid.Int64Range(1, 10).Draw(t, "perSecond"),
		}
		var b bucket
		var taken []int64
		since := func(from int64) (n int64) {
			for _, at := range taken {
				if at >= from {
					n++
				}
			}
			return n
		}
		now := int64(1_000_000)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.Int64Range(0, 7000).Draw(t, "pause")
			want := r.Room(since(now-r.WindowMillis), since(now-window.MinuteMillis))
			if since(now-window.SecondMillis) >= r.PerSecond {
				want = 0
			}
			if got := b.room(now, r); got != want {
				t.Fatalf("room %d, want %d", got, want)
			}
			if want > 0 {
				b.add(now)
				taken = append(taken, now)
			}
		}
		if !slices.IsSorted(b.times) {
			t.Fatal("times are out of order")
		}
	})
}

func TestShare(t *testing.T) {
	hold := admitting(600)
	hold.OnStoreFailure = zone.FailureHold
	open := admitting(0)
	open.Mode = zone.ModeOpen
	second := admitting(600)
	second.MaxPerSecond = 7
	tests := []struct {
		name             string
		settings         zone.Settings
		servers          int64
		admits           bool
		limit, perMinute int64
		perSecond        int64
	}{
		{"one server", admitting(600), 1, true, 60, 600, 13},
		{"seven", admitting(600), 7, true, 8, 85, 2},
		{"as many as the window's limit", admitting(600), 60, true, 1, 10, 1},
		{"more than the window's limit", admitting(600), 61, false, 0, 9, 0},
		{"small", admitting(5), 1, true, 1, 5, 1},
		{"small, of two", admitting(5), 2, false, 0, 2, 0},
		{"nobody", admitting(0), 1, false, 1, 0, 1},
		{"hold", hold, 1, false, 60, 600, 13},
		{"open", open, 1, true, 1, 0, 1},
		{"as many as the second's limit", second, 7, true, 8, 85, 1},
		{"more than the second's limit", second, 8, false, 7, 75, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := share(tt.settings, tt.servers)
			if r.Limit != tt.limit || r.PerMinute != tt.perMinute || r.PerSecond != tt.perSecond || admits(tt.settings, tt.servers) != tt.admits {
				t.Errorf("%+v, admits %t", r, admits(tt.settings, tt.servers))
			}
		})
	}
}

func TestSettle(t *testing.T) {
	tests := []struct {
		perMinute, windowSeconds, burst, wantSeconds int64
	}{
		{600, 6, 0, 6}, {600, 60, 0, 60}, {600, 1, 0, 1}, {600, 7, 0, 11},
		{605, 6, 0, 12}, {5, 6, 0, 36}, {1, 6, 0, 60}, {1, 1, 0, 60},
		{600, 6, 60, 36}, {600, 6, 600, 60}, {0, 6, 0, 60},
	}
	for _, tt := range tests {
		s := admitting(tt.perMinute)
		s.WindowSeconds, s.Burst = tt.windowSeconds, tt.burst
		if got := holdMillis(s); got != tt.wantSeconds*1000 {
			t.Errorf("%+v: %d ms", tt, got)
		}
	}
}
