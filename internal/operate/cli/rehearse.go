package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// rehearseCommand is queue-server rehearse.
func rehearseCommand(t *Terminal) *cobra.Command {
	c := rehearse.Config{Stdout: t.Stdout, Stderr: t.Stderr}
	command := &cobra.Command{
		Use:   "rehearse -- COMMAND ARG...",
		Short: "Play a room on its worst day, and check which rules a client breaks.",
		Long:  rehearseHelp(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return fmt.Errorf("unexpected %q: write -- before the command that starts the client", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Command = args
			if err := c.Validate(); err != nil {
				return UsageError{err}
			}
			return rehearse.Run(cmd.Context(), c)
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Addr, "addr", "127.0.0.1:8090", "where it listens")
	flags.StringArrayVar(&c.Acts, "act", nil, "play this `ACT`, and others that are named so; all when absent")
	flags.Float64Var(&c.Speed, "speed", 1, "how many times as short as told the client makes its pauses, in a test; 1 to 100")
	var names []string
	for _, a := range rehearse.Acts() {
		names = append(names, cobra.CompletionWithDesc(a.Name, a.About))
	}
	_ = command.RegisterFlagCompletionFunc("act", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // there is such a flag
	return command
}

func rehearseHelp() string {
	var b strings.Builder
	b.WriteString(`Answers as the real room does on its worst day, by a script, and judges what the
client does with it. Each act is a zone: a client plays it by waiting in the zone of
that name, once. Then it shows its pass to GET /service, which stands for the service
behind the room, as Authorization: Bearer PASS.

The command starts the client, for each act, all at once. {url} and {zone} in the
arguments stand for where the room is and the zone to wait in; so do
` + rehearse.URLVariable + ` and ` + rehearse.ZoneVariable + ` in the environment. An act is over when its command
has ended, or the client has been silent for long enough.

  queue-server rehearse -- node my-client.js {url} {zone}

Exit status: 0 when all rules were kept; 1 when one was broken; 2 when the command
line is wrong, or when no client came for an act.

The acts:
`)
	for _, a := range rehearse.Acts() {
		fmt.Fprintf(&b, "  %-10s %s\n", a.Name, a.About)
	}
	b.WriteString("\nThe rules, each of which the client keeps or breaks:\n")
	for _, r := range rehearse.Rules {
		fmt.Fprintf(&b, "  %-12s %s\n", r.Rule, r.Asks)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
