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
		if !th.take(addr) {
			t.Fatalf("guess %d waits", i+1)
		}
	}
	for range 3 { // one that is refused costs nothing
		if th.take(addr) {
			t.Fatal("the next guess does not wait")
		}
	}
	clock.at = clock.at.Add(guessEvery - time.Millisecond)
	if th.take(addr) {
		t.Errorf("waits less than %v", guessEvery)
	}
	clock.at = clock.at.Add(time.Millisecond)
	if !th.take(addr) {
		t.Errorf("waits more than %v", guessEvery)
	}
	if th.take(addr) {
		t.Error("two for one")
	}
	clock.at = clock.at.Add(time.Hour)
	for i := range guesses {
		if !th.take(addr) {
			t.Errorf("an hour later, guess %d waits", i+1)
		}
	}
}

func TestThrottleIsBoundedWhateverTheNumberOfAddresses(t *testing.T) {
	t.Parallel()
	clock := newHand()
	th := newThrottle(clock.now)
	through := 0
	for i := range 20_000 {
		if th.take(fmt.Sprintf("10.0.%d.%d", i/256, i%256)) {
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
