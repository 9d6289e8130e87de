package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// Seed is what a draw follows from. It is nobody's before the opening.
type Seed [32]byte

// Commitment is the SHA-256 of the seed, in hexadecimal.
func (s Seed) Commitment() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// Ticket stands for a visitor in the published list.
type Ticket [16]byte

// TicketOf is that of the visitor with the id. It names the visitor to nobody who does not
// know the id, which is in the visitor's token.
func TicketOf(zoneID, event string, id [8]byte) (t Ticket) {
	b := append(append([]byte(zoneID), 0), event...)
	b = append(append(b, 0), id[:]...)
	sum := sha256.Sum256(b)
	copy(t[:], sum[:])
	return t
}

// Draw is all of a draw that is public before it opens.
type Draw struct {
	Event string `json:"event"`
	// OpensAtMillis is when its occurrence opens, Unix milliseconds.
	OpensAtMillis int64 `json:"opensAt"`
	// Nonce is 32 hexadecimal digits from which, and from the servers' secret, the seed
	// is made. Commitment is the seed's.
	Nonce      string `json:"nonce"`
	Commitment string `json:"commitment"`
	// FromMicros up to UptoMicros is where the drawn places lie in the line. They are
	// those of who joined from GathersAtMillis on and before SettlesAtMillis.
	FromMicros      int64 `json:"fromMicros"`
	UptoMicros      int64 `json:"uptoMicros"`
	GathersAtMillis int64 `json:"gathersAt"`
	SettlesAtMillis int64 `json:"settlesAt"`
}

// Holds reports whether one who arrived then is drawn.
func (d *Draw) Holds(arrivedAtMicros int64) bool {
	return arrivedAtMicros/1000 >= d.GathersAtMillis && arrivedAtMicros/1000 < d.SettlesAtMillis
}

// Score is where the visitor with that ticket stands. See the package's formula.
func (d *Draw) Score(seed Seed, t Ticket) int64 {
	mac := hmac.New(sha256.New, seed[:])
	mac.Write(t[:])
	h := binary.BigEndian.Uint64(mac.Sum(nil))
	part, _ := bits.Mul64(h, uint64(d.UptoMicros-d.FromMicros))
	return d.FromMicros + int64(part)
}
