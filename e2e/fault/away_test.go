package fault

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWhoIsRefusedComesBackInTurn: while Redis hangs, over HTTP, those in front are told to come back in
// seconds and those far back as late as they would poll, so that there are at most twice as many
// requests as in a settled line. A few newcomers come soon. When Redis goes on, everybody has the same place.
func TestWhoIsRefusedComesBackInTurn(t *testing.T) {
	t.Parallel()
	const visitors, near, far, settled = 400, 3, 120, 20 * time.Second
	e := startEngine(t)
	s := startServer(t, e.URL(), nil)
	z := zone.Defaults("AWAY")
	z.PerMinute = 30
	s.Put(t, z)
	b := newBalancer(s)
	t.Cleanup(b.close)
	line := make([]room.Told, visitors)
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for i := range line {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	each(func(i int) {
		var err error
		if line[i], err = b.join(t.Context(), z.ZoneID, fmt.Sprint("v", i)); err != nil {
			t.Error(err)
		}
	})
	line = slices.DeleteFunc(line, func(v room.Told) bool { return v.CanEnter })
	slices.SortFunc(line, func(a, b room.Told) int { return int(a.Waiting.ArrivedAtMicros - b.Waiting.ArrivedAtMicros) })
	room.Await(t, "the server has sampled the line", after(2*time.Second))

	e.hang()
	t.Cleanup(e.goOn)
	told := make([]time.Duration, len(line))
	each(func(i int) {
		room.Await(t, "a poll is refused", func() bool { // those far back may be answered from memory, for a while
			_, err := b.poll(t.Context(), z.ZoneID, line[i].Token)
			no, ok := errors.AsType[*refusal](err)
			if ok && no.code == codeUnavailable {
				told[i] = no.after
			}
			return told[i] > 0
		})
	})
	perSecond := 0.0
	for i, d := range told {
		perSecond += 1 / d.Seconds()
		if d < time.Second || d > settled || i < near && d > 8*time.Second || i > far && d < settled/2 {
			t.Errorf("number %d is told to come back in %v", i+1, d)
		}
	}
	if most := 2 * float64(len(line)) / settled.Seconds(); perSecond > most {
		t.Errorf("%.1f come back in a second, want %.1f at most", perSecond, most)
	}
	t.Logf("of %d, %.1f come back in a second; the first in %v, the last in %v", len(line), perSecond, told[0], told[len(told)-1])
	for i := range near {
		_, err := b.join(t.Context(), z.ZoneID, fmt.Sprint("late", i))
		if no, ok := errors.AsType[*refusal](err); !ok || no.code != codeUnavailable || no.after > 3*time.Second {
			t.Errorf("a newcomer: %+v", err)
		}
	}

	e.goOn()
	each(func(i int) {
		room.Await(t, "a poll is answered", func() bool {
			is, err := b.poll(t.Context(), z.ZoneID, line[i].Token)
			if err == nil && !is.CanEnter && is.Waiting.ArrivedAtMicros != line[i].Waiting.ArrivedAtMicros {
				t.Errorf("number %d came at %d, and stands at %d", i+1, line[i].Waiting.ArrivedAtMicros, is.Waiting.ArrivedAtMicros)
			}
			return err == nil
		})
	})
}
