package people

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// Issued is what is known of a token: all but the token itself.
type Issued struct {
	ID        string     `json:"id" doc:"Names the token; no secret." example:"4f1c09ae52"`
	Name      string     `json:"name" doc:"Who has the token." example:"anna"`
	Role      route.Role `json:"role" doc:"What the token allows." example:"operator"`
	Zones     []string   `json:"zones" doc:"Patterns of the zones in which it does, with * for any text. Empty: in all zones." example:"[SHOP, SALE-*]"`
	Maker     string     `json:"maker" doc:"Who made the token." example:"root"`
	MadeAt    int64      `json:"madeAt" doc:"When, in Unix milliseconds." example:"1795223373123"`
	ExpiresAt int64      `json:"expiresAt" doc:"Until when the token is good, in Unix milliseconds." example:"1803000000000"`
	UsedOn    string     `json:"usedOn,omitempty" format:"date" doc:"The latest day in UTC on which it was used; absent before the first." example:"2026-11-21"`
}

// kept is a token as the document has it.
type kept struct {
	Issued
	// Hash is the SHA-256 of the token, in hexadecimal digits.
	Hash string `json:"hash"`
}

// ended is something that ended before its time: the token or the session of that ID, or all sessions of a subject that were begun
// until AtMillis. After UntilMillis it would have ended by itself.
type ended struct {
	ID          string `json:"id,omitempty"`
	Subject     string `json:"subject,omitempty"`
	AtMillis    int64  `json:"at"`
	UntilMillis int64  `json:"until"`
}

// book is the document: what is known of all tokens, and what has ended since SinceMillis. A session of before is over: the store may have
// lost that it was ended.
type book struct {
	Version     int64   `json:"version"`
	SinceMillis int64   `json:"since,omitempty"`
	Tokens      []kept  `json:"tokens"`
	Ended       []ended `json:"ended,omitempty"`
}

const (
	// bookLabel and sessionLabel keep the keys apart from each other and from other keys of the secret.
	bookLabel    = "queue-server operators' credentials v1"
	sessionLabel = "queue-server console session v2"
	// settleTime is how long something ended is kept in the document after it would have ended by itself: clocks of servers differ.
	settleTime = time.Hour
)

// errForged is the error for a document that no server of this room has signed.
var errForged = errors.New("people: the operators' credentials in the store are not signed by this room's secret: they are ignored")

// keysOf derives a key of each secret.
func keysOf(label string, secrets [][]byte) [][]byte {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		keys[i] = mac(secret, []byte(label))
	}
	return keys
}

// Keys are keys of the secrets, newest first, that sign JSON Web Tokens for one purpose.
func Keys(label string, secrets [][]byte) (set jwt.VerificationKeySet) {
	for _, key := range keysOf(label, secrets) {
		set.Keys = append(set.Keys, key)
	}
	return set
}

func mac(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write(text) // never fails
	return m.Sum(nil)
}

// macDigits is the length of a signature in hexadecimal digits.
const macDigits = 2 * sha256.Size

// seal returns the document, signed with the newest key: the signature, and the text.
func (b book) seal(keys [][]byte) (line.Document, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return line.Document{}, fmt.Errorf("people: %w", err)
	}
	return line.Document{Version: b.Version, Text: hex.EncodeToString(mac(keys[0], text)) + string(text)}, nil
}

// openBook reads a document. It returns errForged unless one of the keys has signed it, for this version.
func openBook(d line.Document, keys [][]byte) (b book, err error) {
	if d == (line.Document{}) {
		return b, nil
	}
	if len(d.Text) < macDigits {
		return b, errForged
	}
	sum, text := []byte(d.Text[:macDigits]), []byte(d.Text[macDigits:])
	if !slices.ContainsFunc(keys, func(key []byte) bool { return hmac.Equal(sum, []byte(hex.EncodeToString(mac(key, text)))) }) {
		return b, errForged
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return book{}, fmt.Errorf("people: the operators' credentials are damaged: %w", err)
	}
	if b.Version != d.Version {
		return book{}, errForged
	}
	return b, nil
}

func (b book) equal(other book) bool { return reflect.DeepEqual(b, other) }

// clone returns a copy that shares no list with b.
func (b book) clone() book {
	b.Tokens, b.Ended = slices.Clone(b.Tokens), slices.Clone(b.Ended)
	return b
}

// merged returns what the store has, with what this server knows besides: newer tokens where the store lost some, all that has
// ended and is not forgotten yet, and the days of use.
func merged(found, known book, used map[string]string, now time.Time) book {
	out := found.clone()
	if known.Version > out.Version {
		out.Version, out.SinceMillis, out.Tokens = known.Version, known.SinceMillis, slices.Clone(known.Tokens)
	}
	for _, e := range known.Ended {
		if e.UntilMillis > now.UnixMilli() && !slices.Contains(out.Ended, e) {
			out.Ended = append(out.Ended, e)
		}
	}
	out.Tokens = slices.DeleteFunc(out.Tokens, func(k kept) bool { return out.over(k.ID) })
	for i, k := range out.Tokens {
		out.Tokens[i].UsedOn = max(k.UsedOn, used[k.ID])
	}
	return out
}

// over reports whether the token or session of that ID has ended.
func (b book) over(id string) bool {
	return slices.ContainsFunc(b.Ended, func(e ended) bool { return e.ID != "" && e.ID == id })
}

// tidy forgets what has been over for long.
func (b *book) tidy(now time.Time) {
	past := now.Add(-settleTime).UnixMilli()
	b.Ended = slices.DeleteFunc(b.Ended, func(e ended) bool { return e.UntilMillis < past })
	b.Tokens = slices.DeleteFunc(b.Tokens, func(k kept) bool { return k.ExpiresAt < past })
}
