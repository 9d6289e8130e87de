package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// mac is HMAC-SHA256 under one key. It may be used by many goroutines.
//
// HMAC hashes the padded key twice, which costs as much as hashing a token. A hash.Hash that was Reset keeps the state
// after the padded key. So the pool saves half of the work, and the allocations of hmac.New. See BenchmarkVerify.
type mac struct {
	key    []byte
	states sync.Pool // of *macState
}

// macState is the memory of one computation. What goes through the hash.Hash interface escapes to the heap, so it is
// allocated once and used again.
type macState struct {
	hash    hash.Hash
	message []byte
	sum     [sha256.Size]byte
}

// sum returns the code of a message: the length of the zone's name (4 bytes, big-endian), the name, and the rest. So
// different zones or rests never make the same message.
func sum[T []byte | string](m *mac, zoneID string, rest T) [sha256.Size]byte {
	s, ok := m.states.Get().(*macState)
	if !ok {
		s = &macState{hash: hmac.New(sha256.New, m.key)}
	}
	defer m.states.Put(s)
	s.message = binary.BigEndian.AppendUint32(s.message[:0], uint32(len(zoneID)))
	s.message = append(s.message, zoneID...)
	s.message = append(s.message, rest...)
	s.hash.Reset()
	s.hash.Write(s.message) // a hash.Hash never returns an error
	s.hash.Sum(s.sum[:0])
	return s.sum
}
