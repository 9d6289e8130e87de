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
		// To the last moment, leeway included.
		<-time.After(6*time.Minute - 1)
		refused(t, v, passes[0], pass.ErrUsed)
		<-time.After(1)
		refused(t, v, passes[0], pass.ErrExpired)
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

type brokenOnce struct{}

// Use implements pass.Once.
func (brokenOnce) Use(context.Context, string, time.Time) (bool, error) {
	return true, errors.New("the store is away")
}

func TestOnceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRoom(t, newSigner(t, 1)).open(t, func(o *pass.Options) { o.Once = brokenOnce{} })
		refused(t, v, issue(t, newSigner(t, 1)), pass.ErrUnverified)
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
		for i := range most {
			// Those of one minute may be forgotten, those of two may not.
			if first, _ := use(fmt.Sprint(i), time.Minute); first && i%2 == 1 {
				t.Fatalf("%d is forgotten", i)
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
