package change

import (
	"fmt"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/setting"
)

// Say is one sentence of what a change does.
type Say struct {
	Text string
	// At, if it is not zero, comes between Text and Tail. Full has it with its day.
	At   time.Time
	Tail string
	Full bool
	// Warn marks what an operator must not overlook.
	Warn bool
}

// String is the sentence as plain text, with its time in UTC.
func (s Say) String() string {
	text := s.Text
	if !s.At.IsZero() {
		if text != "" {
			text += " "
		}
		text += s.At.UTC().Format("Mon 2 Jan 2006 15:04:05 UTC")
	}
	if text += s.Tail; s.Warn {
		return "MIND: " + text
	}
	return text
}

// Says are sentences.
type Says []Say

// String is each sentence on a line.
func (s Says) String() string {
	var b strings.Builder
	for _, one := range s {
		b.WriteString(one.String() + "\n")
	}
	return b.String()
}

// Add adds a sentence.
func (s *Says) Add(format string, a ...any) { *s = append(*s, Say{Text: fmt.Sprintf(format, a...)}) }

// Warn adds a sentence that an operator must not overlook.
func (s *Says) Warn(format string, a ...any) {
	*s = append(*s, Say{Text: fmt.Sprintf(format, a...), Warn: true})
}

// AddAt adds a sentence that has the time before its tail.
func (s *Says) AddAt(at time.Time, tail, format string, a ...any) {
	*s = append(*s, Say{Text: fmt.Sprintf(format, a...), At: at, Tail: tail})
}

// Until writes how long something is away: 42 s, 4 min 20 s, 4 h 05 min, 3 d 4 h. The console's script (countdown.js)
// does the same.
func Until(d time.Duration) string {
	const minute, hour, day = 60, 3_600, 86_400
	switch s := (d.Milliseconds() + 999) / 1000; {
	case s <= 0:
		return "now"
	case s < minute:
		return fmt.Sprintf("%d s", s)
	case s < hour:
		return fmt.Sprintf("%d min %02d s", s/minute, s%minute)
	case s < day:
		return fmt.Sprintf("%d h %02d min", s/hour, s%hour/minute)
	default:
		return fmt.Sprintf("%d d %d h", s/day, s%day/hour)
	}
}

func count(n int64) string   { return setting.Count(n) }
func seconds(n int64) string { return count(n) + " s" }
