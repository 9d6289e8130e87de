package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
)

// judgeCommand is queue-bench judge: for crowds that are too large for one machine,
// or servers that are elsewhere.
type judgeCommand struct {
	Stories []string `arg:"" help:"What each k6 of one run wrote (k6 run --console-output FILE)."`
	Report  string   `placeholder:"FILE" help:"Write the report, with charts, to this file."`
	Zones   string   `default:"loadtest/k6/zones.yaml" placeholder:"FILE" help:"Has the zone that was joined, at size 1."`
}

// Run prints every promise, and fails if one was not kept.
func (c *judgeCommand) Run(out output) error {
	story, err := readStory(c.Stories...)
	if err != nil {
		return err
	}
	zones, err := readZones(c.Zones, story.Size)
	if err != nil {
		return err
	}
	settings, ok := zones[story.ZoneID]
	if !ok {
		return fmt.Errorf("%s has no zone %s", filepath.Base(c.Zones), story.ZoneID)
	}
	v := acceptance.Judge(story, settings, nil)
	r := &acceptance.Run{
		Store: "Remote", Story: story, Verdict: v,
		WindowSeconds: settings.WindowSeconds, Columns: acceptance.ColumnsOf(story, settings),
	}
	table := tabwriter.NewWriter(out.table, 0, 0, 2, ' ', 0)
	for _, f := range v.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", heads[f.Kept], f.Promise, f.Measured, f.Wanted)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	sentences, err := r.Sentences()
	if err != nil {
		return err
	}
	for _, sentence := range sentences {
		fmt.Fprintln(out.table, sentence)
	}
	for _, remark := range story.Remarks {
		fmt.Fprintln(out.table, remark)
	}
	if c.Report != "" {
		s := &acceptance.Summary{
			When: time.UnixMilli(story.Began), Machine: "Servers elsewhere", Size: strconv.FormatFloat(story.Size, 'g', -1, 64),
			Took: time.Duration(v.Span) * time.Millisecond, Runs: []*acceptance.Run{r},
		}
		if err := writeFile(c.Report, s.Report); err != nil {
			return err
		}
	}
	if !v.Kept() {
		return errBroken
	}
	return nil
}
