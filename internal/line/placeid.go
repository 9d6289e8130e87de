package line

import (
	"encoding/base32"
	"errors"
	"strings"
)

// placeDigits are those of Crockford's Base32: digits and capital letters without I, L, O and U.
const placeDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// PlaceIDLength is the length of a place's id as text, the check character included.
const PlaceIDLength = 14

// ErrPlaceID: the text is not the id of a place.
var ErrPlaceID = errors.New("line: not the id of a place: 14 digits and letters are expected, as a visitor's page shows them")

var (
	placeEncoding = base32.NewEncoding(placeDigits).WithPadding(base32.NoPadding)
	// heard are what people write for others: small letters, letters that look like digits, and what groups digits.
	heard = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "", " ", "")
)

// PlaceID returns the id as people read it to each other and as answers, receipts and webhooks name it: 13 characters of
// Crockford's Base32 and a check character by the Luhn algorithm modulo 32. It is no secret.
func (id ID) PlaceID() string { return string(id.AppendPlaceID(nil)) }

// AppendPlaceID appends PlaceID.
func (id ID) AppendPlaceID(b []byte) []byte {
	from := len(b)
	b = placeEncoding.AppendEncode(b, id[:])
	return append(b, placeCheck(b[from:]))
}

// ParsePlaceID returns the id of a text as PlaceID has it, or ErrPlaceID. Small letters, O for 0, I and L for 1, hyphens and
// spaces are accepted.
func ParsePlaceID(text string) (ID, error) {
	if len(text) > 2*PlaceIDLength {
		return ID{}, ErrPlaceID
	}
	text = heard.Replace(strings.ToUpper(text))
	raw, err := placeEncoding.DecodeString(text[:max(0, len(text)-1)])
	if err != nil || len(raw) != len(ID{}) || ID(raw).PlaceID() != text {
		return ID{}, ErrPlaceID
	}
	return ID(raw), nil
}

// placeCheck returns the check character: with it, no text that differs in one character is valid, and none in which
// two neighbours are exchanged, except 0 and Z.
func placeCheck(digits []byte) byte {
	sum := 0
	for i := range digits {
		n := strings.IndexByte(placeDigits, digits[len(digits)-1-i])
		if i%2 == 0 {
			n = 2*n/32 + 2*n%32
		}
		sum += n
	}
	return placeDigits[(32-sum%32)%32]
}
