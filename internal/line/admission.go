package line

import (
	"crypto/sha256"
	"encoding/binary"
)

// Admission is one admission to a zone.
type Admission struct {
	// ID is the visitor's.
	ID ID
	// AtMillis is when it was given, in Unix milliseconds of the zone's clock.
	AtMillis int64
}

// jtiVersion marks a UUID whose bits have a meaning of our own (RFC 9562, section 5.8).
const jtiVersion = 8

// JTI is the admission's name in a pass: a UUID with the time (48 bits), 10 bits that depend on the zone, and the
// visitor's id (64 bits). The same admission always has the same, and different ones have different ones.
func (a Admission) JTI(zoneID string) (jti [16]byte) {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte(zoneID+"\x00"), uint64(a.AtMillis)), a.ID[:]...))
	id := binary.BigEndian.Uint64(a.ID[:])
	mark := uint64(binary.BigEndian.Uint16(sum[:]) & 0x3ff)
	binary.BigEndian.PutUint64(jti[:], uint64(a.AtMillis)<<16|jtiVersion<<12|mark<<2|id>>62)
	binary.BigEndian.PutUint64(jti[8:], 1<<63|id&(1<<62-1))
	return jti
}

// AdmissionOf returns the admission to the zone that a JTI names; false for what is none.
func AdmissionOf(zoneID string, jti [16]byte) (a Admission, ok bool) {
	high, low := binary.BigEndian.Uint64(jti[:]), binary.BigEndian.Uint64(jti[8:])
	a.AtMillis = int64(high >> 16)
	binary.BigEndian.PutUint64(a.ID[:], high<<62|low&(1<<62-1))
	return a, a.JTI(zoneID) == jti
}

// Stay is what a server tells a store of an admission.
type Stay struct {
	Admission
	// LeftMillis is how much longer its session lasts, at least; 0 if it is over: Done.
	LeftMillis int64
	// Named says that the admission is only named, by its JTI: if the store does not know it, nothing is done. Any other
	// was seen in a session or pass that a server has signed.
	Named bool
	// Begins says that its session begins with this, by a pass. Just after a loss of data the store cannot know whether the
	// admission was done before, until servers have told it.
	Begins bool
	// Moved says that the visit goes on under this admission, in the slot of the one that the visitor was given a millisecond
	// before, which ends: see package ticket. If neither is inside, nothing is done, and the answer is StayOver. Begins is false then.
	Moved bool
	// Before says of one that is over that it was so before the latest loss of data: so it was not among those who may have
	// been inside then.
	Before bool
}

// Session is a session that asked a server. Times are Unix milliseconds of that server's clock.
type Session struct {
	// JTI: see Admission.JTI.
	JTI              string `json:"jti" format:"uuid" doc:"The name of the admission. The pass has the same."`
	AdmittedAtMillis int64  `json:"admittedAt" doc:"When it was admitted, Unix milliseconds of the zone's clock."`
	SinceMillis      int64  `json:"since" doc:"When it first asked this server, Unix milliseconds of the server's clock."`
	AskedMillis      int64  `json:"askedAt" doc:"When it last asked this server."`
	UntilMillis      int64  `json:"until" doc:"Until when it lasts."`
	Renewed          bool   `json:"renewed" doc:"Whether it was renewed at this server."`
}

// StayStatus is what a store answers of each Stay.
type StayStatus uint8

const (
	// StayUnknown: the admission was only named, and is not inside; or its session begins too soon after a loss. Nothing was done.
	StayUnknown StayStatus = iota
	// StayInside: the admission is inside.
	StayInside
	// StayOver: the admission is done, by this call or before. Its session is to be refused.
	StayOver
)

// SessionReport is what a server reports to the store of the sessions of those inside.
type SessionReport struct {
	Stays []Stay
	// SinceMillis is up to when the server knows which admissions were done: Next of the latest answer.
	SinceMillis int64
	// LostAtMillis is the loss, as State has it, for which Lost says how many may have been inside, by what the server had
	// heard before; 0 for none.
	LostAtMillis, Lost int64
}

// SessionReply is what the store answers to a SessionReport.
type SessionReply struct {
	State State
	// Statuses has one for each Stay.
	Statuses []StayStatus
	// Over are admissions that were done since SinceMillis, some perhaps again.
	Over []Admission
	// NextMillis is SinceMillis for the next call.
	NextMillis int64
}
