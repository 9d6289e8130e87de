package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress says what is going on: one line that changes on a terminal, else a
// line for each part.
type progress struct {
	w     io.Writer
	live  bool
	began time.Time
	// part of parts is under way.
	part, parts int
	name        string
}

func newProgress(w io.Writer, parts int) *progress {
	p := &progress{w: w, began: time.Now(), parts: parts}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			p.live = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

// begin says that the next part begins.
func (p *progress) begin(format string, a ...any) {
	p.part++
	p.name = fmt.Sprintf(format, a...)
	p.line("")
	if !p.live {
		fmt.Fprintln(p.w)
	}
}

// note says how far the part is.
func (p *progress) note(format string, a ...any) {
	if p.live {
		p.line(": " + fmt.Sprintf(format, a...))
	}
}

// clearLine is ANSI: to the beginning of the line, and clear it.
const clearLine = "\r\x1b[K"

func (p *progress) line(rest string) {
	if p.live {
		fmt.Fprint(p.w, clearLine)
	}
	took := time.Since(p.began).Round(time.Second)
	fmt.Fprintf(p.w, "[%d:%02d] %2d/%d %s%s", int(took.Minutes()), int(took.Seconds())%60, p.part, p.parts, p.name, rest)
}

// end clears the line.
func (p *progress) end() {
	if p.live {
		fmt.Fprint(p.w, clearLine)
	}
}
