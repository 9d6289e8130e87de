package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// TestProvenIsBounded: what is remembered is bounded. A token that is asked for stays, one that
// other keys have verified does not count.
func TestProvenIsBounded(t *testing.T) {
	t.Parallel()
	var p proven
	keys, now := &[]keyset.Key{}, time.Unix(1000, 0)
	token := func(i int) (sum [sha256.Size]byte) {
		binary.BigEndian.PutUint64(sum[:], uint64(i))
		return sum
	}
	is := proof{Identity{Key: "member:a"}, now.Add(time.Second), keys}
	for i := range 5 * maxProven {
		p.keep(token(i), is)
		if _, ok := p.find(token(0), keys, now); !ok {
			t.Fatalf("what is asked for all the time is forgotten after %d", i)
		}
	}
	if n := len(p.young) + len(p.old); n > 2*maxProven {
		t.Errorf("%d are remembered", n)
	}
	if _, ok := p.find(token(1), keys, now); ok {
		t.Error("the oldest is remembered")
	}
	if _, ok := p.find(token(0), &[]keyset.Key{{}}, now); ok {
		t.Error("good with other keys")
	}
	if _, ok := p.find(token(0), keys, is.until); ok {
		t.Error("good after its end")
	}
}
