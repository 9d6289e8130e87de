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
		return "WARNING: " + text
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

// Until writes how long something is away, in whole seconds that begin.
func Until(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return setting.Span((d + time.Second - 1).Truncate(time.Second))
}

func count(n int64) string   { return setting.Count(n) }
func seconds(n int64) string { return count(n) + " s" }
