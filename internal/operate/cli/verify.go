package cli

import (
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
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/schedule"
)

// errForged is what events verify returns when it has said what is wrong with a list.
var errForged = errors.New("the list is not what the seed makes of it")

// maxPublished bounds what is read of a draw, in bytes: a list of ten million has 160 MB.
const maxPublished = 200 << 20

// listTimeout is enough for a list of a million, 16 MB, at half a megabit a second.
const listTimeout = 5 * time.Minute

// verifyEvent is queue-server events verify. It asks the public listener, as anybody can,
// and believes nothing that it answers.
func verifyEvent(t *Terminal) *cobra.Command {
	var earlier string
	command := &cobra.Command{
		Use:   "verify URL | DRAW-FILE LIST-FILE",
		Short: "Verify a published draw: the order must follow from the seed.",
		Long: `Reads a draw and its list, and works the order out again: that the seed is the one
that was committed to, that the list is complete and has each ticket once, and that
each has the number which follows from the seed. URL is that of the draw:

  queue-server events verify https://queue.example/traffic/zones/TICKETS/events/noon/draw

The files have the same, saved:

  curl "$URL" > draw.json; curl "$URL/list" > draw.list

What a server says after the opening alone cannot show that it always said so. Keep
the draw, curl "$URL" > earlier.json, when the list is there and the seed is not, and
name that file with --earlier.

Exit status: 0 when the list is what the seed makes of it; 7 when it is not; 3 when
there is no such draw; 1 when the draw cannot be checked yet.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var kept *schedule.Draw
			if earlier != "" {
				before, err := t.readDraw(earlier)
				if err != nil {
					return err
				}
				kept = &before
			}
			var d schedule.Draw
			var list []byte
			var err error
			if len(args) == 1 {
				d, list, err = fetchDraw(cmd.Context(), strings.TrimRight(args[0], "/"))
			} else if d, err = t.readDraw(args[0]); err == nil {
				list, err = t.readNamed(args[1])
			}
			if err != nil {
				return err
			}
			return t.verify(d, list, kept)
		},
	}
	command.Flags().StringVar(&earlier, "earlier", "", "`FILE` with the draw as it was published before the opening; the list must still be the same")
	CompleteFiles(command, "earlier")
	command.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	return command
}

// verify says what is published, and whether it is as drawn.
func (t *Terminal) verify(d schedule.Draw, list []byte, earlier *schedule.Draw) error {
	name := harmless(d.Event+" in "+d.ZoneID, "")
	switch {
	case d.Seed == "" && d.OpensAtMillis == event.Never:
		return fmt.Errorf("%s cannot be checked yet: the seed is published when it opens, which has no time: the opening is held", name)
	case d.Seed == "":
		return fmt.Errorf("%s cannot be checked yet: the seed is published when it opens, at %s",
			name, time.UnixMilli(d.OpensAtMillis).UTC().Format(time.RFC3339))
	case d.ListHash == "":
		return fmt.Errorf("%s cannot be checked: no list of it is published", name)
	case d.Tickets == 0 && len(list) == 0:
		return fmt.Errorf("%s cannot be checked: nobody was in the line when the draw closed", name)
	}
	if fault := d.Fault(list, earlier); fault != "" {
		t.say("%s: NOT AS DRAWN", name)
		t.say("%s.", harmless(fault, ""))
		return errForged
	}
	t.say("%s: as drawn", name)
	t.say("seed        %s", d.Seed)
	t.say("commitment  %s, the seed's SHA-256%s", d.Commitment, map[bool]string{true: ", as before the opening"}[earlier != nil])
	same := ""
	if earlier != nil && earlier.ListHash != "" {
		same = ", as before the opening"
	}
	t.say("list        %s, each once and where the seed puts it%s", counted(d.Tickets, "ticket", "tickets"), same)
	return nil
}

// readNamed reads a file that an argument names.
func (t *Terminal) readNamed(name string) ([]byte, error) {
	text, err := t.readFile(name)
	if err != nil {
		return nil, UsageError{err}
	}
	return text, nil
}

// readDraw reads a draw from a file.
func (t *Terminal) readDraw(name string) (d schedule.Draw, err error) {
	text, err := t.readNamed(name)
	if err != nil {
		return d, err
	}
	return parseDraw(name, text)
}

func parseDraw(from string, text []byte) (d schedule.Draw, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, Usage("%s is no draw: %w", from, err)
	}
	if d.Commitment == "" {
		return d, Usage("%s is no draw: it has no commitment", from)
	}
	return d, nil
}

// fetchDraw returns a draw, and its list if it has one.
func fetchDraw(ctx context.Context, url string) (d schedule.Draw, list []byte, err error) {
	client := &http.Client{Timeout: listTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	get := func(url string) (text []byte, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, UsageError{err}
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, sentence(adminclient.ErrUnreachable, "%v", err)
		}
		text, err = io.ReadAll(io.LimitReader(res.Body, maxPublished))
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return nil, sentence(adminclient.ErrUnreachable, "%s: %v", url, err)
		}
		if res.StatusCode == http.StatusOK {
			return text, nil
		}
		var said refusal.Document
		kind := adminclient.ErrUnreachable
		if json.Unmarshal(text, &said) == nil && res.StatusCode == http.StatusNotFound && said.Code != "" {
			kind = adminclient.ErrNotFound
		}
		return nil, sentence(kind, "%s answers %s. %s", url, res.Status, said.Detail)
	}
	text, err := get(url)
	if err == nil {
		d, err = parseDraw(url, text)
	}
	if err == nil && d.ListHash != "" {
		list, err = get(url + "/list")
	}
	return d, list, err
}
