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

// Draw is what is public of a draw before the opening. Whoever joined from GathersAtMillis on and before SettlesAtMillis is drawn, and has
// a score from FromMicros on and before UptoMicros. No two draws of a zone have the same range.
type Draw struct {
	Event           string `json:"event" doc:"The event's name." example:"noon"`
	OpensAtMillis   int64  `json:"opensAt" doc:"When it opens, Unix milliseconds." example:"1795262400000"`
	Nonce           string `json:"nonce" pattern:"^[0-9a-f]{32}$" doc:"From it and the servers' secret the seed is made." example:"00112233445566778899aabbccddeeff"`
	Commitment      string `json:"commitment" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the seed." example:"66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"`
	FromMicros      int64  `json:"fromMicros" doc:"Where the drawn places begin in the line, Unix microseconds." example:"1795258800000000"`
	UptoMicros      int64  `json:"uptoMicros" doc:"Where they end." example:"1795262370000000"`
	GathersAtMillis int64  `json:"gathersAt" doc:"From when on people gather, Unix milliseconds." example:"1795258800000"`
	SettlesAtMillis int64  `json:"settlesAt" doc:"When the draw closes, Unix milliseconds." example:"1795262370000"`
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
