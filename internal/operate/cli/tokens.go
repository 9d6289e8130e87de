package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// tokens is queue-server tokens.
func (c *connection) tokens() *cobra.Command {
	return group("tokens", "List, make and revoke the tokens of persons and machines that operate a server.", c.listTokens(), c.createToken(),
		c.command("revokeToken", "revoke TOKEN", "Revoke a token by its ID, or all tokens of a name. In force on every server within a second.",
			func(ctx context.Context, s *session, args []string) error {
				if _, err := get[struct{}](ctx, s, "revokeToken", args[0]); err != nil {
					return err
				}
				s.say("%s is revoked: every server refuses it within a second.", args[0])
				return nil
			}))
}

// sessions is queue-server sessions.
func (c *connection) sessions() *cobra.Command {
	return group("sessions", "End sessions of the console.",
		c.command("revokeSessions", "revoke NAME", "End all sessions of a name, or of a subject at the provider, within a second. A good token can log in again: revoke that, too.",
			func(ctx context.Context, s *session, args []string) error {
				if _, err := get[struct{}](ctx, s, "revokeSessions", args[0]); err != nil {
					return err
				}
				s.say("The sessions of %s have ended.", args[0])
				return nil
			}))
}

func (c *connection) listTokens() *cobra.Command {
	return show(c, "listTokens", "list", "All tokens that are good. None is shown itself.", func(_ context.Context, s *session, all *people.List) error {
		t := &table{titles: []string{"ID", "NAME", "ROLE", "ZONES", "EXPIRES", "USED", "MADE BY"}}
		for _, k := range all.Tokens {
			t.add(k.ID, k.Name, string(k.Role), cmp.Or(strings.Join(k.Zones, ","), "all"),
				time.UnixMilli(k.ExpiresAt).UTC().Format(time.DateOnly), cmp.Or(k.UsedOn, "never"), k.Maker)
		}
		if len(t.rows) == 0 {
			s.say("There is no token yet, besides the root token. To make one: queue-server tokens create NAME --role operator")
			return nil
		}
		return s.print(t)
	})
}

func (c *connection) createToken() *cobra.Command {
	var role, expires string
	var zones []string
	command := c.command("createToken", "create NAME", "Make a token for a person or a machine, and print it this once.",
		func(ctx context.Context, s *session, args []string) error {
			age, err := parseAge(expires)
			if err != nil {
				return err
			}
			reply, err := adminclient.Call[people.Made](ctx, s.Client, adminclient.Request{
				ID: "createToken", Body: people.Wanted{Name: args[0], Role: route.Role(role), Zones: zones, ExpireSeconds: int64(age / time.Second)},
			})
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			m := reply.Value
			s.say("%s", m.Token)
			_, _ = fmt.Fprintf(s.Stderr, "This is the token of %s, shown this once: %s in %s, until %s.\nUse it as QUEUE_ADMIN_TOKEN, or to log in to the console.\n",
				m.Name, m.Role, cmp.Or(strings.Join(m.Zones, ", "), "all zones"), time.UnixMilli(m.ExpiresAt).UTC().Format(time.DateOnly))
			return nil
		})
	flags := command.Flags()
	flags.StringVar(&role, "role", "", "viewer, operator or admin (required)")
	flags.StringSliceVar(&zones, "zones", nil, "`PATTERNS` of zones such as SHOP,SALE-*; all zones when absent")
	flags.StringVar(&expires, "expires", "90d", "how long the token is good, such as 90d or 8h; 365d at most")
	return command
}

// parseAge reads a duration in which d stands for 24 hours.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, has := strings.CutSuffix(text, "d"); has {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age < time.Minute || age > people.MaxAge {
		return 0, Usage("--expires is %q, must be between 1m and 365d", text)
	}
	return age, nil
}
