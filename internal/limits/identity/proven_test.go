package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// TestProvenIsBounded: what is remembered is bounded. A token that other keys have verified, or that has ended, does not
// count.
func TestProvenIsBounded(t *testing.T) {
	t.Parallel()
	var p proven
	keys, now := &[]keyset.Key{}, time.Unix(1000, 0)
	token := func(i int) (sum [sha256.Size]byte) {
		binary.BigEndian.PutUint64(sum[:], uint64(i))
		return sum
	}
	is := proof{Identity{Key: "member:a"}, now.Add(time.Second), keys}
	for i := range maxProven + 2 {
		p.keep(token(i), is)
	}
	if n := len(p.all); n > maxProven {
		t.Errorf("%d are remembered", n)
	}
	last := token(maxProven + 1)
	if got, ok := p.find(last, keys, now); !ok || got != is.identity {
		t.Errorf("the latest is %v, %t", got, ok)
	}
	if _, ok := p.find(last, &[]keyset.Key{{}}, now); ok {
		t.Error("good with other keys")
	}
	if _, ok := p.find(last, keys, is.until); ok {
		t.Error("good after its end")
	}
}
