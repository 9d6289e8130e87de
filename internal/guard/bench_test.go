package guard_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/openqueue/waitingroom/internal/guard"
)

// BenchmarkAdmits: what a join costs.
func BenchmarkAdmits(b *testing.B) {
	r := newRoom(guard.Policies()...)
	for i := 0; b.Loop(); i++ {
		n := guard.Newcomer{ClientID: "0f8fad5b-d9cb-469f-a165-708677289" + fmt.Sprint(i%1000), Address: netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 250)})}
		_ = r.admits(b.Context(), n)
	}
}
