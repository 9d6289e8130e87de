package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/report"
)

// report is queue-server report.
func (c *connection) report() *cobra.Command {
	var q operator.ReportQuery
	var html, csv, place string
	command := c.command("zoneReport", "report ZONE", "How an event or a span of a zone was: as a page, a text, CSV or JSON.",
		func(ctx context.Context, s *session, args []string) error {
			reader := report.Reader{Language: language.Make(strings.Split(cmp.Or(s.Getenv("LC_ALL"), s.Getenv("LANG"), "en"), ".")[0])}
			var err error
			if reader.Place, err = time.LoadLocation(place); err != nil {
				return Usage("--time-zone %q is no name of a time zone, such as Europe/Berlin", place)
			}
			reply, err := adminclient.Call[report.Report](ctx, s.Client, adminclient.Request{
				ID: "zoneReport", Parts: args, Query: map[string]string{"event": q.Event, "from": q.From, "to": q.To, "whatIf": q.WhatIf},
			})
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			r := &reply.Value
			for path, write := range map[string]func(io.Writer) error{
				html: func(w io.Writer) error { return r.HTML(w, reader) },
				csv:  func(w io.Writer) error { return r.CSV(w, reader) },
			} {
				if path == "" {
					continue
				}
				if err := s.writeFile(path, write); err != nil {
					return err
				}
			}
			if html != "" || csv != "" {
				return nil
			}
			return r.Text(s.Stdout, reader)
		})
	flags := command.Flags()
	flags.StringVar(&q.Event, "event", "", "the `EVENT`, from when people gather or it opens until it ends, or nothing happens any more")
	flags.StringVar(&q.From, "from", "", "without --event, the first `TIME`, such as 2026-12-01T11:00:00Z; a day before --to when absent")
	flags.StringVar(&q.To, "to", "", "without --event, the `TIME` after the last; now when absent")
	flags.StringVar(&q.WhatIf, "what-if", "", "`LIMITS` to simulate with the same arrivals, such as 900,1200, at most five; none for none")
	flags.StringVar(&html, "html", "", "write one page that needs nothing else into this `FILE`; - for standard output")
	flags.StringVar(&csv, "csv", "", "write the minutes as CSV into this `FILE`; - for standard output")
	flags.StringVar(&place, "time-zone", "Local", "show times as in this time `ZONE`, such as Europe/Berlin")
	CompleteFiles(command, "html")
	CompleteFiles(command, "csv")
	return command
}

// writeFile writes a file as a whole; "-" is the standard output.
func (s *session) writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(s.Stdout)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error is told
		return err
	}
	return f.Close()
}
