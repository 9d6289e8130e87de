package evidence

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"

	"github.com/go-jose/go-jose/v4"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// Source is what is judged.
type Source struct {
	Zone string
	// From and To bound the admissions that are judged, in Unix milliseconds on the zone's clock; 0 for no bound.
	From, To int64
	// Runs and Faults are what admissionlog.Read returned.
	Runs   []admissionlog.Run
	Faults []string
	// Keys are the public keys of passes.
	Keys Keys
	// Record is the zone's record of changes.
	Record []Change
	// Heads are heads that somebody kept.
	Heads []string
	// Draws are the published draws, with their seeds.
	Draws []Draw
}

// Draw is a draw as it was published.
type Draw struct {
	Event      string `json:"event"`
	Commitment string `json:"commitment"`
	Seed       string `json:"seed"`
	FromMicros int64  `json:"fromMicros"`
	UptoMicros int64  `json:"uptoMicros"`
}

// score is the place of a ticket by the published formula.
func (d *Draw) score(ticket string) (int64, error) {
	seed, err := hex.DecodeString(d.Seed)
	of, err2 := hex.DecodeString(ticket)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	mac := hmac.New(sha256.New, seed)
	mac.Write(of)
	part, _ := bits.Mul64(binary.BigEndian.Uint64(mac.Sum(nil)), uint64(d.UptoMicros-d.FromMicros))
	return d.FromMicros + int64(part), nil
}

// Keys verify what the servers have signed, by kid.
type Keys struct{ set jose.JSONWebKeySet }

// algorithms are those with which servers sign passes.
var algorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.RS256}

// ReadKeys reads a JWK set. A key of a type that is not known here verifies nothing.
func ReadKeys(text []byte) (k Keys, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return k, fmt.Errorf("evidence: the keys: %w", err)
	}
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil {
			k.set.Keys = append(k.set.Keys, key)
		}
	}
	return k, nil
}

// errKey: who has signed cannot be said. The secret may have been rotated since.
var errKey = errors.New("evidence: signature: by a key that is not among those given")

// read verifies a JWT of a type and reads its claims.
func (k Keys) read(text, typ string, claims any) error {
	signed, err := jose.ParseSignedCompact(text, algorithms)
	if err != nil {
		return fmt.Errorf("evidence: signature: %w", err)
	}
	head := signed.Signatures[0].Protected
	if head.ExtraHeaders[jose.HeaderType] != typ {
		return errors.New("evidence: signature: of another type")
	}
	if len(k.set.Key(head.KeyID)) == 0 {
		return errKey
	}
	for _, key := range k.set.Key(head.KeyID) {
		if body, err := signed.Verify(key); err == nil {
			return json.Unmarshal(body, claims)
		}
	}
	return errors.New("evidence: signature: not by the key that it names")
}
