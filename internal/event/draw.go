package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// Seed is the secret that a draw follows from. It is published at the opening.
type Seed [32]byte

// Commitment is the SHA-256 of the seed, in hexadecimal.
func (s Seed) Commitment() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// Ticket is what the published list of a draw has for a visitor.
type Ticket [16]byte

// TicketOf is the ticket of the visitor with the id. The id is in the visitor's token; without the id, a ticket says
// nothing of whose it is.
func TicketOf(zoneID, event string, id [8]byte) (t Ticket) {
	b := append(append([]byte(zoneID), 0), event...)
	b = append(append(b, 0), id[:]...)
	sum := sha256.Sum256(b)
	copy(t[:], sum[:])
	return t
}

// Draw is what is public of a draw before the opening.
type Draw struct {
	Event string `json:"event"`
	// OpensAtMillis is when its occurrence opens, Unix milliseconds.
	OpensAtMillis int64 `json:"opensAt"`
	// Nonce has 32 hexadecimal digits. The seed is made of it and of the servers' secret. Commitment is the
	// commitment of that seed.
	Nonce      string `json:"nonce"`
	Commitment string `json:"commitment"`
	// The drawn places have scores from FromMicros on and before UptoMicros. They are the places of visitors who
	// joined from GathersAtMillis on and before SettlesAtMillis. No two draws of a zone have the same range.
	FromMicros      int64 `json:"fromMicros"`
	UptoMicros      int64 `json:"uptoMicros"`
	GathersAtMillis int64 `json:"gathersAt"`
	SettlesAtMillis int64 `json:"settlesAt"`
}

// Holds reports whether a visitor with that arrival is drawn.
func (d *Draw) Holds(arrivedAtMicros int64) bool {
	return arrivedAtMicros/1000 >= d.GathersAtMillis && arrivedAtMicros/1000 < d.SettlesAtMillis
}

// Drawn is the score that a draw gives a visitor, with the draw's range, by which a store knows the draw.
type Drawn struct{ ScoreMicros, FromMicros, UptoMicros int64 }

// Drawn is Score, with the range.
func (d *Draw) Drawn(seed Seed, t Ticket) Drawn {
	return Drawn{ScoreMicros: d.Score(seed, t), FromMicros: d.FromMicros, UptoMicros: d.UptoMicros}
}

// Score is the score of the place of the visitor with that ticket, by the formula in the package's documentation.
func (d *Draw) Score(seed Seed, t Ticket) int64 {
	mac := hmac.New(sha256.New, seed[:])
	mac.Write(t[:])
	h := binary.BigEndian.Uint64(mac.Sum(nil))
	part, _ := bits.Mul64(h, uint64(d.UptoMicros-d.FromMicros))
	return d.FromMicros + int64(part)
}
