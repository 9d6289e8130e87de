package pass

import (
	"crypto"
	"io"
	"sync/atomic"

	"github.com/google/uuid"
)

// JTI is what the pass of the grant has.
func JTI(g Grant) uuid.UUID { return g.jti() }

// CountSignatures counts how often the newest key signs from now on.
func CountSignatures(s *Signer) *atomic.Int64 {
	key := &counting{Signer: s.newest.private}
	s.newest.private = key
	return &key.signed
}

type counting struct {
	crypto.Signer

	signed atomic.Int64
}

func (c *counting) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	c.signed.Add(1)
	return c.Signer.Sign(rand, digest, opts)
}
