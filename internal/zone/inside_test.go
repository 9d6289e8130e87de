package zone

import (
	"strconv"
	"testing"
)

// TestRevoke: an admission that is revoked twice is kept once, and the record tells apart what was revoked, and up to when.
func TestRevoke(t *testing.T) {
	t.Parallel()
	var i InsideState
	for n := range MaxRevoked + 1 {
		i = i.Revoke(strconv.Itoa(n))
		i = i.Revoke(strconv.Itoa(n))
	}
	if len(i.Revoked) != MaxRevoked || i.Revoked[0] != "1" || i.Revoked[MaxRevoked-1] != strconv.Itoa(MaxRevoked) {
		t.Errorf("%d are kept, from %s to %s", len(i.Revoked), i.Revoked[0], i.Revoked[len(i.Revoked)-1])
	}
	for want, state := range map[string]InsideState{
		"none": {},
		"all admissions up to 2026-11-21 12:00:01 UTC": {RevokedUpToMillis: 1795262401000},
		"2 by jti, the last b":                         {Revoked: []string{"a", "b"}},
		"all admissions up to 2026-11-21 12:00:02 UTC; 1 by jti, the last a; count reset at 2026-11-21 12:00:00 UTC": {
			RevokedUpToMillis: 1795262402000, Revoked: []string{"a"}, ResetAtMillis: 1795262400000,
		},
	} {
		s := Defaults("Z")
		s.InsideState = state
		if got := Table.Find("insideState").Words(s); got != want {
			t.Errorf("%+v: %q, want %q", state, got, want)
		}
	}
}
