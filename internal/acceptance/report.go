package acceptance

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/uplot"
)

//go:embed page
var pageFiles embed.FS

var reportPage = template.Must(template.ParseFS(pageFiles, "page/report.tmpl"))

type (
	// reportFields are what the report is filled with.
	reportFields struct {
		When, Machine, Size, Took, Headline string
		Kept                                bool
		Rows                                []reportRow
		Scenarios                           []reportScenario
		Columns                             map[string]Columns
		Style, PlotStyle                    template.CSS
		Script, Plot                        template.JS
	}
	reportRow struct {
		Anchor, Scenario, Store, Came, In, Window, Minute, Longest, Lost, Estimate, Used string
		Kept                                                                             bool
	}
	reportScenario struct {
		Name, Title, About string
		Runs               []reportRun
	}
	reportRun struct {
		Anchor, Store     string
		Kept              bool
		Broken, Sentences []string
		Findings          []Finding
	}
)

// Report writes the summary as one page of HTML with charts, which needs nothing
// from anywhere.
func (s *Summary) Report(w io.Writer) error {
	f := reportFields{
		When: s.When.UTC().Format("2 January 2006, 15:04 UTC"), Machine: s.Machine, Size: s.Size,
		Took: s.Took.Round(time.Second).String(), Headline: s.Headline(), Kept: s.Kept(), Columns: map[string]Columns{},
	}
	for _, r := range s.Runs {
		v, name := r.Verdict, r.Story.Scenario
		anchor := name + "-" + strings.ToLower(r.Store)
		f.Columns[anchor] = r.Columns
		f.Rows = append(f.Rows, reportRow{
			Anchor: anchor, Scenario: name, Store: r.Store, Came: count(v.Came), In: count(v.In),
			Window: of(v.MostWindow, v.Limit), Minute: of(v.MostMinute, v.PerMinute),
			Longest: seconds(v.LongestWait), Lost: count(v.Lost), Estimate: percent(v.EstimateError),
			Used: percent(v.Capacity), Kept: r.Kept(),
		})
		if n := len(f.Scenarios); n == 0 || f.Scenarios[n-1].Name != name {
			f.Scenarios = append(f.Scenarios, reportScenario{
				Name: name, Title: strings.ToUpper(name[:1]) + name[1:], About: capital(r.About()),
			})
		}
		last := &f.Scenarios[len(f.Scenarios)-1]
		sentences := r.Sentences()
		for i := range sentences {
			sentences[i] = strings.ReplaceAll(sentences[i], " %", "\u00a0%") // not on a line of its own
		}
		last.Runs = append(last.Runs, reportRun{anchor, r.Store, r.Kept(), r.Broken(), sentences, v.Findings})
	}
	if err := f.embed(); err != nil {
		return err
	}
	return reportPage.Execute(w, f)
}

// embed takes in scripts and styles: ours, and the plot's.
func (f *reportFields) embed() error {
	texts := make(map[string]string)
	for name, from := range map[string]embed.FS{
		"page/report.css": pageFiles, "page/report.js": pageFiles,
		"uPlot.min.css": uplot.Files, "uPlot.iife.min.js": uplot.Files,
	} {
		text, err := from.ReadFile(name)
		if err != nil {
			return fmt.Errorf("acceptance: report: %w", err)
		}
		texts[name] = string(text)
	}
	// They are files of this source tree, and no input.
	f.Style, f.PlotStyle = template.CSS(texts["page/report.css"]), template.CSS(texts["uPlot.min.css"])
	f.Script, f.Plot = template.JS(texts["page/report.js"]), template.JS(texts["uPlot.iife.min.js"])
	return nil
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
