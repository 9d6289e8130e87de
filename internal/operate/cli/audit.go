package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
)

// usualChanges is how many changes are shown when nobody says otherwise.
const usualChanges = 50

// recorded is one entry of the record.
type recorded struct {
	name, by, how string
	atMillis      int64
	// changes are what was changed, one setting each.
	changes []string
}

// audit is queue-server audit: the record of zones and policies, also of those that were deleted.
func (c *connection) audit() *cobra.Command {
	var policy string
	var most int
	command := c.command("listChanges", "audit [ZONE]", "The record of changes of zones, policies and operators: when, who, how that was proven, what was and what is.",
		func(ctx context.Context, s *session, args []string) error {
			zoneID := strings.Join(args, "") // one argument, or none
			switch {
			case most < 1:
				return Usage("--limit is %d, must be 1 or more", most)
			case zoneID != "" && policy != "":
				return Usage("name a zone or, with --policy, a policy, not both")
			}
			reply, err := s.changes(ctx, zoneID, policy, most)
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			all := record(reply.Value)
			if len(all) == 0 {
				s.say("The record has no such changes.")
				return nil
			}
			t := &table{titles: []string{"NAME", "WHEN", "WHO", "HOW", "CHANGE"}}
			for _, e := range all[:min(len(all), most)] {
				for _, one := range e.changes { // each whole by itself, so that grep finds all of it
					t.add(e.name, time.UnixMilli(e.atMillis).UTC().Format(time.RFC3339), cmp.Or(e.by, "-"), cmp.Or(e.how, "-"), one)
				}
			}
			return s.print(t)
		})
	command.Flags().StringVar(&policy, "policy", "", "the changes of this `POLICY`, and no others")
	command.AddCommand(c.verifyAudit(), c.exportAudit())
	command.Flags().IntVarP(&most, "limit", "n", usualChanges, "the most changes that are shown, newest first")
	return command
}

// verifyAudit is queue-server audit verify. It fails if a record was tampered with.
func (c *connection) verifyAudit() *cobra.Command {
	return c.command("verifyRecords", "verify [RECORD]", "Check whether somebody has edited, taken out, put in or moved entries of the record of changes: of a zone, :limits, :operators or :refusals; of all when none is named.",
		func(ctx context.Context, s *session, args []string) error {
			reply, err := adminclient.Call[operator.Verified](ctx, s.Client, adminclient.Request{ID: "verifyRecords", Query: map[string]string{"record": strings.Join(args, "")}})
			if err != nil {
				return err
			}
			faults := 0
			for _, r := range reply.Value.Records {
				faults += len(r.Faults)
			}
			if s.json {
				err = s.printReply(reply.JSON, nil)
			} else {
				t := &table{titles: []string{"RECORD", "ENTRIES", "RESULT"}}
				for _, r := range reply.Value.Records {
					for _, says := range r.Says() {
						t.add(r.Record, strconv.Itoa(r.Entries), says)
					}
				}
				err = s.print(t)
			}
			if err == nil && faults > 0 {
				err = fmt.Errorf("%d faults: somebody has tampered with the record, or the store has lost a part of it", faults)
			}
			return err
		})
}

// exportAudit is queue-server audit export.
func (c *connection) exportAudit() *cobra.Command {
	var csvFile, jsonFile string
	command := c.command("exportRecord", "export RECORD", "Write a whole record of changes, with numbers, hashes and seals, into a file: of a zone, :limits, :operators or :refusals.",
		func(ctx context.Context, s *session, args []string) error {
			if csvFile == "" && jsonFile == "" {
				return Usage("name a file with --csv FILE or --file FILE; - is the standard output")
			}
			reply, err := adminclient.Call[operator.Export](ctx, s.Client, adminclient.Request{ID: "exportRecord", Query: map[string]string{"record": args[0]}})
			if err == nil && jsonFile != "" {
				err = s.writeFile(jsonFile, func(w io.Writer) error {
					_, err := w.Write(append(reply.JSON, '\n'))
					return err
				})
			}
			if err == nil && csvFile != "" {
				err = s.writeFile(csvFile, func(w io.Writer) error { return writeExport(w, reply.Value) })
			}
			return err
		})
	command.Flags().StringVar(&csvFile, "csv", "", "write the entries as CSV into this `FILE`; - for standard output")
	command.Flags().StringVar(&jsonFile, "file", "", "write the record as JSON into this `FILE`; - for standard output")
	CompleteFiles(command, "csv")
	CompleteFiles(command, "file")
	return command
}

// writeExport writes a line for each entry, the newest first.
func writeExport(to io.Writer, e operator.Export) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{"record", "n", "at", "by", "proof", "proofId", "address", "via", "sha256", "fault", "entry"}) // Flush has the error
	for _, x := range e.Exported {
		var by audit.By
		if json.Unmarshal([]byte(x.Text), &by) != nil { // somebody has written it; an entry of the room has several, which stand in it
			by = audit.By{}
		}
		_ = w.Write([]string{
			e.Record, strconv.FormatInt(x.N, 10), time.UnixMilli(x.AtMillis).UTC().Format(time.RFC3339Nano),
			by.Who(), string(by.Proof), by.ProofID, by.Address, string(by.Via), x.SHA256, x.Fault, x.Text,
		})
	}
	w.Flush()
	return w.Error()
}

// record is the entries of both lists, the newest first.
func record(changes operator.Changes) (all []recorded) {
	for _, c := range changes.Zones {
		all = append(all, recorded{c.ZoneID, c.Who(), c.How(), c.AtMillis, change.Recorded(c)})
	}
	for _, c := range changes.Policies {
		all = append(all, recorded{"policy " + c.Policy, c.Who(), c.How(), c.AtMillis, policyChange(c)})
	}
	for _, e := range changes.Operators {
		all = append(all, recorded{"operators", e.Who(), e.How(), e.AtMillis, []string{e.Did + " " + e.To}})
	}
	slices.SortStableFunc(all, func(a, b recorded) int { return cmp.Compare(b.atMillis, a.atMillis) })
	return all
}

// policyChange says what a change did to a policy, one setting each.
func policyChange(c limit.Change) []string {
	switch {
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		return []string{"made: " + change.RuleWords(c.Now.Rules)}
	}
	return policyLines(*c.Was, *c.Now)
}

// policyLines are the settings of a policy that differ.
func policyLines(was, now limit.Policy) (lines []string) {
	for _, d := range change.Differences(change.Policies, was, now) {
		lines = append(lines, d.String())
	}
	return lines
}
