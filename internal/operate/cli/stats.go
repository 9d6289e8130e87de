package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// stats is queue-server stats.
func (c *connection) stats() *cobra.Command {
	return show(c, "zoneStats", "stats ZONE", "One zone of a running server at this moment.", func(_ context.Context, s *session, v *operator.Stats) error {
		_, err := io.WriteString(s.Stdout, statsText(v))
		return err
	})
}

// onHold reports whether a zone admits nobody. What its window would hold, and what it told before, then say nothing.
func onHold(s *operator.Stats) bool { return s.Mode != zone.ModeOpen && s.PerMinute == 0 }

// mean is how many a second a limit is.
func mean(perMinute int64) string { return strconv.FormatFloat(float64(perMinute)/60, 'f', 1, 64) }

// statsText is a zone for people: a figure a line, aligned.
func statsText(s *operator.Stats) string {
	t := &table{}
	section := func(title string) { t.add(""); t.add(title) }
	figure := func(name, value, more string) { t.add("  "+name, value, more) }
	t.add(s.ZoneID + ": " + stateOf(s))
	section("In the line")
	figure("waiting", grouped(s.Waiting), "")
	figure("released", grouped(s.Released), "may be admitted when they poll")
	figure("overdue", grouped(s.Overdue), "released, and did not come when told to")
	expected := "expected wait"
	if r := s.EstimatedWaitRange; r != nil {
		expected += fmt.Sprintf("; %s to %s four times of five", millis(r.Low), millis(r.High))
	}
	switch {
	case s.State == zone.OpeningHeld:
		figure("one who joins now", "on hold", "nobody is admitted before the opening, which has no time yet")
	case onHold(s):
		figure("one who joins now", "on hold", "nobody is admitted at a limit of 0")
	default:
		figure("one who joins now", millis(s.EstimatedWait), expected)
	}
	section("Admitted")
	window, minute, second := "", "", "" // an open zone counts, and limits nothing
	switch {
	case s.Mode == zone.ModeOpen:
	case onHold(s):
		window, minute = "of 0", "of 0"
	default:
		window = fmt.Sprintf("of %s, %s in use", grouped(s.WindowLimit), percent(s.WindowUse))
		minute = "of " + grouped(s.PerMinute)
		second = fmt.Sprintf("at most %s in a line; the mean is %s", grouped(s.SecondLimit), mean(s.PerMinute))
	}
	figure("in this window", grouped(s.AdmittedInWindow), window)
	figure("in the last 60 s", grouped(s.AdmittedInMinute), minute)
	figure("most in a second", grouped(s.MostInSecond), second)
	if s.WaitP50Millis != nil && s.WaitP95Millis != nil {
		figure("they had waited", millis(*s.WaitP50Millis), fmt.Sprintf("median; 95 %% at most %s", millis(*s.WaitP95Millis)))
	}
	if s.MaxInside > 0 {
		section("Inside")
		figure("inside", grouped(s.Inside), "of "+grouped(s.MaxInside))
		if s.InsideUnknown > 0 {
			figure("of them unknown", grouped(s.InsideUnknown), "may be inside: data was lost")
		}
		if s.StayP50Millis > 0 {
			figure("they had stayed", millis(s.StayP50Millis), fmt.Sprintf("median; 95 %% at most %s", millis(s.StayP95Millis)))
		}
	}
	if s.JoinsPerMinute != nil {
		section("People a minute, on average over the last 60 s")
		figure("joined", whole(s.JoinsPerMinute), "")
		figure("admitted", whole(s.AdmittedPerMinute), "")
		figure("left", whole(s.DeparturesPerMinute), "said so")
		figure("swept", whole(s.SweptPerMinute), "went away silently")
		section("Requests, over the last 60 s")
		figure("refused a minute", whole(s.RefusedPerMinute), "by this server")
		figure("polls a second", rate(s.PollsPerSecond), "")
	}
	section("Since the zone's data began")
	for _, x := range line.TotalTable {
		figure(x.Words, grouped(*x.At(&s.Totals)), x.Note)
	}
	return strings.Join(t.lines(), "\n") + "\n"
}
