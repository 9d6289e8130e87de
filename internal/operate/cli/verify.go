package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/serve/problem"
)

// errForged is what events verify returns when it has said what is wrong with a list.
var errForged = errors.New("the list is not what the seed makes of it")

// maxPublished bounds what is read of a draw: a list of ten million is 350 MB.
const maxPublished = 400 << 20

// verifyEvent is queue-server events verify. It asks the public listener, as anybody can,
// and believes nothing that it answers.
func verifyEvent(t *Terminal) *cobra.Command {
	var earlier, ticket, tokenFile string
	command := &cobra.Command{
		Use:   "verify URL|FILE",
		Short: "Check a draw by what is published of it: that the order is what the seed makes of it.",
		Long: `Reads a draw and its list, and works the order out again: that the seed is the one
that was committed to, that the list is complete and has each ticket once, and that
each has the number which follows from the seed. URL is that of the draw:

  queue-server events verify https://queue.example/traffic/zones/TICKETS/events/noon/draw

FILE has the same, saved: the draw and the parts of its list, one after the other.

  curl "$URL" "$URL/tickets/[1-5]" > draw.json

What a server says after the opening alone cannot show that it always said so. Keep
the draw, curl "$URL" > earlier.json, when the list is there and the seed is not, and
name that file with --earlier.

Exit status: 0 when the list is what the seed makes of it; 7 when it is not; 3 when
there is no such draw, or the ticket is not on its list; 1 when the draw cannot be
checked yet.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := t.readPublished(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var kept *schedule.Draw
			if earlier != "" {
				before, err := t.readPublished(cmd.Context(), earlier)
				if err != nil {
					return err
				}
				kept = &before.Draw
			}
			if tokenFile != "" {
				text, err := t.readFile(tokenFile)
				if err != nil {
					return UsageError{fmt.Errorf("the token cannot be read: %w", err)}
				}
				own, ok := schedule.OwnTicket(p.ZoneID, p.Event, strings.TrimSpace(string(text)))
				if !ok {
					return Usage("what is in %s is no token", tokenFile)
				}
				ticket = own
			}
			return t.verify(p, kept, strings.ToLower(ticket))
		},
	}
	flags := command.Flags()
	flags.StringVar(&earlier, "earlier", "", "`FILE` with the draw as it was published before the opening; the list must still be the same")
	flags.StringVar(&ticket, "ticket", "", "say which number this ticket has, 32 hexadecimal `DIGITS`")
	flags.StringVar(&tokenFile, "token-file", "", "the same for the visitor whose token is in `FILE`; - is standard input")
	command.MarkFlagsMutuallyExclusive("ticket", "token-file")
	CompleteFiles(command, "earlier")
	CompleteFiles(command, "token-file")
	command.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	return command
}

// verify says what is published, and whether it is as drawn.
func (t *Terminal) verify(p schedule.Published, earlier *schedule.Draw, ticket string) error {
	name := harmless(p.Event+" in "+p.ZoneID, "")
	switch {
	case p.Seed == "" && p.OpensAtMillis == event.Never:
		return fmt.Errorf("%s cannot be checked yet: the seed is published when it opens, which has no time: the opening is held", name)
	case p.Seed == "":
		return fmt.Errorf("%s cannot be checked yet: the seed is published when it opens, at %s",
			name, time.UnixMilli(p.OpensAtMillis).UTC().Format(time.RFC3339))
	case p.Tickets == 0 && len(p.List) == 0 && p.ListHash != "":
		return fmt.Errorf("%s cannot be checked: nobody was in the line when the draw closed", name)
	case p.Tickets == 0 && len(p.List) == 0:
		return fmt.Errorf("%s cannot be checked: no list of it is published, or nobody is on it", name)
	}
	if fault := p.Fault(earlier); fault != "" {
		t.say("%s: NOT AS DRAWN", name)
		t.say("%s.", harmless(fault, ""))
		return errForged
	}
	t.say("%s: as drawn", name)
	t.say("seed        %s", p.Seed)
	t.say("commitment  %s, the seed's SHA-256%s", p.Commitment, map[bool]string{true: ", as before the opening"}[earlier != nil])
	same := ""
	if earlier != nil && earlier.ListHash != "" {
		same = ", as before the opening"
	}
	t.say("list        %s, each once and where the seed puts it%s", counted(p.Tickets, "ticket", "tickets"), same)
	if ticket == "" {
		return nil
	}
	n := p.Number(ticket)
	if n == 0 {
		return sentence(adminclient.ErrNotFound, "ticket %s is not on the list: whoever came when the draw had closed, or had left by then, is not", ticket)
	}
	t.say("ticket      %s has number %s of %s", ticket, grouped(int64(n)), grouped(int64(p.Tickets)))
	return nil
}

// readPublished reads a draw and its list from where it is published, or from a file.
func (t *Terminal) readPublished(ctx context.Context, from string) (p schedule.Published, err error) {
	var text []byte
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		text, err = fetchPublished(ctx, strings.TrimRight(from, "/"))
	} else if text, err = t.readFile(from); err != nil {
		err = UsageError{err}
	}
	if err != nil {
		return p, err
	}
	if p, err = schedule.ReadPublished(bytes.NewReader(text)); err != nil {
		return p, Usage("%s is no draw: %w", from, err)
	}
	return p, nil
}

// fetchPublished returns the answers about a draw, one after the other.
func fetchPublished(ctx context.Context, url string) (all []byte, err error) {
	client := &http.Client{Timeout: adminclient.DefaultTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	get := func(url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return UsageError{err}
		}
		res, err := client.Do(req)
		if err != nil {
			return sentence(adminclient.ErrUnreachable, "%v", err)
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, int64(maxPublished-len(all))))
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return sentence(adminclient.ErrUnreachable, "%s: %v", url, err)
		}
		if res.StatusCode == http.StatusOK {
			all = append(all, text...)
			return nil
		}
		var said problem.Problem
		kind := adminclient.ErrUnreachable
		if json.Unmarshal(text, &said) == nil && res.StatusCode == http.StatusNotFound && said.Code != "" {
			kind = adminclient.ErrNotFound
		}
		return sentence(kind, "%s answers %s. %s", url, res.Status, said.Detail)
	}
	if err := get(url); err != nil {
		return nil, err
	}
	var d schedule.Draw
	if json.Unmarshal(all, &d) != nil {
		return all, nil // ReadPublished says what it lacks
	}
	for part := 1; part <= d.Parts && len(all) < maxPublished; part++ {
		if err := get(fmt.Sprintf("%s/tickets/%d", url, part)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
