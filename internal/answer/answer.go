package answer

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// Answer is what one visitor is told after a join or a poll.
type Answer struct {
	// ZoneID is the zone that was asked.
	ZoneID string
	// Token is the visitor's token. It is a pure function of the zone, the place and the newest secret, so a repeated
	// call gets the same token.
	Token string
	// Pass is the proof of admission; empty while waiting.
	Pass string
	// Notice is the number of the zone's message to all who wait; 0 for none. See
	// zone.Settings.Notice.
	Notice int64
	// Event is the name of the event for which people gather or have settled; "" for none. OpensAtMillis is when it
	// opens; 0 while that is held.
	Event         string
	OpensAtMillis int64
	// Paused: the zone lets nobody in at present.
	Paused bool
	// Line is the store's answer: Waiting, Admitted or AdmittedBefore.
	Line line.Told
}

// CanEnter reports whether the visitor was admitted, now or before.
func (a *Answer) CanEnter() bool { return a.Line.Status != line.Waiting }

// RetryAfterSeconds is in how many seconds to poll again, rounded up, at least 1. It has a meaning only while waiting.
func (a *Answer) RetryAfterSeconds() int64 {
	return max(1, (a.Line.PeriodMillis+999)/1000)
}

// Waited returns how long an admitted visitor had waited since the arrival. It is never negative: a store's clock may
// have been set back meanwhile.
func Waited(a line.Told) time.Duration {
	return max(0, time.Duration(a.AdmittedAtMillis)*time.Millisecond-
		time.Duration(a.Place.ArrivedAtMicros)*time.Microsecond)
}

// AppendJSON appends the answer as the contract writes it.
func (a *Answer) AppendJSON(b []byte) []byte {
	b = appendString(b, `{"zoneId":`, a.ZoneID)
	b = appendString(b, `,"token":`, a.Token)
	b = append(a.Line.Place.ID.AppendPlaceID(append(b, `,"placeId":"`...)), '"')
	if a.CanEnter() {
		b = appendInt(b, `,"canEnter":true,"admission":{"admittedAt":`, a.Line.AdmittedAtMillis)
		b = appendInt(b, `,"expiresAt":`, a.Line.ExpiresAtMillis)
		b = appendString(b, `,"pass":`, a.Pass)
		return append(b, "}}\n"...)
	}
	b = appendInt(b, `,"canEnter":false,"waiting":{"position":`, a.Line.Position)
	// A position far from the front may be rounded up; see line.Answer.
	b = appendInt(b, `,"total":`, max(a.Line.Position, a.Line.State.Waiting))
	b = appendInt(b, `,"estimatedWait":`, a.Line.EstimateMillis)
	if a.Line.HighMillis > 0 {
		b = appendInt(b, `,"estimatedWaitRange":{"low":`, a.Line.LowMillis)
		b = appendInt(b, `,"high":`, a.Line.HighMillis)
		b = append(b, '}')
	}
	if reason := a.Line.Reason.String(); reason != "" {
		b = appendString(b, `,"reason":`, reason)
	}
	b = appendInt(b, `,"pollingPeriod":`, a.Line.PeriodMillis)
	b = appendInt(b, `,"arrivedAtMicros":`, a.Line.Place.ArrivedAtMicros)
	if a.Notice != 0 {
		b = appendInt(b, `,"notice":`, a.Notice)
	}
	if a.Paused {
		b = append(b, `,"paused":true`...)
	}
	if a.Event != "" {
		b = appendString(b, `,"event":{"name":`, a.Event)
		if a.OpensAtMillis != 0 {
			b = appendInt(b, `,"opensAt":`, a.OpensAtMillis)
			if now := a.Line.State.NowMillis; now > 0 {
				b = appendInt(b, `,"opensIn":`, max(0, a.OpensAtMillis-now))
			}
		}
		b = append(b, '}')
	}
	return append(b, "}}\n"...)
}

// appendInt appends the text that names a member, and its value.
func appendInt(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(b, name...), v, 10)
}

// appendString does so with s, as a JSON string. Zone names, tokens and passes need no escaping; a string that does is
// left to encoding/json.
func appendString(b []byte, name, s string) []byte {
	b = append(b, name...)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil { // encoding/json has no error for a string
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
