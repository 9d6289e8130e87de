package zone

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openqueue/waitingroom/internal/setting"
)

// PerSecond says how many may enter in any 1,000 ms while there is a line: a number, or
// one of the two below.
type PerSecond int64

// What is no number.
const (
	// PerSecondAuto is 1.25 times the mean of the limit, rounded up.
	PerSecondAuto PerSecond = 0
	// PerSecondNone is as many as the window allows.
	PerSecondNone PerSecond = -1
)

// MaxMaxPerSecond is the mean of the highest limit.
const MaxMaxPerSecond = MaxPerMinute / 60

var errPerSecond = errors.New("must be " + PerSecond(0).Kind())

// Kind names what a value must be.
func (PerSecond) Kind() string { return "auto, none or a whole number" }

// String is the value as UnmarshalText takes it.
func (p PerSecond) String() string {
	switch p {
	case PerSecondAuto:
		return "auto"
	case PerSecondNone:
		return "none"
	default:
		return strconv.FormatInt(int64(p), 10)
	}
}

// UnmarshalText reads auto, none or a number. Validate knows the bounds.
func (p *PerSecond) UnmarshalText(text []byte) error {
	switch strings.TrimSpace(string(text)) {
	case PerSecondAuto.String():
		*p = PerSecondAuto
	case PerSecondNone.String():
		*p = PerSecondNone
	default:
		n, err := setting.Number(string(text))
		if err != nil || n < 1 {
			return errPerSecond
		}
		*p = PerSecond(n)
	}
	return nil
}

// MarshalJSON writes a word as a string, a number as one.
func (p PerSecond) MarshalJSON() ([]byte, error) {
	if p > 0 {
		return []byte(p.String()), nil
	}
	return json.Marshal(p.String())
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *PerSecond) UnmarshalJSON(b []byte) error {
	var word string
	if json.Unmarshal(b, &word) == nil && (word == "auto" || word == "none") {
		b = []byte(word)
	}
	return p.UnmarshalText(b)
}

func (s Settings) perSecondFault() string {
	if s.MaxPerSecond < PerSecondNone || s.MaxPerSecond > MaxMaxPerSecond {
		return fmt.Sprintf("is %d, must be auto, none or between 1 and %d", s.MaxPerSecond, MaxMaxPerSecond)
	}
	return ""
}

func (s Settings) sayPerSecond() string {
	if s.MaxPerSecond > 0 {
		return setting.Count(int64(s.MaxPerSecond)) + " a second"
	}
	return s.MaxPerSecond.String()
}
