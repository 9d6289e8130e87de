package token

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// Where the parts of a token lie: see doc.go.
const (
	version = 1
	// inVersion is of the token of a visitor who was admitted.
	inVersion = 2
	// toldVersion is of the token of a visitor who was told a position, which stands behind the due time.
	toldVersion = 3

	versionAt = 0
	keyIDAt   = 1
	idAt      = 2
	arrivalAt = 10
	epochAt   = 18
	dueAt     = 22
	// macSize is 128 bits: a guess is right once in 2^128. More bits would be needed only against collisions, which
	// are no danger here.
	macSize = 16

	toldAt = 26
	// size is that of the shorter token, which tells no position.
	size     = dueAt + 4 + macSize
	toldSize = size + 4

	// endOfTime is the first arrival, in microseconds, that is too late: 2^53,
	// in the year 2255. Below it a double, hence a sorted set, is exact.
	endOfTime = 1 << 53
	// lastDue is the latest time to poll again that a token can carry, in Unix seconds: in the year 2106.
	lastDue = 1<<32 - 1
)

// Size is the length of the longest token, in characters.
const Size = (toldSize*8 + 5) / 6

// ErrInvalid is returned for every string that is not a token of the zone under one of the secrets. It gives no reason:
// an honest client has no use for one, and an attacker might.
var ErrInvalid = refusal.New("token: invalid", refusal.Refusal{
	Status: http.StatusUnauthorized, Code: "token_invalid",
	Title:        "The token is not valid",
	Detail:       "The token was not made for this zone by this waiting room. Join the line to get one.",
	Authenticate: `Bearer realm="waiting room", error="invalid_token"`,
	Alert:        "[QueueTokensInvalid](#queuetokensinvalid)",
	Readers:      refusal.Visitors,
	Doc:          "The token was not made for this zone by this waiting room: join to get one. The store was not asked.",
})

// encoding refuses padding and stray bits in the last character. It skips line
// breaks, which the check of both lengths in decode refuses.
var encoding = base64.RawURLEncoding.Strict()

// Sign returns the token of a place in the zone, under the newest secret. The same place, epoch and DueMillis (rounded
// down to whole seconds) always get the same token. Verify refuses a token whose arrival is not between 1 and 2^53-1 microseconds.
func (k *Keys) Sign(zoneID string, p line.Place) string {
	newest := k.keys[0]
	raw := claims(newest.id, p)
	code := sum(newest.token, zoneID, raw)
	return encoding.EncodeToString(append(raw, code[:macSize]...))
}

// claims returns the bytes of a token that is yet to be signed.
func claims(keyID byte, p line.Place) []byte {
	raw := make([]byte, toldAt, toldSize)
	raw[versionAt], raw[keyIDAt] = version, keyID
	copy(raw[idAt:arrivalAt], p.ID[:])
	binary.BigEndian.PutUint64(raw[arrivalAt:], uint64(p.ArrivedAtMicros))
	binary.BigEndian.PutUint32(raw[epochAt:], p.Epoch)
	binary.BigEndian.PutUint32(raw[dueAt:], uint32(min(max(0, p.DueMillis/1000), lastDue)))
	if after := p.AdmittedAtMillis - p.ArrivedAtMicros/1000; p.AdmittedAtMillis > 0 && int64(int32(after)) == after {
		raw[versionAt] = inVersion
		binary.BigEndian.PutUint32(raw[dueAt:], uint32(int32(after)))
	} else if p.Told > 0 && p.Told <= math.MaxUint32 {
		raw[versionAt] = toldVersion
		raw = binary.BigEndian.AppendUint32(raw, uint32(p.Told))
	}
	return raw
}

// Renew returns the token of a place under the newest secret, as Sign does, for a visitor who has shown tok, which Verify
// has accepted. If the result is tok itself, as for an early poll, nothing is signed.
func (k *Keys) Renew(zoneID, tok string, p line.Place) string {
	want := claims(k.keys[0].id, p)
	if raw, ok := decode(tok); !k.newestAlone || !ok || !bytes.Equal(raw[:len(raw)-macSize], want) {
		return k.Sign(zoneID, p)
	}
	return tok
}

// decode returns the bytes of a token; ok is false for a string that does not have the form of one.
func decode(tok string) (raw []byte, ok bool) {
	if len(tok) > Size {
		return nil, false
	}
	raw, err := encoding.DecodeString(tok)
	if err != nil || len(tok) != encoding.EncodedLen(len(raw)) || len(raw) < size {
		return nil, false
	}
	want := size
	if raw[versionAt] == toldVersion {
		want = toldSize
	}
	return raw, len(raw) == want
}

// VisitorID returns the visitor's id in a string that has the form of a token; ok is false for any other string. Nothing
// is verified.
func VisitorID(tok string) (id line.ID, ok bool) {
	raw, ok := decode(tok)
	if !ok {
		return line.ID{}, false
	}
	return line.ID(raw[idAt:arrivalAt]), true
}

// Verify returns the place that a token of the zone carries, or ErrInvalid. A place that is returned was given out by a
// server with one of the secrets; the line may no longer have it.
func (k *Keys) Verify(zoneID, tok string) (line.Place, error) {
	raw, ok := decode(tok)
	if !ok || raw[versionAt] < version || raw[versionAt] > toldVersion {
		return line.Place{}, ErrInvalid
	}
	arrival := int64(binary.BigEndian.Uint64(raw[arrivalAt:]))
	if arrival <= 0 || arrival >= endOfTime || !k.signed(zoneID, raw) {
		return line.Place{}, ErrInvalid
	}
	p := line.Place{ID: line.ID(raw[idAt:arrivalAt]), ArrivedAtMicros: arrival, Epoch: binary.BigEndian.Uint32(raw[epochAt:])}
	if due := binary.BigEndian.Uint32(raw[dueAt:]); raw[versionAt] == inVersion {
		p.AdmittedAtMillis = arrival/1000 + int64(int32(due))
	} else {
		p.DueMillis = int64(due) * 1000
	}
	if raw[versionAt] == toldVersion {
		p.Told = int64(binary.BigEndian.Uint32(raw[toldAt:]))
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
