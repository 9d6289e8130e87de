package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
)

// errNotHeld is what evidence returns when it has said what it found.
var errNotHeld = errors.New("not everything is shown to have held")

// evidence is queue-server evidence. It asks no server: it reads files alone.
func (c *connection) evidence() *cobra.Command {
	t := c.Terminal
	var logs, draws []string
	var keys, record, heads, name, bundle string
	var asJSON bool
	command := &cobra.Command{
		Use:   "evidence ZONE",
		Short: "Check the logs of admissions: whether limits, cap and order held, and the logs are whole.",
		Long: `Reads the logs that servers wrote with QUEUE_ADMISSIONS_LOG, and judges by them alone, the
record of changes, the published keys and draws, and heads that somebody kept. It asks no
server, and shares no code with what admitted: docs/explain/fairness.md says what that
shows, and what it does not. The seals of the record are checked, too, if the
QUEUE_SECRET of the room is set; their hashes always are.

  curl https://queue.example/.well-known/jwks.json > keys.json
  queue-server audit export SHOP --file record.json
  queue-server evidence SHOP --log web1/ --log web2/ --keys keys.json --record record.json

Exit status: 0 when everything held; 7 when something was broken or tampered with, or
cannot be shown.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s := evidence.Source{Zone: args[0]}
			var err error
			if s.Keys, err = t.readKeys(keys); err != nil {
				return err
			}
			var text []byte
			secrets, sign, noSecret := t.Signer()
			if noSecret != nil && (bundle != "" || !errors.Is(noSecret, fs.ErrNotExist)) {
				return fmt.Errorf("the secret of the room: %w", noSecret)
			}
			if record != "" {
				if text, err = t.readNamed(record); err == nil {
					s.Record, err = evidence.ReadRecord(text, s.Zone, secrets...)
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
			if name != "" {
				if s.From, s.To, err = evidence.Event(s.Record, name); err != nil {
					return err
				}
			}
			if s.Runs, s.Faults, err = admissionlog.Read(logs...); err != nil {
				return err
			}
			r := evidence.Check(&s)
			if bundle != "" {
				signed, err := sign(evidence.BundleType, s.Bundle(r, t.Version, time.Now()))
				if err == nil {
					err = os.WriteFile(bundle, []byte(signed+"\n"), 0o600)
				}
				if err != nil {
					return fmt.Errorf("the bundle: %w", err)
				}
			}
			return t.tell(s.Zone, &r, asJSON)
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&logs, "log", nil, "`FOLDER` with logs; one for each server, or one of all")
	flags.StringVar(&keys, "keys", "", keysHelp)
	flags.StringVar(&record, "record", "", "`FILE` with the record of changes: queue-server audit export ZONE --file FILE")
	flags.StringVar(&heads, "heads", "", "`FILE` with heads that somebody kept, one a line")
	flags.StringArrayVar(&draws, "draw", nil, "`FILE` with a published draw, with its seed")
	flags.StringVar(&name, "event", "", "judge the admissions of this `EVENT`, as the record has it")
	flags.StringVar(&bundle, "bundle", "", "write what was judged, and by what, into this `FILE`, signed with the key of passes: it needs QUEUE_SECRET, as a server does")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	for _, name := range []string{"keys", "record", "heads", "draw", "bundle"} {
		CompleteFiles(command, name)
	}
	_, _ = command.MarkFlagRequired("log"), command.MarkFlagRequired("keys") // they are there
	command.AddCommand(verifyEvidence(t), c.receipt(), c.forget())
	return command
}

const keysHelp = "`FILE` with the public keys: /.well-known/jwks.json of the room"

func (t *Terminal) readKeys(name string) (k evidence.Keys, err error) {
	text, err := t.readNamed(name)
	if err != nil {
		return k, err
	}
	return evidence.ReadKeys(text)
}

// verifyEvidence is queue-server evidence verify.
func verifyEvidence(t *Terminal) *cobra.Command {
	var logs []string
	var keys string
	var asJSON bool
	command := &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Check the signature of a bundle, and say what is in it; with --log, judge those logs again by it.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			signers, err := t.readKeys(keys)
			if err != nil {
				return err
			}
			text, err := t.readNamed(args[0])
			if err != nil {
				return err
			}
			b, err := signers.ReadBundle(strings.TrimSpace(string(text)))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if len(logs) > 0 {
				runs, faults, err := admissionlog.Read(logs...)
				if err != nil {
					return err
				}
				differs, err := b.Judge(signers, runs, faults)
				if err != nil {
					return err
				}
				if len(differs) > 0 {
					return fmt.Errorf("these are not the logs of the bundle: %s", harmless(strings.Join(differs, "; "), ""))
				}
			}
			if asJSON {
				return t.sayJSON(b)
			}
			t.say("Signed by one of these keys, and made at %s by version %s. %d files of logs, by servers of %s; %d entries of the record.",
				time.UnixMilli(b.MadeAt).UTC().Format(time.RFC3339), harmless(b.Version, ""), len(b.Logs), harmless(strings.Join(b.Servers, ", "), ""), len(b.Record))
			return t.tell(b.Zone, &b.Result, false)
		},
	}
	command.Flags().StringArrayVar(&logs, "log", nil, "`FOLDER` with the logs that were judged")
	command.Flags().StringVar(&keys, "keys", "", keysHelp)
	command.Flags().BoolVar(&asJSON, "json", false, "print all of the bundle as JSON")
	CompleteFiles(command, "keys")
	_ = command.MarkFlagRequired("keys") // it is there
	return command
}

func (t *Terminal) sayJSON(what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err == nil {
		t.say("%s", text)
	}
	return err
}

// tell says what the logs show.
func (t *Terminal) tell(zoneID string, r *evidence.Result, asJSON bool) error {
	if asJSON {
		if err := t.sayJSON(r); err != nil {
			return err
		}
	} else {
		f := r.Figures
		at := func(m evidence.Most) string { return time.UnixMilli(m.At).UTC().Format(time.RFC3339) }
		t.say("%s: %s\n", zoneID, r.Verdict)
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
