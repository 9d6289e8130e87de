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
	"slices"
	"time"

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

// Change is an entry of the record of changes. Of the settings the whole text is kept for the bundle; who made the change from which
// address is not.
type Change struct {
	At    int64           `json:"at"`
	Zone  string          `json:"zoneId"`
	By    string          `json:"by"`
	Proof string          `json:"proof,omitempty"`
	Was   json.RawMessage `json:"was"`
	Now   json.RawMessage `json:"now"`

	was, now *limits
}

// limits are those of the settings that say who may enter; nil of a zone that is not there.
type limits struct {
	admissionlog.Settings
	Pilot    string          `json:"pilot"`
	PilotMin int64           `json:"pilotMin"`
	PilotMax int64           `json:"pilotMax"`
	SoldOut  json.RawMessage `json:"soldOut"`
	Events   []struct {
		Name       string     `json:"name"`
		PreQueueAt *time.Time `json:"preQueueAt"`
		OpensAt    time.Time  `json:"opensAt"`
		EndsAt     *time.Time `json:"endsAt"`
	} `json:"events"`
}

// parse reads the limits.
func (c *Change) parse() error {
	if err := errors.Join(json.Unmarshal(c.Was, &c.was), json.Unmarshal(c.Now, &c.now)); err != nil {
		return fmt.Errorf("evidence: the record: %w", err)
	}
	for _, l := range []*limits{c.was, c.now} {
		if l != nil && len(l.SoldOut) > len(`""`) { // of text or texts by language
			l.PerMinute, l.Mode = 0, "closed"
		}
	}
	return nil
}

// ReadRecord reads the entries of a zone from the record in JSON, as queue-server audit --json prints it, and orders them, the oldest first.
func ReadRecord(text []byte, zoneID string) ([]Change, error) {
	var doc struct {
		Changes []Change `json:"changes"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("evidence: the record: %w", err)
	}
	all := slices.DeleteFunc(doc.Changes, func(c Change) bool { return c.Zone != zoneID })
	for i := range all {
		if err := all[i].parse(); err != nil {
			return nil, err
		}
	}
	slices.Reverse(all) // entries of the same time stay in their order
	slices.SortStableFunc(all, func(a, b Change) int { return int(a.At - b.At) })
	return all, nil
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
