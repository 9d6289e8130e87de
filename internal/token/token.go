package token

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/openqueue/waitingroom/internal/line"
)

// Where the parts of a token lie: see doc.go.
const (
	// version1 ends with the arrival. It is given out in lines that were begun with such tokens, so that older servers
	// go on accepting them.
	version1 = 1
	version2 = 2

	versionAt = 0
	keyIDAt   = 1
	idAt      = 2
	arrivalAt = 10
	epochAt   = 18
	dueAt     = 22
	// macSize is 128 bits: a guess is right once in 2^128. More bits would be needed only against collisions, which
	// are no danger here.
	macSize = 16

	signed1, signed2 = epochAt, dueAt + 4
	size1, size2     = signed1 + macSize, signed2 + macSize
	text1, text2     = (size1*8 + 5) / 6, (size2*8 + 5) / 6

	// endOfTime is the first arrival, in microseconds, that is too late: 2^53,
	// in the year 2255. Below it a double, hence a sorted set, is exact.
	endOfTime = 1 << 53
	// lastDue is the latest time to poll again that a token can carry, in Unix seconds: in the year 2106.
	lastDue = 1<<32 - 1
)

// Size is the length of a token of version 2, in characters.
const Size = text2

// ErrInvalid is returned for every string that is not a token of the zone under one of the secrets. It gives no reason:
// an honest client has no use for one, and an attacker might.
var ErrInvalid = errors.New("token: invalid")

// encoding refuses padding and stray bits in the last character. It skips line
// breaks, which the check of both lengths in Verify refuses.
var encoding = base64.RawURLEncoding.Strict()

// Sign returns the token of a place in the zone, under the newest secret. The same place, epoch and DueMillis (rounded
// down to whole seconds) always get the same token. Without an epoch the token is of version 1, and does not carry
// DueMillis. Verify refuses a token whose arrival is not between 1 and 2^53-1 microseconds.
func (k *Keys) Sign(zoneID string, p line.Place) string {
	newest := k.keys[0]
	var raw [size2]byte
	n := claims(&raw, newest.id, p)
	code := sum(newest.token, zoneID, raw[:n])
	n += copy(raw[n:], code[:macSize])

	var text [text2]byte
	encoding.Encode(text[:], raw[:n])
	return string(text[:encoding.EncodedLen(n)])
}

// claims writes the bytes that are to be signed, and returns how many they are.
func claims(raw *[size2]byte, keyID byte, p line.Place) int {
	raw[versionAt], raw[keyIDAt] = version1, keyID
	copy(raw[idAt:arrivalAt], p.ID[:])
	binary.BigEndian.PutUint64(raw[arrivalAt:], uint64(p.ArrivedAtMicros))
	if p.Epoch == 0 {
		return signed1
	}
	raw[versionAt] = version2
	binary.BigEndian.PutUint32(raw[epochAt:], p.Epoch)
	binary.BigEndian.PutUint32(raw[dueAt:], uint32(min(max(0, p.DueMillis/1000), lastDue)))
	return signed2
}

// Renew returns the token of a place under the newest secret, as Sign does, for a visitor who has shown tok, which Verify
// has accepted. If the result is tok itself, as for an early poll, nothing is signed.
func (k *Keys) Renew(zoneID, tok string, p line.Place) string {
	var raw, want [size2]byte
	n := claims(&want, k.keys[0].id, p)
	if size := decode(&raw, tok); !k.newestAlone || size != n+macSize || !bytes.Equal(raw[:n], want[:n]) {
		return k.Sign(zoneID, p)
	}
	return tok
}

// decode writes the bytes of a token into raw and returns how many there are: size1 or size2, or 0 for a string that is
// no token of either version.
func decode(raw *[size2]byte, tok string) int {
	var size int
	switch len(tok) {
	case text1:
		size = size1
	case text2:
		size = size2
	default:
		return 0
	}
	var text [text2]byte
	if n, err := encoding.Decode(raw[:], text[:copy(text[:], tok)]); err != nil || n != size {
		return 0
	}
	return size
}

// VisitorID returns the visitor's id in a string that has the form of a token; ok is false for any other string. Nothing
// is verified.
func VisitorID(tok string) (id line.ID, ok bool) {
	var raw [size2]byte
	if decode(&raw, tok) == 0 {
		return id, false
	}
	return line.ID(raw[idAt:arrivalAt]), true
}

// Verify returns the place that a token of the zone carries, or ErrInvalid. A place that is returned was given out by a
// server with one of the secrets; the line may no longer have it.
func (k *Keys) Verify(zoneID, tok string) (line.Place, error) {
	var raw [size2]byte
	n := decode(&raw, tok)
	if n == 0 || raw[versionAt] != version1 && n == size1 || raw[versionAt] != version2 && n == size2 {
		return line.Place{}, ErrInvalid
	}
	arrival := int64(binary.BigEndian.Uint64(raw[arrivalAt:]))
	if arrival <= 0 || arrival >= endOfTime || !k.signed(zoneID, raw[:n]) {
		return line.Place{}, ErrInvalid
	}
	p := line.Place{ID: line.ID(raw[idAt:arrivalAt]), ArrivedAtMicros: arrival}
	if n == size2 {
		p.Epoch = binary.BigEndian.Uint32(raw[epochAt:])
		p.DueMillis = int64(binary.BigEndian.Uint32(raw[dueAt:])) * 1000
	}
	return p, nil
}

// signed reports whether the token's code was made with a secret of the token's key id.
func (k *Keys) signed(zoneID string, raw []byte) bool {
	says, code := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	for _, key := range k.keys {
		if key.id != raw[keyIDAt] {
			continue
		}
		want := sum(key.token, zoneID, says)
		if hmac.Equal(want[:macSize], code) {
			return true
		}
	}
	return false
}
