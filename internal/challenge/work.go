package challenge

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/crypto/scrypt"

	"github.com/openqueue/waitingroom/internal/line"
)

// Life is for how long a challenge can be solved.
const Life = 5 * time.Minute

// The derivation. A solver tries 4,096 counters in the mean.
const (
	algorithm = "SCRYPT"
	keyLength = 32
	keyPrefix = "000" // in hexadecimal digits
	// leastCost is scrypt's N. It is doubled with each level.
	leastCost = 128
	// blocksPerSecond is scrypt's r for a second of work: one core of a server does 4,096 derivations with it in some 1.0 s (BenchmarkDerive).
	// A middling phone does as many on all its cores in about that time.
	blocksPerSecond = 11
	nonceBytes      = 16
)

// Work is a challenge as ALTCHA writes it.
type Work struct {
	Parameters Parameters `json:"parameters"`
	// Signature is in hexadecimal digits.
	Signature string `json:"signature"`
}

// Parameters are what is to be done. The fields are in the order of the alphabet, in which ALTCHA signs them.
type Parameters struct {
	Algorithm string `json:"algorithm"`
	// Cost is scrypt's N, MemoryCost its r, and Parallelism its p: a derivation needs 128 * N * r bytes.
	Cost        int    `json:"cost"`
	Data        Data   `json:"data"`
	ExpiresAt   int64  `json:"expiresAt"` // Unix seconds
	KeyLength   int    `json:"keyLength"`
	KeyPrefix   string `json:"keyPrefix"`
	MemoryCost  int    `json:"memoryCost"`
	Nonce       string `json:"nonce"`
	Parallelism int    `json:"parallelism"`
	Salt        string `json:"salt"`
}

// Data says for whom a challenge is.
type Data struct {
	// Network is the one that asked: a /24 of IPv4, a /56 of IPv6, or "" if it is not known.
	Network string `json:"network,omitempty"`
	// Visitor is the visitor's id, in base64url.
	Visitor string `json:"visitor"`
	Zone    string `json:"zone"`
}

// payload is what a join shows: the challenge and its solution; no solution if it could not be solved.
type payload struct {
	Challenge Work      `json:"challenge"`
	Solution  *solution `json:"solution,omitempty"`
}

// solution is what ALTCHA calls so. The derived key in it does not count: the server derives it.
type solution struct {
	Counter    uint32 `json:"counter"`
	DerivedKey string `json:"derivedKey,omitempty"`
}

// newParameters returns work of so many milliseconds, which each level doubles.
func newParameters(zoneID string, id line.ID, millis int64, level int, now time.Time) Parameters {
	var random [2 * nonceBytes]byte
	rand.Read(random[:]) // never fails: it ends the program instead
	return Parameters{
		Algorithm: algorithm, Cost: leastCost << level, MemoryCost: int((millis*blocksPerSecond + 999) / 1000), Parallelism: 1,
		Data:      Data{Visitor: base64.RawURLEncoding.EncodeToString(id[:]), Zone: zoneID},
		ExpiresAt: now.Add(Life).Unix(), KeyLength: keyLength, KeyPrefix: keyPrefix,
		Nonce: hex.EncodeToString(random[:nonceBytes]), Salt: hex.EncodeToString(random[nonceBytes:]),
	}
}

// text is what is signed.
func (p *Parameters) text() string {
	b, err := json.Marshal(p)
	if err != nil {
		return "" // never: strings and numbers
	}
	return string(b)
}

// derives reports whether the key of a counter begins with the prefix. It takes one derivation.
func (p *Parameters) derives(counter uint32) (bool, error) {
	nonce, err := hex.DecodeString(p.Nonce)
	if err != nil {
		return false, fmt.Errorf("challenge: nonce: %w", err)
	}
	salt, err := hex.DecodeString(p.Salt)
	if err != nil {
		return false, fmt.Errorf("challenge: salt: %w", err)
	}
	key, err := scrypt.Key(binary.BigEndian.AppendUint32(nonce, counter), salt, p.Cost, p.MemoryCost, p.Parallelism, p.KeyLength)
	if err != nil {
		return false, fmt.Errorf("challenge: derive: %w", err)
	}
	return strings.HasPrefix(hex.EncodeToString(key), p.KeyPrefix), nil
}

// Solve does the work on one core, and returns what a join has to show. It takes some seconds; the error is that of ctx, or says
// that the challenge cannot be read.
func Solve(ctx context.Context, w Work) (string, error) {
	for counter := range uint32(math.MaxUint32) {
		if ctx.Err() != nil {
			break
		}
		switch found, err := w.Parameters.derives(counter); {
		case err != nil:
			return "", err
		case found:
			return encode(payload{Challenge: w, Solution: &solution{Counter: counter}})
		}
	}
	return "", fmt.Errorf("challenge: solve: %w", context.Cause(ctx))
}

// Unsolved is what a join shows that cannot do the work, where the zone's settings let such visitors in after a while.
func Unsolved(w Work) (string, error) { return encode(payload{Challenge: w}) }

func encode(p payload) (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("challenge: encode: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// decode reads what a join shows.
func decode(text string) (p payload, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

// Solved reports whether what a join shows is this work, solved. It takes one derivation.
func Solved(w Work, shown string) bool {
	p, err := decode(shown)
	if err != nil || p.Challenge != w || p.Solution == nil {
		return false
	}
	fits, err := w.Parameters.derives(p.Solution.Counter)
	return fits && err == nil
}
