package token

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/openqueue/waitingroom/internal/event"
)

// Commit returns a new nonce for a draw, and the commitment to the seed that follows from it and the newest secret.
func (k *Keys) Commit(zoneID string) (nonce, commitment string) {
	var random [16]byte
	rand.Read(random[:]) // never fails: it ends the program instead
	nonce = hex.EncodeToString(random[:])
	return nonce, seed(k.keys[0], zoneID, nonce).Commitment()
}

// Seed returns the seed of a draw; ok is false if the seed was made from a secret that k does not have.
func (k *Keys) Seed(zoneID string, d event.Draw) (s event.Seed, ok bool) {
	for _, key := range k.keys {
		if s = seed(key, zoneID, d.Nonce); s.Commitment() == d.Commitment {
			return s, true
		}
	}
	return event.Seed{}, false
}

func seed(k *key, zoneID, nonce string) event.Seed { return event.Seed(sum(k.draw, zoneID, nonce)) }
