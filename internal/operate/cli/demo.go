package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

const (
	// barWidth is made for a terminal of 80 columns.
	barWidth = 48
	// plainEvery is how many simulated seconds lie between two lines where
	// there is no terminal to draw on.
	plainEvery = 20
	// frame is how long a simulated second takes on a terminal: a run of ten minutes is shown in half a minute.
	frame = 45 * time.Millisecond
)

// How a terminal writes (ECMA-48).
const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	grey  = "\x1b[90m"
	plain = "\x1b[0m"
)

// demoCommand is queue-server demo: it shows a simulated crowd going through, then
// what the room did.
func demoCommand(t *Terminal) *cobra.Command {
	var f crowdFlags
	return f.command("demo", "Watch a simulated crowd go through the room.", func(cmd *cobra.Command) error {
		if err := f.read(); err != nil {
			return err
		}
		t.say("%d visitors come within %s, %d a minute are let in, %g %% leave silently.\n",
			f.Visitors, f.Arrive, f.Zone.PerMinute, f.leave)
		d := demo{Terminal: t, crowd: f.Visitors}
		_, _, d.live = t.size()
		f.Progress = func(m simulate.Moment) { d.show(cmd.Context(), m) }
		report, err := simulate.Run(cmd.Context(), f.Config)
		if err != nil {
			return err
		}
		t.say("")
		return report.Print(t.Stdout)
	})
}

// demo draws one frame a simulated second.
type demo struct {
	*Terminal
	crowd int
	live  bool
}

func (d *demo) show(ctx context.Context, m simulate.Moment) {
	if !d.live {
		if m.At%(plainEvery*time.Second) == 0 {
			d.say("%6s  in %6d  waiting %6d  left %6d  window %d of %d  who joins now waits %s",
				m.At, m.Admitted, m.Present, m.Left, m.State.InWindow, m.State.WindowLimit, estimateOf(m))
		}
		return
	}
	_, _ = io.WriteString(d.Stdout, clearScreen+strings.Join(d.picture(m), "\n")+"\n")
	select {
	case <-ctx.Done():
	case <-time.After(frame):
	}
}

// picture is one frame. Colours only repeat what the figures say.
func (d *demo) picture(m simulate.Moment) (lines []string) {
	row := func(format string, a ...any) { lines = append(lines, "  "+fmt.Sprintf(format, a...)) }
	row("%s%s%s since it opened", bold, m.At, plain)
	row("")
	row("the crowd  %s", bar(d.crowd, part{m.Admitted, green}, part{m.Present, cyan}, part{m.Left, grey}))
	row("           %s■%s in %-7d %s■%s waiting %-7d %s■%s left %d",
		green, plain, m.Admitted, cyan, plain, m.Present, grey, plain, m.Left)
	row("")
	row("window     %s %d of %d", bar(int(m.State.WindowLimit), part{int(m.State.InWindow), green}), m.State.InWindow, m.State.WindowLimit)
	row("")
	row("in line    %d places, %d of them left behind and not yet noticed", m.State.Waiting, m.State.Waiting-int64(m.Present))
	row("           %d of them near the front, %d on time", m.State.Released, m.State.Live)
	row("           who joins now is told to expect %s", estimateOf(m))
	return lines
}

func estimateOf(m simulate.Moment) time.Duration {
	return (time.Duration(m.EstimateMillis) * time.Millisecond).Round(time.Second)
}

// part is a share of a bar.
type part struct {
	n      int
	colour string
}

// bar draws parts of a whole in barWidth cells. Each boundary is rounded by
// itself, so that the parts together are as long as their sum.
func bar(whole int, parts ...part) string {
	var b strings.Builder
	sum, at := 0, 0
	for _, p := range parts {
		sum += p.n
		to := min(barWidth, (sum*barWidth+whole/2)/max(1, whole))
		b.WriteString(p.colour + strings.Repeat("█", to-at))
		at = to
	}
	b.WriteString(grey + strings.Repeat("·", barWidth-at) + plain)
	return b.String()
}
