package admissionlog

import (
	"crypto/sha256"
	"encoding/base64"
)

// Kinds of lines.
const (
	// Begin is the first line of a file. End, and the head after it, are the last of a run that ended in order.
	Begin = "begin"
	End   = "end"
	// Head has a signature over all lines before it.
	Head = "head"
	// Gap stands where lines were lost: Count of them.
	Gap = "gap"
	// Joined: a place was taken. A visitor who is let straight in has only the line Admitted. A join that is repeated in the millisecond of
	// the arrival, at this server or another, writes the line again: the store's answer does not tell the two apart.
	Joined = "joined"
	// Admitted: the store let the visitor in, or, if Local, this server by itself.
	Admitted = "admitted"
	// Repeated: the visitor was told again of an admission. The answer that told it first may have been lost.
	Repeated = "repeated"
	// Returned: a visitor whose turn it was had missed it, or was set aside, and has come back: it waits, or the line of its admission follows.
	Returned = "returned"
	// Left: the visitor gave the place up, or ended the admission; or an operator did (Reason ByOperator). The time is by the server's clock.
	Left = "left"
	// Refused: so many requests (Count) of the zone were refused since the line before, for the reason.
	Refused = "refused"
	// InForce: the settings of the zone that this server goes by from now on.
	InForce = "settings"
	// Counted: what the store has counted in the zone.
	Counted = "totals"
)

// ByOperator is the reason of a Left that an operator caused.
const ByOperator = "operator"

// HeadType is the type (typ) of a head's JWT.
const HeadType = "admissions-head+jwt"

// Line is one line. What a kind does not have is absent.
type Line struct {
	Kind string `json:"kind"`
	// At is in Unix milliseconds: on the zone's clock in lines of a zone, else on the server's.
	At   int64  `json:"at"`
	Zone string `json:"zone,omitempty"`
	// Who is the visitor's pseudonym. The same visitor has another for an arrival on another day (UTC).
	Who string `json:"who,omitempty"`
	// Arrived is the arrival in Unix microseconds, Score where a draw has placed the visitor instead.
	Arrived int64 `json:"arrived,omitempty"`
	Score   int64 `json:"score,omitempty"`
	// Ticket is that of the draw, in hexadecimal, as its public list has it.
	Ticket string `json:"ticket,omitempty"`
	// Number is the running number of the admission, which the store counts in the data that Data names. Data changes whenever the store
	// has lost something; then the numbers may begin at an earlier one.
	Number int64  `json:"number,omitempty"`
	Data   string `json:"data,omitempty"`
	// Due is when an admitted visitor had been told to poll, in Unix milliseconds.
	Due int64 `json:"due,omitempty"`
	// Network is the AS number, or the pseudonym of the prefix.
	Network string `json:"network,omitempty"`
	Local   bool   `json:"local,omitempty"`
	// Reason is the code of a refusal, or ByOperator.
	Reason string `json:"reason,omitempty"`
	Count  int64  `json:"count,omitempty"`

	Settings *Settings `json:"settings,omitempty"`
	Totals   *Totals   `json:"totals,omitempty"`

	// Run and Part are of Begin; Version is the server's, and Prev the hash at which a further file goes on.
	Run     string `json:"run,omitempty"`
	Part    int    `json:"part,omitempty"`
	Version string `json:"version,omitempty"`
	Prev    string `json:"prev,omitempty"`
	// JWS is of Head.
	JWS string `json:"jws,omitempty"`

	// Hash is of a Head that was read: the hash before the line. File and Row say where any line stands.
	Hash string `json:"-"`
	File string `json:"-"`
	Row  int    `json:"-"`
}

// Settings are those that say who may enter.
type Settings struct {
	PerMinute     int64  `json:"perMinute"`
	WindowSeconds int64  `json:"windowSeconds"`
	Burst         int64  `json:"burst,omitempty"`
	MaxInside     int64  `json:"maxInside,omitempty"`
	Mode          string `json:"mode"`
}

// Totals are what the store has counted since the zone's data began, and how many wait and are inside now.
type Totals struct {
	Joined   int64 `json:"joined"`
	Admitted int64 `json:"admitted"`
	Left     int64 `json:"left"`
	Swept    int64 `json:"swept"`
	SetAside int64 `json:"setAside"`
	Returned int64 `json:"returned"`
	Waiting  int64 `json:"waiting"`
	Inside   int64 `json:"inside"`
}

// HeadClaims are what a head says.
type HeadClaims struct {
	Run  string `json:"run"`
	At   int64  `json:"at"`
	Hash string `json:"hash"`
}

// Chain is the hash after a line; the zero value is that of before the first.
type Chain [sha256.Size]byte

// Next is the hash after one more line, without its line break.
func (c Chain) Next(line []byte) (next Chain) {
	h := sha256.New()
	h.Write(c[:])
	h.Write(line)
	h.Sum(next[:0])
	return next
}

// String is the hash in base64url.
func (c Chain) String() string { return base64.RawURLEncoding.EncodeToString(c[:]) }
