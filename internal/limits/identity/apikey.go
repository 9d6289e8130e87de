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

// AnyAPIKey, in place of the name of a file, makes every API key count. It is for gateways
// that check keys before they ask. Without that, a client can have another key in each
// request, and no limit.
const AnyAPIKey = "any"

// keyHeader is the header that carries the key.
const keyHeader = "X-API-Key"

// Bounds of API keys.
const (
	// maxAPIKey is the longest key in bytes. Keys in use are shorter; a longer one does not
	// count, and is not hashed.
	maxAPIKey = 512
	// maxKeyFile bounds the list of keys, in bytes: some 200,000 keys.
	maxKeyFile = 16 << 20
	// hashChars is how many base64 characters of a key's hash tell it apart: 132 bits.
	hashChars = 22
)

// ErrAPIKeys is wrapped by every error of a list of API keys.
var ErrAPIKeys = errors.New("identity: unusable list of API keys")

// apiKeys are the SHA-256 of the known keys, each with its tier or "".
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

// byAPIKey returns the identity of the API key in the header, if that is known.
func (f *Finder) byAPIKey(r *http.Request) (Identity, bool) {
	key := r.Header.Get(keyHeader)
	if key == "" || len(key) > maxAPIKey {
		return Identity{}, false
	}
	sum := sha256.Sum256([]byte(key))
	tier := ""
	if f.options.APIKeys != AnyAPIKey {
		var known bool
		if tier, known = (*f.apiKeys.Load())[sum]; !known {
			return Identity{}, false
		}
	}
	return Identity{Key: "apikey:" + base64.RawURLEncoding.EncodeToString(sum[:])[:hashChars], Tier: tier}, true
}
