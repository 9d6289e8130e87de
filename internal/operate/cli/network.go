package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
)

// networks is queue-server networks.
func (c *connection) networks() *cobra.Command {
	most := 0
	list := c.command("listNetworks", "list ZONE", "The networks with the most joins lately at this server.", func(ctx context.Context, s *session, args []string) error {
		reply, err := adminclient.Call[network.List](ctx, s.Client, adminclient.Request{ID: "listNetworks", Parts: args, Query: map[string]string{"limit": strconv.Itoa(most)}})
		if err != nil || s.json {
			return s.printReply(reply.JSON, err)
		}
		t := &table{titles: []string{"NETWORK", "JOINS", "PART", "ADMITTED", "REFUSED", "SHARE", "WHOSE"}}
		for _, n := range reply.Value.Networks {
			share := ""
			if n.Share != nil {
				share = fmt.Sprint(*n.Share, " %")
			}
			t.add(n.Network, grouped(n.Joins), fmt.Sprintf("%.1f %%", n.Part), grouped(n.Admissions), grouped(n.Refused), share, n.Name)
		}
		if err := s.print(t); err != nil {
			return err
		}
		s.say("This server counted %s joins in the last %d minutes, and refused %s. Other servers count their own.",
			grouped(reply.Value.Joins), reply.Value.Minutes, grouped(reply.Value.Refused))
		if len(reply.Value.Networks) == 0 && reply.Value.Joins > 0 {
			s.say("None of these joins has a network: they came from private addresses, or from a proxy that QUEUE_TRUSTED_PROXIES does not name.")
		}
		return nil
	})
	list.Flags().IntVar(&most, "limit", 20, "most networks to show, up to "+strconv.Itoa(operator.MaxListed))
	return group("networks", "Look at the networks that visitors of a zone come from.", list)
}
