package client

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep: a machine that slept, whose timers stood still, goes on within 5 s; and a clock that was set back delays nobody for long.
func TestSleep(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ jump, want, most time.Duration }{
		"awake":               {0, 60 * time.Second, 60 * time.Second},
		"slept for an hour":   {time.Hour, time.Second, 6 * time.Second},
		"set back by an hour": {-time.Hour, 60 * time.Second, 66 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, jump := time.Now(), time.Duration(0)
			time.AfterFunc(time.Second, func() { jump = test.jump })
			ok := sleep(t.Context(), 60*time.Second, func() time.Time { return time.Now().Add(jump) })
			if took := time.Since(began); !ok || took < test.want || took > test.most {
				t.Errorf("%s: slept for %v, %t", name, took, ok)
			}
		})
	}
}
