package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Commands returns all commands of operators. fileKeys are the settings that a
// server's file may hold beside zones and limits.
func Commands(t *Terminal, fileKeys []string) []*cobra.Command {
	c := &connection{Terminal: t}
	return []*cobra.Command{
		group("zones", "List, watch and change the zones of a running server.",
			c.listZones(), c.getZone(), c.watch(), c.setZone(), c.resume(),
			c.setTo("pause ZONE", "Admit nobody: perMinute 0. Visitors keep their places.", perMinuteKey, 0),
			c.setTo("open ZONE", "Admit all visitors, and count them: mode open.", "mode", zone.ModeOpen),
			c.setTo("close ZONE", "Refuse newcomers: mode closed. Visitors who wait are still admitted.", "mode", zone.ModeClosed),
			c.createZone(), c.deleteZone(), c.applyZones(fileKeys)),
		group("limits", "List and change policies of limits: what one client may take.",
			c.listLimits(), c.showLimit(), c.applyLimits(fileKeys), c.deleteLimit()),
		c.events(), c.inside(), c.networks(), group("visitors", "Find a visitor, and give a place up.", c.findVisitor(), c.giveUpVisitor()), c.observe(), c.pilot(), c.stats(), c.report(), c.page(), c.evidence(), c.audit(), c.tokens(), c.sessions(), simulateCommand(t, fileKeys), rehearseCommand(t), sizeCommand(t),
	}
}

func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	all := &cobra.Command{Use: use, Short: short}
	all.AddCommand(commands...)
	return all
}

// settingArg stands in the line of a command's use for settings of a zone. In brackets an argument may be left out, before
// dots there may be several.
const settingArg = "NAME=VALUE"

// show returns a command that makes the call of that ID, with its arguments as the parts of the path, and tells what is answered: by tell, or with --json as it came.
func show[T any](c *connection, id, use, short string, tell func(ctx context.Context, s *session, v *T) error) *cobra.Command {
	return c.command(id, use, short, func(ctx context.Context, s *session, args []string) error {
		reply, err := get[T](ctx, s, id, args...)
		if err != nil || s.json {
			return s.printReply(reply.JSON, err)
		}
		return tell(ctx, s, &reply.Value)
	})
}

// command returns a command that asks a running server. Its arguments are those that
// use names: "set ZONE NAME=VALUE...". id is the call of the API that it makes: of several, the one that needs the most.
func (c *connection) command(id, use, short string, run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	names := strings.Fields(use)[1:]
	least := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
	}
	takes := func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > len(names) && !strings.Contains(use, "...") {
			return Usage("%d arguments were given; it takes %s", len(args), strings.Join(names, " "))
		}
		return nil
	}
	command := &cobra.Command{
		Use: use, Short: short, Long: short + "\n\n" + adminclient.Needs(id), Args: takes,
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if strings.Contains(use, settingArg) && len(args) > 0 {
				return completeSetting(word)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open()
			if err != nil {
				return err
			}
			defer s.Close()
			err = run(cmd.Context(), s, args)
			return s.explain(cmd.Parent().Name(), strings.Join(args[:min(1, len(args))], ""), err)
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.adminURL, "admin-url", "", "`URL` of the server's operators' listener; "+defaultAdminURL+" when absent ($"+urlVariable+")")
	flags.StringVar(&c.as, "as", "", "`NAME` that you have in the record of changes with the root token; $USER when absent ($"+operatorVariable+")")
	flags.BoolVar(&c.json, "json", false, "print what the server answers, as JSON, for scripts")
	return command
}

// found is what a command is about to delete.
type found struct {
	// loss says what is lost with it, again how to have it again; may be empty.
	loss  change.Says
	again string
	// remove deletes it, if it is still as it was found.
	remove func(context.Context) error
}

// deleteCommand returns the command that deletes what find finds, when the operator has typed its name.
func (c *connection) deleteCommand(id, use, short string, find func(ctx context.Context, s *session, name string) (found, error)) *cobra.Command {
	var yes bool
	command := c.command(id, use, short, func(ctx context.Context, s *session, args []string) error {
		name := args[0]
		f, err := find(ctx, s, name)
		if err != nil {
			return err
		}
		if !yes {
			if err := s.confirm(ctx, name, "delete "+name, "Delete %s?\n%vType its name to delete it: ", name, f.loss); err != nil {
				return err
			}
		}
		if err := f.remove(ctx); err != nil {
			return err
		}
		if s.json {
			text, err := json.Marshal(map[string]any{"name": name, "deleted": true})
			return s.printReply(text, err)
		}
		s.say("%s is deleted.%s", name, f.again)
		return nil
	})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command
}

// CompleteFiles has shells complete names of files for a flag.
func CompleteFiles(command *cobra.Command, flag string) {
	// The only error is that there is no such flag, or that it is done already.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
}

// completeSetting returns the names of settings, and the values of those that have few.
func completeSetting(word string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if name, _, has := strings.Cut(word, "="); has {
		if x := zone.Table.Find(name); x != nil {
			for _, choice := range x.Options() {
				found = append(found, name+"="+choice.Value)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range zone.Table.Typed() {
		found = append(found, name+"=")
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
