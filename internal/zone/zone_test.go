package zone_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// FuzzValidID compares the loop with the pattern that the contract writes down,
// less the two names that mean folders.
func FuzzValidID(f *testing.F) {
	pattern := regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)
	for _, id := range []string{
		"", "A", "z", "0", ".", "_", "-", "TEST_ZONE", "shop.example-1_a", "{A}", "A B", "A\n", "é", "\x00", "\xff",
		"..", "...", "@", "[", "`", "/", ":", strings.Repeat("x", 64), strings.Repeat("x", 65),
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := zone.ValidID(id), pattern.MatchString(id) && id != "." && id != ".."; got != want {
			t.Errorf("ValidID(%q) = %t, want %t", id, got, want)
		}
	})
}
