package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/simulate"
)

// demoCommand is queue-server demo: a simulated crowd, watched.
type demoCommand struct {
	crowdFlags
	Frame time.Duration `default:"45ms" help:"How long a simulated second takes."`
}

const (
	barWidth = 50
	// frameLines is how many lines a frame has, to go back over.
	frameLines = 9
	// plainEvery is how many simulated seconds lie between two lines where
	// there is no terminal to draw on.
	plainEvery = 30
)

// Run shows the crowd going through, then what the room did.
func (c demoCommand) Run(ctx context.Context, out io.Writer) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%d visitors in %s, %d a minute are let in, %g %% will leave silently.\n\n",
		c.Visitors, c.Arrive, c.PerMinute, c.Leave)
	d := demo{out: out, crowd: int64(c.Visitors), live: isTerminal(out), frame: c.Frame}
	cfg.Progress = func(m simulate.Moment) { d.show(ctx, m) }
	report, err := simulate.Run(ctx, cfg)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	return report.Print(out)
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// demo draws one frame a simulated second.
type demo struct {
	out   io.Writer
	crowd int64
	live  bool
	frame time.Duration
	drawn bool
}

func (d *demo) show(ctx context.Context, m simulate.Moment) {
	if !d.live {
		if m.At%(plainEvery*time.Second) == 0 {
			_, _ = fmt.Fprintf(d.out, "%6s  waiting %6d  admitted %6d  left %6d  window %4d/%d  last in line waits %s\n",
				m.At, m.Waiting, m.Admitted, m.Left, m.InWindow, m.WindowLimit, estimateOf(m))
		}
		return
	}
	if d.drawn {
		_, _ = fmt.Fprintf(d.out, "\x1b[%dA", frameLines)
	}
	d.drawn = true
	_, _ = io.WriteString(d.out, d.picture(m))
	select {
	case <-ctx.Done():
	case <-time.After(d.frame):
	}
}

// picture is one frame: frameLines lines, each of which clears what was there.
func (d *demo) picture(m simulate.Moment) string {
	var b strings.Builder
	row := func(format string, a ...any) { fmt.Fprintf(&b, "  "+format+"\x1b[K\n", a...) }
	row("\x1b[1m%-10s\x1b[0m since the doors opened", m.At)
	row("")
	row("waiting   %s %6d", bar(m.Waiting, d.crowd, "36"), m.Waiting)
	row("window    %s %6d of %d", bar(m.InWindow, m.WindowLimit, "32"), m.InWindow, m.WindowLimit)
	row("admitted  %s %6d", bar(int64(m.Admitted), d.crowd, "32"), m.Admitted)
	row("left      %s %6d", bar(int64(m.Left), d.crowd, "90"), m.Left)
	row("")
	row("near the door %d, on time %d of them", m.Released, m.Live)
	row("who joins now is told to expect %s", estimateOf(m))
	return b.String()
}

func estimateOf(m simulate.Moment) time.Duration {
	return (time.Duration(m.EstimateLastMillis) * time.Millisecond).Round(time.Second)
}

// bar draws a share of barWidth, in a colour that only repeats what the figure
// beside it says.
func bar(part, whole int64, colour string) string {
	n := 0
	if whole > 0 {
		n = int(min(barWidth, (part*barWidth+whole-1)/whole))
	}
	return "\x1b[" + colour + "m" + strings.Repeat("█", n) + "\x1b[90m" + strings.Repeat("·", barWidth-n) + "\x1b[0m"
}
