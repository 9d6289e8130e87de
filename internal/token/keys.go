package token

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
)

// MinSecretBytes is the least length of a secret: as much as the strength of
// the keys that are derived from it.
const MinSecretBytes = 32

// ErrSecret is wrapped by every error of NewKeys.
var ErrSecret = errors.New("token: unusable secret")

// The info strings that tell the uses of a secret apart.
const (
	tokenKeyInfo   = "openqueue/waitingroom/v1 token key"
	tokenKeyIDInfo = "openqueue/waitingroom/v1 token key id"
	visitorKeyInfo = "openqueue/waitingroom/v1 visitor id key"
	sessionKeyInfo = "openqueue/waitingroom/v1 session key"
	drawKeyInfo    = "openqueue/waitingroom/v1 draw key"
	workKeyInfo    = "openqueue/waitingroom/v1 challenge key"
)

// Keys sign and check tokens, and derive ids. They may be used by many
// goroutines.
type Keys struct {
	keys []*key // newest first, at least one
	// visitor turns a clientId into an id.
	visitor atomic.Pointer[mac]
	// newestAlone: no other secret has the key id of the newest, so a token with that id was signed by the newest.
	newestAlone bool
}

// key is all that is derived from one secret.
type key struct {
	id      byte
	token   *mac
	session *mac
	draw    *mac
	work    *mac
}

// NewKeys derives the keys of one or more secrets, newest first, of at least
// MinSecretBytes each, as package secret reads them. A secret that is too short, or none
// at all, is an error that wraps ErrSecret. The secrets themselves are not kept.
func NewKeys(secrets ...[]byte) (*Keys, error) {
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w: none was given", ErrSecret)
	}
	k := &Keys{keys: make([]*key, 0, len(secrets))}
	for i, secret := range secrets {
		if len(secret) < MinSecretBytes {
			return nil, fmt.Errorf("%w: number %d has %d bytes, must have at least %d",
				ErrSecret, i+1, len(secret), MinSecretBytes)
		}
		derived, err := derive(secret)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d: %w", ErrSecret, i+1, err)
		}
		k.keys = append(k.keys, derived)
	}
	visitor, err := hkdf.Key(sha256.New, secrets[0], nil, visitorKeyInfo, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	}
	k.visitor.Store(&mac{key: visitor})
	k.newestAlone = !slices.ContainsFunc(k.keys[1:], func(old *key) bool { return old.id == k.keys[0].id })
	return k, nil
}

// derive makes the keys of one secret.
func derive(secret []byte) (*key, error) {
	id, err := hkdf.Key(sha256.New, secret, nil, tokenKeyIDInfo, 1)
	if err != nil {
		return nil, err
	}
	k := &key{id: id[0]}
	for info, use := range map[string]**mac{
		tokenKeyInfo: &k.token, sessionKeyInfo: &k.session, drawKeyInfo: &k.draw, workKeyInfo: &k.work,
	} {
		derived, err := hkdf.Key(sha256.New, secret, nil, info, sha256.Size)
		if err != nil {
			return nil, err
		}
		*use = &mac{key: derived}
	}
	return k, nil
}

// VisitorKey is the key by which a clientId becomes an id: that of UseVisitorKey, else one of the newest secret.
func (k *Keys) VisitorKey() []byte { return slices.Clone(k.visitor.Load().key) }

// UseVisitorKey has ids follow from a key that does not change when the secrets do: what VisitorKey returned when it was
// first asked, on the first of all servers. Its error wraps ErrSecret.
func (k *Keys) UseVisitorKey(key []byte) error {
	if len(key) != sha256.Size {
		return fmt.Errorf("%w: the visitors' key has %d bytes, must have %d", ErrSecret, len(key), sha256.Size)
	}
	k.visitor.Store(&mac{key: slices.Clone(key)})
	return nil
}

// VisitorID returns the id that the clientID has in the zone.
func (k *Keys) VisitorID(zoneID, clientID string) line.ID {
	code := sum(k.visitor.Load(), zoneID, clientID)
	return line.ID(code[:len(line.ID{})])
}

// NewID returns an id that nobody can predict, for a visitor without a
// clientId: 64 bits of the system's secure random numbers.
func NewID() line.ID {
	var id line.ID
	rand.Read(id[:]) // never fails: it ends the program instead
	return id
}
