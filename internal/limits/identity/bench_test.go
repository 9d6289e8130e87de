package identity_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// BenchmarkFind measures Find, by the algorithm of the token, and without a token.
func BenchmarkFind(b *testing.B) {
	s := signers()
	f := finder(b, identity.FinderOptions{
		JWKS: file(b, keySet(b, "rsa", "p256", "ed")), APIKeys: file(b, ""), Now: func() time.Time { return now },
	})
	for name, header := range map[string][]string{
		"RS256":          {"Authorization", "Bearer " + sign(b, jwt.SigningMethodRS256, s["rsa"], good(), "kid", "rsa")},
		"ES256":          {"Authorization", "Bearer " + sign(b, jwt.SigningMethodES256, s["p256"], good(), "kid", "p256")},
		"EdDSA":          {"Authorization", "Bearer " + sign(b, jwt.SigningMethodEdDSA, s["ed"], good(), "kid", "ed")},
		"a stranger's":   {"Authorization", "Bearer " + sign(b, jwt.SigningMethodES256, s["stranger"], good(), "kid", "p256")},
		"an unknown key": {"X-API-Key", "unknown"},
		"an address":     nil,
	} {
		b.Run(name, func(b *testing.B) {
			r := request(header...)
			b.ReportAllocs()
			for b.Loop() {
				f.Find(r, all)
			}
		})
	}
}
