package token

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/openqueue/waitingroom/internal/line"
)

// Where the parts of a token lie. See the package's layout.
const (
	version = 1

	versionAt = 0
	keyIDAt   = 1
	idAt      = 2
	arrivalAt = 10
	macAt     = 18
	// macSize is 128 bits: a guess is right once in 2^128, and no use is made
	// of the hash's resistance to collisions that would ask for more.
	macSize  = 16
	rawSize  = macAt + macSize
	textSize = (rawSize*8 + 5) / 6

	// endOfTime is the first arrival, in microseconds, that is too late: 2^53,
	// in the year 2255. Below it a double, hence a sorted set, is exact.
	endOfTime = 1 << 53
)

// ErrInvalid is returned for every string that is not a token of the zone
// under a live secret. It says no more: an honest client can do nothing with
// the reason, and a dishonest one could.
var ErrInvalid = errors.New("token: invalid")

// encoding refuses padding and stray bits in the last character. It skips line
// breaks, which the check of both lengths in Verify refuses.
var encoding = base64.RawURLEncoding.Strict()

// Sign returns the token of a place in the zone, under the newest secret. The
// same place always gets the same token. Verify refuses a token whose arrival
// is not between 1 and 2^53-1 microseconds.
func (k *Keys) Sign(zoneID string, p line.Place) string {
	newest := k.keys[0]
	var raw [rawSize]byte
	raw[versionAt] = version
	raw[keyIDAt] = newest.id
	copy(raw[idAt:arrivalAt], p.ID[:])
	binary.BigEndian.PutUint64(raw[arrivalAt:macAt], uint64(p.ArrivedAtMicros))
	code := sum(newest.token, zoneID, raw[:macAt])
	copy(raw[macAt:], code[:macSize])

	var text [textSize]byte
	encoding.Encode(text[:], raw[:])
	return string(text[:])
}

// Renew returns the token of a place under the newest secret, as Sign does, to
// a visitor who has shown tok, which Verify has accepted. Nearly always it is
// the same string: one place has one token under each secret. Then nothing is
// signed, which halves the hashing of a poll.
func (k *Keys) Renew(zoneID, tok string, p line.Place) string {
	if len(tok) != textSize || !k.newestAlone {
		return k.Sign(zoneID, p)
	}
	var text [textSize]byte
	copy(text[:], tok)
	var raw [rawSize]byte
	n, err := encoding.Decode(raw[:], text[:])
	if err != nil || n != rawSize || raw[keyIDAt] != k.keys[0].id ||
		line.ID(raw[idAt:arrivalAt]) != p.ID ||
		binary.BigEndian.Uint64(raw[arrivalAt:macAt]) != uint64(p.ArrivedAtMicros) {
		return k.Sign(zoneID, p)
	}
	return tok
}

// Verify returns the place that a token of the zone carries, or ErrInvalid. It
// says that a server with one of the secrets gave the place out, not that the
// line still has it.
func (k *Keys) Verify(zoneID, tok string) (line.Place, error) {
	if len(tok) != textSize {
		return line.Place{}, ErrInvalid
	}
	var text [textSize]byte
	copy(text[:], tok)
	var raw [rawSize]byte
	if n, err := encoding.Decode(raw[:], text[:]); err != nil || n != rawSize {
		return line.Place{}, ErrInvalid
	}
	arrival := int64(binary.BigEndian.Uint64(raw[arrivalAt:macAt]))
	if raw[versionAt] != version || arrival <= 0 || arrival >= endOfTime {
		return line.Place{}, ErrInvalid
	}
	if !k.signed(zoneID, raw[:]) {
		return line.Place{}, ErrInvalid
	}
	return line.Place{ID: line.ID(raw[idAt:arrivalAt]), ArrivedAtMicros: arrival}, nil
}

// signed reports whether a secret with the token's key id made its code.
func (k *Keys) signed(zoneID string, raw []byte) bool {
	for _, key := range k.keys {
		if key.id != raw[keyIDAt] {
			continue
		}
		code := sum(key.token, zoneID, raw[:macAt])
		if hmac.Equal(code[:macSize], raw[macAt:]) {
			return true
		}
	}
	return false
}
