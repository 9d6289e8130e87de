package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
)

// errNotHeld is what evidence returns when it has said what it found.
var errNotHeld = errors.New("not everything is shown to have held")

// evidenceCommand is queue-server evidence. It asks no server: it reads files alone.
func evidenceCommand(t *Terminal) *cobra.Command {
	var logs, draws []string
	var keys, record, heads, from, to string
	var asJSON bool
	command := &cobra.Command{
		Use:   "evidence ZONE",
		Short: "Check the logs of admissions: whether limits, cap and order held, and the logs are whole.",
		Long: `Reads the logs that servers wrote with QUEUE_ADMISSIONS_LOG, and judges by them alone, the
record of changes, the published keys and draws, and heads that somebody kept. It asks no
server, and shares no code with what admitted: docs/explain/fairness.md says what that
shows, and what it does not.

  curl https://queue.example/.well-known/jwks.json > keys.json
  queue-server audit SHOP --limit 200 --json > record.json
  queue-server evidence SHOP --log web1/ --log web2/ --keys keys.json --record record.json

Exit status: 0 when everything held; 7 when something was broken or tampered with, or
cannot be shown.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s := evidence.Source{Zone: args[0]}
			text, err := t.readNamed(keys)
			if err == nil {
				s.Keys, err = evidence.ReadKeys(text)
			}
			if err != nil {
				return err
			}
			if record != "" {
				if text, err = t.readNamed(record); err == nil {
					s.Record, err = evidence.ReadRecord(text, s.Zone)
				}
				if err != nil {
					return err
				}
			}
			if heads != "" {
				if text, err = t.readNamed(heads); err != nil {
					return err
				}
				s.Heads = strings.Fields(string(text))
			}
			for _, name := range draws {
				d, err := t.readDraw(name)
				if err != nil {
					return err
				}
				s.Draws = append(s.Draws, evidence.Draw{
					Event: d.Event, Commitment: d.Commitment, Seed: d.Seed, FromMicros: d.FromMicros, UptoMicros: d.UptoMicros,
				})
			}
			for at, text := range map[*int64]string{&s.From: from, &s.To: to} {
				if text == "" {
					continue
				}
				when, err := time.Parse(time.RFC3339, text)
				if err != nil {
					return Usage("%q is no time, such as 2026-12-01T11:00:00Z", text)
				}
				*at = when.UnixMilli()
			}
			if s.Runs, s.Faults, err = admissionlog.Read(logs...); err != nil {
				return err
			}
			return t.judge(&s, asJSON)
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&logs, "log", nil, "`FOLDER` with logs; one for each server, or one of all")
	flags.StringVar(&keys, "keys", "", "`FILE` with the public keys: /.well-known/jwks.json of the room")
	flags.StringVar(&record, "record", "", "`FILE` with the record of changes: queue-server audit ZONE --limit 200 --json")
	flags.StringVar(&heads, "heads", "", "`FILE` with heads that somebody kept, one a line")
	flags.StringArrayVar(&draws, "draw", nil, "`FILE` with a published draw, with its seed")
	flags.StringVar(&from, "from", "", "judge admissions from this `TIME` on, such as 2026-12-01T11:00:00Z")
	flags.StringVar(&to, "to", "", "judge admissions before this `TIME`")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	for _, name := range []string{"keys", "record", "heads", "draw"} {
		CompleteFiles(command, name)
	}
	_, _ = command.MarkFlagRequired("log"), command.MarkFlagRequired("keys") // they are there
	return command
}

// judge says what the logs show.
func (t *Terminal) judge(s *evidence.Source, asJSON bool) error {
	r := evidence.Check(s)
	if asJSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		t.say("%s", text)
	} else {
		f := r.Figures
		at := func(m evidence.Most) string { return time.UnixMilli(m.At).UTC().Format(time.RFC3339) }
		t.say("%s: %s\n", s.Zone, r.Verdict)
		for _, found := range r.Findings {
			t.say("  %s: %s", found.Verdict, harmless(found.What, ""))
		}
		t.say("  %d took a place, %d were admitted (%d by a server while the store was away), %d left", f.Joined, f.Admitted, f.Local, f.Left)
		t.say("  the fullest window had %d, of %d (%s)", f.InWindow.Admissions, f.InWindow.Limit, at(f.InWindow))
		t.say("  the fullest minute had %d, of %d (%s)", f.InMinute.Admissions, f.InMinute.Limit, at(f.InMinute))
		if f.Inside.Limit > 0 {
			t.say("  the most inside were %d, of %d (%s)", f.Inside.Admissions, f.Inside.Limit, at(f.Inside))
		}
		t.say("  %d came whenever they were told: 99 of 100 were overtaken by at most %d, all by at most %d (%.1f windows' worth)",
			f.Punctual, f.OvertakenP99, f.OvertakenMost, f.OvertakenWorth)
	}
	if r.Verdict != evidence.Held {
		return errNotHeld
	}
	return nil
}
