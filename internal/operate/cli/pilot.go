package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/steer"
)

// pilot is queue-server pilot.
func (c *connection) pilot() *cobra.Command {
	return show(c, "zonePilot", "pilot ZONE", "What the autopilot of a zone saw of the site, and its steps of the last day.", func(_ context.Context, s *session, v *steer.View) error {
		t := &table{titles: []string{"AT", "SETTING", "FROM", "TO", "WHY", "P95 MS", "ERRORS %", "INSIDE"}}
		for _, step := range v.Steps {
			of := step.Of
			if step.Advice {
				of += " (advice)"
			}
			t.add(time.UnixMilli(step.AtMillis).UTC().Format(time.DateTime), of, grouped(step.From), grouped(step.To), string(step.Why),
				fmt.Sprintf("%.0f", step.P95Millis), fmt.Sprintf("%.1f", step.ErrorPercent), grouped(step.Inside))
		}
		if err := s.print(t); err != nil {
			return err
		}
		s.say("%s", v.Sentence())
		return nil
	})
}
