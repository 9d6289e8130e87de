package pass_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/pass"
)

// TestOnce: of a hundred who show one pass at once, one gets in, whatever the pass looks
// like; and the next admission of the same visitor is another.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 2, 1))
		v := room.open(t, func(o *pass.Options) { o.Once, o.Leeway = pass.InMemory(1000), time.Minute })
		// The secret was changed meanwhile: two passes of one admission.
		passes := []string{issue(t, newSigner(t, 1)), issue(t, newSigner(t, 2, 1))}
		var in atomic.Int64
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, err := v.Verify(t.Context(), testZone, passes[i%2])
				if err == nil {
					in.Add(1)
				} else if !errors.Is(err, pass.ErrUsed) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Errorf("%d got in with one admission", in.Load())
		}
		accepted(t, v, issue(t, newSigner(t, 2), func(g *signer.Grant) { g.AdmittedAtMillis++ }))
		// Two servers of the room let a visitor in while its store was away.
		local := func(id byte, laterMillis int64) string {
			return issue(t, newSigner(t, 2), func(g *signer.Grant) {
				g.Local, g.ID, g.AdmittedAtMillis, g.ExpiresAtMillis = true, line.ID{id}, g.AdmittedAtMillis+laterMillis, g.ExpiresAtMillis+laterMillis
			})
		}
		accepted(t, v, local(1, 0))
		refused(t, v, local(1, 120_000), pass.ErrUsed)
		accepted(t, v, local(2, 0))
		// To the last moment, leeway included.
		<-time.After(6*time.Minute - 1)
		refused(t, v, passes[0], pass.ErrUsed)
		<-time.After(1)
		refused(t, v, passes[0], pass.ErrExpired)
		refused(t, v, local(1, 120_000), pass.ErrUsed)
	})
}

// TestOnceCountsGoodPassesOnly: nobody uses up another's pass with a bad copy.
func TestOnceCountsGoodPassesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRoom(t, newSigner(t, 1)).open(t, func(o *pass.Options) { o.Once = pass.InMemory(1) })
		good := issue(t, newSigner(t, 1))
		refused(t, v, good[:len(good)-2]+"AA", pass.ErrInvalid)
		if _, err := v.Verify(t.Context(), "OTHER_ZONE", good); !errors.Is(err, pass.ErrInvalid) {
			t.Error(err)
		}
		accepted(t, v, good)
	})
}

type onceFunc func(id string, until time.Time) (bool, error)

// Use implements pass.Once.
func (f onceFunc) Use(_ context.Context, id string, until time.Time) (bool, error) {
	return f(id, until)
}

// brokenOnce is a store that is away.
var brokenOnce = onceFunc(func(string, time.Time) (bool, error) { return true, errors.New("away") })

// TestOnceOfOnesOwn is told which pass to remember, and for how long; while it cannot, none
// is good.
func TestOnceOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		var id string
		var end time.Time
		v := room.open(t, func(o *pass.Options) {
			o.Leeway = time.Minute
			o.Once = onceFunc(func(i string, until time.Time) (bool, error) { id, end = i, until; return true, nil })
		})
		got, err := v.Verify(t.Context(), testZone, issue(t, newSigner(t, 1)))
		if err != nil || got.ID == "" || id != got.ID || !end.Equal(time.Now().Add(6*time.Minute)) {
			t.Errorf("%q until %v, for %+v, %v", id, end, got, err)
		}
		refused(t, room.open(t, func(o *pass.Options) { o.Once = brokenOnce }), issue(t, newSigner(t, 1)), pass.ErrUnverified)
	})
}

// TestInMemory is bounded, forgets what is over, and nothing before.
func TestInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3000
		once := pass.InMemory(most)
		use := func(id string, lasts time.Duration) (bool, error) {
			return once.Use(t.Context(), id, time.Now().Add(lasts))
		}
		for i := range most {
			if first, err := use(fmt.Sprint(i), time.Duration(1+i%2)*time.Minute); err != nil || !first {
				t.Fatalf("%d: %v, %v", i, first, err)
			}
		}
		if first, err := use("one more", time.Minute); !errors.Is(err, pass.ErrFull) || first {
			t.Errorf("one more than there may be: %v, %v", first, err)
		}
		<-time.After(time.Minute)
		if first, err := use("one more", time.Minute); err != nil || !first {
			t.Errorf("one more when half are over: %v, %v", first, err)
		}
		for i := 1; i < most; i += 2 {
			if first, err := use(fmt.Sprint(i), time.Minute); err != nil || first {
				t.Fatalf("%d, which is good for two minutes, is forgotten: %v", i, err)
			}
		}
		<-time.After(time.Minute)
		for i := range most {
			if first, err := use(fmt.Sprint("new", i), time.Minute); err != nil || !first {
				t.Fatalf("%d after all are over: %v, %v", i, first, err)
			}
		}
	})
}
