package lua

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
)

// TestVersionBeforeEventsIsKeptOut: from a minute before people gather until the event is over, and nowhere else, a zone
// has a format that the scripts of the version before refuse, and so does its Go.
func TestVersionBeforeEventsIsKeptOut(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s := sc.store
	// The rule has always been the same. What has changed is which number a version knows.
	former := *pollScript
	former.text = strings.Replace(former.text, "local FORMAT, NEWER = 2, 4", "local FORMAT, NEWER = 1, 4", 1)
	former.sha = redis.NewScript(former.text).Hash()
	if former.sha == pollScript.sha {
		t.Fatal("the scripts say their format otherwise now")
	}
	looks := func(when string, refused bool) {
		t.Helper()
		stats(t, s) // writes the format, as any call does
		sc.writesNothing(func() {
			reply, err := s.run(t.Context(), &former, s.keys("Z"), s.clock(), 0)
			sc.fails(err, nil)
			if all, _ := reply.([]any); len(all) == 0 || (all[0] == int64(statusNewer)) != refused {
				t.Errorf("%s: the version before gets %v, want it refused: %t", when, reply, refused)
			}
		})
		err := checkFormat("zone Z", s.client.HGet(t.Context(), s.keys("Z")[0], formatField).Val(), 1)
		if refused {
			sc.fails(err, line.ErrFormat)
		} else {
			sc.fails(err, nil)
		}
	}
	looks("without an event", false)
	now := sc.clock.Now()
	z := sc.zone
	z.EventState.Now = &event.Progress{
		Event: event.Event{Name: "noon"}, Phase: event.PhaseAnnounced, Order: event.OrderArrival,
		PreQueueAtMillis: now.Add(time.Hour).UnixMilli(), SettlesAtMillis: now.Add(2 * time.Hour).UnixMilli(), OpensAtMillis: now.Add(2 * time.Hour).UnixMilli(),
	}
	put(t, s, z)
	looks("an hour before", false)
	sc.clock.Add(59*time.Minute - time.Second)
	looks("more than a minute before", false)
	sc.clock.Add(2 * time.Second)
	looks("a minute before", true)
	sc.clock.Add(time.Minute)
	looks("while people gather", true)
	z.EventState.Now = nil
	put(t, s, z)
	looks("when it is over", false)
}
