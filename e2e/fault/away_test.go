package fault

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWhoIsRefusedComesBackInTurn: while Redis hangs, over HTTP, those in front are told to come back in
// seconds and those far back as late as they would poll, so that there are at most twice as many
// requests as in a settled line. A few newcomers come soon. When Redis goes on, everybody has the same place.
func TestWhoIsRefusedComesBackInTurn(t *testing.T) {
	t.Parallel()
	const visitors, near, far, settled = 400, 3, 120, 20 * time.Second
	e := startEngine(t)
	s := startServer(t, serverOptions{redisURL: e.url()})
	z := zone.Defaults("AWAY")
	z.PerMinute = 30
	s.put(t, z)
	b := newBalancer(s)
	t.Cleanup(b.close)
	line := make([]told, visitors)
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
	line = slices.DeleteFunc(line, func(v told) bool { return v.admitted })
	slices.SortFunc(line, func(a, b told) int { return int(a.arrivedAtMicros - b.arrivedAtMicros) })
	sampled := time.Now().Add(2 * time.Second)
	await(t, settleTimeout, "the server has sampled the line", func() bool { return time.Now().After(sampled) })

	e.hang()
	t.Cleanup(e.goOn)
	after := make([]time.Duration, len(line))
	each(func(i int) {
		await(t, settleTimeout, "a poll is refused", func() bool { // those far back may be answered from memory, for a while
			_, err := b.poll(t.Context(), z.ZoneID, line[i].token)
			no, ok := errors.AsType[*refusal](err)
			if ok && no.code == codeUnavailable {
				after[i] = no.after
			}
			return after[i] > 0
		})
	})
	perSecond := 0.0
	for i, d := range after {
		perSecond += 1 / d.Seconds()
		if d < time.Second || d > settled || i < near && d > 4*time.Second || i > far && d < settled/2 {
			t.Errorf("number %d is told to come back in %v", i+1, d)
		}
	}
	if most := 2 * float64(len(line)) / settled.Seconds(); perSecond > most {
		t.Errorf("%.1f come back in a second, want %.1f at most", perSecond, most)
	}
	t.Logf("of %d, %.1f come back in a second; the first in %v, the last in %v", len(line), perSecond, after[0], after[len(after)-1])
	for i := range near {
		_, err := b.join(t.Context(), z.ZoneID, fmt.Sprint("late", i))
		if no, ok := errors.AsType[*refusal](err); !ok || no.code != codeUnavailable || no.after > 3*time.Second {
			t.Errorf("a newcomer: %+v", err)
		}
	}

	e.goOn()
	each(func(i int) {
		await(t, settleTimeout, "a poll is answered", func() bool {
			is, err := b.poll(t.Context(), z.ZoneID, line[i].token)
			if err == nil && !is.admitted && is.arrivedAtMicros != line[i].arrivedAtMicros {
				t.Errorf("number %d came at %d, and stands at %d", i+1, line[i].arrivedAtMicros, is.arrivedAtMicros)
			}
			return err == nil
		})
	})
}
