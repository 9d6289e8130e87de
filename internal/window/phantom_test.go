package window

import (
	"testing"

	"pgregory.net/rapid"
)

// history is a log that obeyed the limits until a moment.
type history struct {
	phantoms Phantoms
	log      []int64
}

// histories are all there can be: whenever there is room, some enter or do not.
// They like to be full, and to come back the moment there is room again.
func histories(t *rapid.T) history {
	h := history{phantoms: Phantoms{
		WindowMillis: rapid.Int64Range(1, 60).Draw(t, "window") * 1_000,
		PerMinute:    rapid.Int64Range(0, 60).Draw(t, "per minute"),
	}}
	p := &h.phantoms
	p.Limit = Limit(p.PerMinute, p.WindowMillis) + rapid.Int64Range(0, 5).Draw(t, "burst")
	pauses := rapid.OneOf(rapid.Just(p.WindowMillis+1), rapid.Just(int64(MinuteMillis+1)), rapid.Int64Range(1, 70_000))
	p.AtMillis = 1_000_000
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		room := min(p.Limit-since(h.log, p.AtMillis-p.WindowMillis), p.PerMinute-since(h.log, p.AtMillis-MinuteMillis))
		enter := room
		if rapid.IntRange(0, 3).Draw(t, "not all at 0") == 0 {
			enter = rapid.Int64Range(0, max(0, room)).Draw(t, "enter")
		}
		for range enter {
			h.log = append(h.log, p.AtMillis)
		}
		p.AtMillis += pauses.Draw(t, "pause")
	}
	if len(h.log) > 0 && rapid.Bool().Draw(t, "lost at once") {
		p.AtMillis = h.log[len(h.log)-1]
	}
	return h
}

func since(log []int64, t int64) (n int64) {
	for _, at := range log {
		if at >= t {
			n++
		}
	}
	return n
}

// TestPhantomsAreNeverFewer: whatever the lost log held, no interval up to a
// minute long that ends after the loss holds fewer phantoms.
func TestPhantomsAreNeverFewer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := histories(t)
		for _, at := range h.log {
			for _, from := range []int64{at - 1, at, at + 1} {
				if from < h.phantoms.AtMillis-MinuteMillis {
					continue
				}
				if real, n := since(h.log, from), h.phantoms.Since(from); n < real {
					t.Fatalf("since %d: %d phantoms, %d real ones", from, n, real)
				}
			}
		}
	})
}

// TestPhantomsAreNoMoreThanCouldBe: they are such a log themselves, so nothing
// less would do.
func TestPhantomsAreNoMoreThanCouldBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := histories(t).phantoms
		var log []int64
		for n, at := int64(0), p.AtMillis; at >= p.AtMillis-2*MinuteMillis; at-- {
			for ; n < p.Since(at); n++ {
				log = append(log, at)
			}
		}
		for _, at := range log {
			if n := since(log, at) - since(log, at+p.WindowMillis+1); n > p.Limit {
				t.Fatalf("%d in the window from %d, at most %d", n, at, p.Limit)
			}
			if n := since(log, at) - since(log, at+MinuteMillis+1); n > p.PerMinute {
				t.Fatalf("%d in the minute from %d, at most %d", n, at, p.PerMinute)
			}
		}
	})
}

// TestLimitsHoldThroughALoss: a store keeps some of its log, loses the rest, and
// goes on by what it counts. What really entered never breaks a limit.
func TestLimitsHoldThroughALoss(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := histories(t)
		p := h.phantoms
		var left []int64
		for _, at := range h.log {
			if rapid.Bool().Draw(t, "kept") {
				left = append(left, at)
			}
		}
		count := func(from int64) int64 {
			phantoms, logged := p.Beside(from, since(left, from), since(left, max(from, p.AtMillis)))
			return phantoms + logged
		}
		pauses := rapid.OneOf(rapid.Just(p.WindowMillis), rapid.Just(p.WindowMillis+1), rapid.Int64Range(0, 70_000))
		now := p.AtMillis
		for range rapid.IntRange(1, 20).Draw(t, "steps after") {
			window, minute := now-p.WindowMillis, now-MinuteMillis
			for room := min(p.Limit-count(window), p.PerMinute-count(minute)); room > 0; room-- {
				h.log, left = append(h.log, now), append(left, now)
			}
			if in := since(h.log, window); in > p.Limit {
				t.Fatalf("%d in the window at %d, at most %d", in, now, p.Limit)
			}
			if in := since(h.log, minute); in > p.PerMinute {
				t.Fatalf("%d in the minute at %d, at most %d", in, now, p.PerMinute)
			}
			now += pauses.Draw(t, "pause after")
		}
	})
}
