package operator

import (
	"fmt"
	"testing"
	"time"
)

// hand is a clock that is moved by hand.
type hand struct{ at time.Time }

func (h *hand) now() time.Time { return h.at }

func newHand() *hand { return &hand{time.Unix(1_795_000_000, 0)} }

func TestThrottle(t *testing.T) {
	t.Parallel()
	clock := newHand()
	th := newThrottle(clock.now)
	const addr = "203.0.113.9"
	for i := range guesses {
		if wait := th.take(addr); wait != 0 {
			t.Fatalf("guess %d waits %v", i+1, wait)
		}
	}
	for range 3 { // one that is refused costs nothing
		if wait := th.take(addr); wait != guessEvery {
			t.Fatalf("the next guess waits %v, want %v", wait, guessEvery)
		}
	}
	clock.at = clock.at.Add(guessEvery)
	if wait := th.take(addr); wait != 0 {
		t.Errorf("waits %v after %v", wait, guessEvery)
	}
	if wait := th.take(addr); wait != guessEvery {
		t.Errorf("two for one: waits %v", wait)
	}
	clock.at = clock.at.Add(time.Hour)
	for i := range guesses {
		if wait := th.take(addr); wait != 0 {
			t.Errorf("an hour later, guess %d waits %v", i+1, wait)
		}
	}
}

func TestThrottleIsBoundedWhateverTheNumberOfAddresses(t *testing.T) {
	t.Parallel()
	clock := newHand()
	th := newThrottle(clock.now)
	through := 0
	for i := range 20_000 {
		if th.take(fmt.Sprintf("10.0.%d.%d", i/256, i%256)) == 0 {
			through++
		}
	}
	if through > throttleSlots*guesses {
		t.Errorf("%d guesses in one moment, at most %d", through, throttleSlots*guesses)
	}
	if a, b := th.slot("2001:db8::1"), th.slot("2001:db8::ffff:1"); a != b {
		t.Error("one client's addresses of IPv6 have guesses each")
	}
	if th.slot("no address") >= throttleSlots {
		t.Error("out of range")
	}
}
