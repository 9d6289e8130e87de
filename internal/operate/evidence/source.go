package evidence

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

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
type Keys map[string]any

// ReadKeys reads a JWK set.
func ReadKeys(text []byte) (Keys, error) {
	var set struct {
		Keys []struct {
			Kid string `json:"kid"`
			Kty string `json:"kty"`
			X   string `json:"x"`
			Y   string `json:"y"`
			N   string `json:"n"`
			E   string `json:"e"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("evidence: the keys: %w", err)
	}
	keys := Keys{}
	for _, k := range set.Keys {
		decode := func(text string) []byte {
			b, err := base64.RawURLEncoding.DecodeString(text)
			if err != nil {
				return nil // what is damaged verifies nothing
			}
			return b
		}
		switch k.Kty {
		case "OKP":
			if x := decode(k.X); len(x) == ed25519.PublicKeySize {
				keys[k.Kid] = ed25519.PublicKey(x)
			}
		case "EC":
			if key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, decode(k.X), decode(k.Y))); err == nil {
				keys[k.Kid] = key
			}
		case "RSA":
			keys[k.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(decode(k.N)), E: int(new(big.Int).SetBytes(decode(k.E)).Int64())}
		}
	}
	return keys, nil
}

// read verifies a JWT of a type and reads its claims.
func (k Keys) read(text, typ string, claims any) error {
	parsed := jwt.MapClaims{}
	t, err := jwt.ParseWithClaims(text, parsed, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if key := k[kid]; key != nil && t.Header["typ"] == typ {
			return key, nil
		}
		return nil, errors.New("another type, or a key that is not among those given")
	}, jwt.WithValidMethods([]string{"EdDSA", "ES256", "RS256"}), jwt.WithoutClaimsValidation(), jwt.WithJSONNumber())
	if err != nil || !t.Valid {
		return fmt.Errorf("evidence: signature: %w", err)
	}
	body, err := json.Marshal(parsed)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, claims)
}
