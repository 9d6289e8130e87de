package guard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestAnAddressHasAShareOfAZone: what one address, which asks ten times a second for
// a minute, then four times, as somebody else each time, gets at once and within one
// minute and ten.
func TestAnAddressHasAShareOfAZone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set                 func(*zone.Settings)
		atOnce, minute, ten int
	}{
		"as it is made":       {func(*zone.Settings) {}, 30, 150, 1_230},
		"a small one":         {func(s *zone.Settings) { s.PerMinute = 60 }, 10, 22, 130},
		"the smallest":        {func(s *zone.Settings) { s.PerMinute = 1 }, 10, 11, 20},
		"a large one":         {func(s *zone.Settings) { s.PerMinute = 6_000 }, 300, 900, 3_060}, // 4 a second: all that are asked for,
		"with a burst":        {func(s *zone.Settings) { s.Burst = 100 }, 50, 170, 1_250},
		"with a bound":        {func(s *zone.Settings) { s.MaxWaiting = 100 }, 20, 140, 1_220},
		"of a single place":   {func(s *zone.Settings) { s.MaxWaiting = 1 }, 1, 121, 1_201},
		"it holds everybody":  {func(s *zone.Settings) { s.PerMinute, s.MaxWaiting = 0, 600 }, 120, 122, 140},
		"and has no bound":    {func(s *zone.Settings) { s.PerMinute = 0 }, 1_000, 1_600, 3_760},
		"everybody may enter": {func(s *zone.Settings) { s.Mode = zone.ModeOpen }, 1_000, 1_600, 3_760},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(guard.Policies()...)
			tt.set(&r.zone)
			got, number := 0, 0
			ask := func(times int) {
				for range times {
					number++
					err := r.admits(t.Context(), guard.Newcomer{ClientID: fmt.Sprint(number), Address: ip("203.0.113.9")})
					if err == nil {
						got++
					} else if !errors.Is(err, guard.ErrRefused) {
						t.Fatal(err)
					}
				}
			}
			ask(1_200)
			if got != tt.atOnce {
				t.Errorf("%d at once, want %d", got, tt.atOnce)
			}
			until := func(last, step time.Duration) {
				for at := step; at <= last; at += step {
					r.clock.Forward(step)
					ask(1)
				}
			}
			until(time.Minute, 100*time.Millisecond)
			// At ten a second no address asks for more than 600.
			if want := min(tt.minute, tt.atOnce+600); got != want {
				t.Errorf("%d within a minute, want %d", got, want)
			}
			until(9*time.Minute, 250*time.Millisecond)
			if got < tt.ten-1 || got > tt.ten {
				t.Errorf("%d within ten minutes, want %d", got, tt.ten)
			}
		})
	}
}

// TestAShareIsOfOneZone: who has used it up in one zone may join another.
func TestAShareIsOfOneZone(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	from := func(zoneID, address string) error {
		r.zone.ZoneID = zoneID
		return r.admits(t.Context(), guard.Newcomer{Address: ip(address)})
	}
	for range 30 {
		parts.Must(t, from(zoneID, "2001:db8:1:200::1"))
	}
	for _, address := range []string{"2001:db8:1:200::1", "2001:db8:1:201::1", "2001:db8:1:2ff::1"} {
		if err := from(zoneID, address); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s, of the same line: %v", address, err)
		}
	}
	if err := from(zoneID, "2001:db8:1:300::1"); err != nil {
		t.Error("an address beside it:", err)
	}
	if err := from("OTHER", "2001:db8:1:200::1"); err != nil {
		t.Error("in another zone:", err)
	}
}

// TestAShareIsThatOfTheNewSettings: who was refused while the zone's limit was lowered is
// not refused from memory when it is raised again.
func TestAShareIsThatOfTheNewSettings(t *testing.T) {
	t.Parallel()
	r := newRoom(guard.Policies()...)
	join := func() error {
		return r.admits(t.Context(), guard.Newcomer{Address: ip("203.0.113.9")})
	}
	r.zone.PerMinute = 6_000
	for range 300 {
		parts.Must(t, join())
	}
	r.zone.PerMinute = 60
	if err := join(); !errors.Is(err, guard.ErrRefused) {
		t.Fatal("while it is lowered:", err)
	}
	r.zone.PerMinute = 6_000
	r.clock.Forward(time.Second)
	if err := join(); err != nil {
		t.Error("a second after it is raised:", err)
	}
}
