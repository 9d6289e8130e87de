package token

import (
	"crypto/hmac"
	"encoding/binary"
	"time"
)

// Where the parts of a session lie: see doc.go.
const (
	sessionVersion = 1
	admissionAt    = 1
	begunAt        = 17
	issuedAt       = 25
	lengthAt       = 33
	signedSession  = 37
	sizeSession    = signedSession + macSize
	textSession    = (sizeSession*8 + 5) / 6

	// endOfSeconds is the first time that is too late, in Unix seconds: 2^53 microseconds.
	endOfSeconds = endOfTime / 1_000_000
	// skewSeconds is by how many seconds the clock of the server that issued a session may be ahead.
	skewSeconds = 60
)

// SessionSize is the length of a session, in characters.
const SessionSize = textSession

// Session is what a visitor who was let into a site holds.
type Session struct {
	// Admission is the jti of the pass for which the session was given.
	Admission [16]byte
	// Begun is when the visitor was admitted. Issued is when this text of the session was made: later than Begun if the
	// session was renewed. Both are in whole seconds.
	Begun, Issued time.Time
	// Length is for how long the session is good from Issued on, in whole seconds, below 2^32 s.
	Length time.Duration
}

// Good reports whether the session is good at the time now. The clock of now may be up to skewSeconds behind that of the
// issuer.
func (s *Session) Good(now time.Time) bool {
	return now.Before(s.Issued.Add(s.Length)) && !now.Add(skewSeconds*time.Second).Before(s.Issued)
}

// HalfOver reports whether half of the session's length is over: then it is to be renewed.
func (s *Session) HalfOver(now time.Time) bool { return !now.Before(s.Issued.Add(s.Length / 2)) }

// SignSession returns the session as text, under the newest secret. The same session
// has always the same text.
func (k *Keys) SignSession(zoneID string, s Session) string {
	var raw [sizeSession]byte
	raw[versionAt] = sessionVersion
	copy(raw[admissionAt:begunAt], s.Admission[:])
	binary.BigEndian.PutUint64(raw[begunAt:], uint64(s.Begun.Unix()))
	binary.BigEndian.PutUint64(raw[issuedAt:], uint64(s.Issued.Unix()))
	binary.BigEndian.PutUint32(raw[lengthAt:], uint32(s.Length/time.Second))
	code := sum(k.keys[0].session, zoneID, raw[:signedSession])
	copy(raw[signedSession:], code[:macSize])
	return encoding.EncodeToString(raw[:])
}

// VerifySession returns the session of the zone that the text carries, or ErrInvalid. It does not look at the times: see
// Session.Good.
func (k *Keys) VerifySession(zoneID, text string) (Session, error) {
	var raw [sizeSession]byte
	var in [textSession]byte
	if len(text) != textSession {
		return Session{}, ErrInvalid
	}
	if n, err := encoding.Decode(raw[:], in[:copy(in[:], text)]); err != nil || n != sizeSession || raw[versionAt] != sessionVersion {
		return Session{}, ErrInvalid
	}
	begun, issued := binary.BigEndian.Uint64(raw[begunAt:]), binary.BigEndian.Uint64(raw[issuedAt:])
	if begun >= endOfSeconds || issued >= endOfSeconds {
		return Session{}, ErrInvalid
	}
	for _, key := range k.keys {
		code := sum(key.session, zoneID, raw[:signedSession])
		if hmac.Equal(code[:macSize], raw[signedSession:]) {
			return Session{
				Admission: [16]byte(raw[admissionAt:begunAt]),
				Begun:     time.Unix(int64(begun), 0), Issued: time.Unix(int64(issued), 0),
				Length: time.Duration(binary.BigEndian.Uint32(raw[lengthAt:])) * time.Second,
			}, nil
		}
	}
	return Session{}, ErrInvalid
}
