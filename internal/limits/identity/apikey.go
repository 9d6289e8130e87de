package identity

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// AnyAPIKey, in place of a file, believes every API key: for a gateway that has
// checked it. Where clients are not checked before, each request can have a key
// of its own, and there is no limit.
const AnyAPIKey = "any"

// keyHeader is the header that carries the key.
const keyHeader = "X-API-Key"

// Bounds of API keys.
const (
	// maxAPIKey is above what anybody makes; longer ones are not hashed.
	maxAPIKey = 512
	// maxKeyFile bounds the list: some 200,000 keys.
	maxKeyFile = 16 << 20
	// hashChars of the key's hash tell it apart: 132 bits.
	hashChars = 22
)

// ErrAPIKeys is wrapped by what is wrong with a list of API keys.
var ErrAPIKeys = errors.New("identity: unusable list of API keys")

// apiKeys are the known keys, as SHA-256, each with its tier or "".
type apiKeys map[[sha256.Size]byte]string

// parseAPIKeys reads a list: on each line the SHA-256 of a key in hexadecimal, and
// its tier if it has one. # begins a comment.
func parseAPIKeys(text []byte) (apiKeys, error) {
	keys := make(apiKeys)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var sum [sha256.Size]byte
		if raw, err := hex.DecodeString(fields[0]); err != nil || copy(sum[:], raw) != len(sum) || len(raw) != len(sum) {
			return nil, fmt.Errorf("%w: line %d: no SHA-256 in hexadecimal", ErrAPIKeys, n)
		}
		tier := ""
		if len(fields) > 1 {
			tier = fields[1]
		}
		if len(fields) > 2 || tier != "" && !limit.ValidName(tier) {
			return nil, fmt.Errorf("%w: line %d: want the hash and at most a tier", ErrAPIKeys, n)
		}
		keys[sum] = tier
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAPIKeys, err)
	}
	return keys, nil
}

// byAPIKey finds who asks by the header, if that key is known.
func (f *Finder) byAPIKey(r *http.Request) (Identity, bool) {
	key := r.Header.Get(keyHeader)
	if key == "" || len(key) > maxAPIKey {
		return Identity{}, false
	}
	sum := sha256.Sum256([]byte(key))
	tier := ""
	if f.options.APIKeys != AnyAPIKey {
		known := f.apiKeys.Load()
		if known == nil {
			return Identity{}, false
		}
		var is bool
		if tier, is = (*known)[sum]; !is {
			return Identity{}, false
		}
	}
	return Identity{Key: "apikey:" + base64.RawURLEncoding.EncodeToString(sum[:])[:hashChars], Tier: tier}, true
}
