package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/zone"
)

// observe is queue-server observe.
func (c *connection) observe() *cobra.Command {
	return show(c, "observedRequests", "observe ZONE", "What the gate would have had wait or refused, and what to bypass.", func(ctx context.Context, s *session, seen *observed.List) error {
		is, err := get[zone.Settings](ctx, s, "getZone", seen.ZoneID)
		if err != nil {
			return err
		}
		t := &table{titles: []string{"REQUESTS", "METHOD", "PATH", "BY", "IN A LINE"}}
		for _, k := range seen.Kinds {
			t.add(grouped(k.Requests), k.Method, k.Path, k.Agent, string(k.Would))
		}
		if err := s.print(t); err != nil {
			return err
		}
		if seen.Forgotten > 0 {
			s.say("%s requests of rarer kinds are forgotten.", grouped(seen.Forgotten))
		}
		for _, one := range seen.Suggestions {
			s.say("%s", one.String())
		}
		if line := seen.Line(is.Value.BypassPaths, is.Value.BypassAgents); line != "" {
			s.say("Leave out what is no such request, and set: queue-server zones set %s %s", seen.ZoneID, line)
		}
		switch {
		case is.Value.SiteGate != zone.GateObserve:
			s.say("The gate is on. To observe: queue-server zones set %s gate=observe", seen.ZoneID)
		default:
			s.say("The gate refuses nobody. This server keeps what it was asked itself; other servers keep their own. To begin: queue-server zones set %s gate=on", seen.ZoneID)
		}
		return nil
	})
}
