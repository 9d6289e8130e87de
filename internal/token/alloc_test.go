//go:build !race

// Under the race detector sync.Pool drops some of what is put back, so
// allocations are counted without it only.

package token_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/token"
)

func TestAllocations(t *testing.T) {
	keys := newKeys(t, 1, 2)
	good := keys.Sign(testZone, place)
	session := keys.SignSession(testZone, token.Session{Length: time.Hour})
	for _, tt := range []struct {
		name string
		want float64
		call func()
	}{
		{"Sign", 1, func() { keys.Sign(testZone, place) }},
		{"Verify", 0, func() { _, _ = keys.Verify(testZone, good) }},
		{"Renew", 0, func() { keys.Renew(testZone, good, place) }},
		{"Verify, another zone", 0, func() { _, _ = keys.Verify("OTHER_ZONE", good) }},
		{"Verify, wrong length", 0, func() { _, _ = keys.Verify(testZone, good[1:]) }},
		{"VerifySession", 0, func() { _, _ = keys.VerifySession(testZone, session) }},
		{"VisitorID", 0, func() { keys.VisitorID(testZone, "customer-4711") }},
	} {
		if got := testing.AllocsPerRun(1000, tt.call); got != tt.want {
			t.Errorf("%s allocates %v times, want %v", tt.name, got, tt.want)
		}
	}
}
