package acceptance

import (
	"embed"
	"fmt"
	html "html/template"
	"io"
	"maps"
	"strings"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/uplot"
)

//go:embed page
var pageFiles embed.FS

// words are what the pages write figures with.
var words = map[string]any{
	"count": count, "of": of, "seconds": seconds, "percent": percent, "wrap": wrap, "upper": strings.ToUpper,
	"moment": func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"round":  func(d time.Duration) time.Duration { return d.Round(time.Second) },
	"yes":    func(kept bool) string { return map[bool]string{true: "yes", false: "NO"}[kept] },
	"capital": func(text string) string {
		return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
	},
	// A unit is not to stand on a line of its own.
	"unbroken": func(text string) string { return strings.ReplaceAll(text, " %", "\u00a0%") },
}

var (
	textPages  = template.Must(template.New("").Funcs(words).ParseFS(pageFiles, "page/summary.tmpl", "page/sentences.tmpl"))
	reportPage = html.Must(html.New("").Funcs(maps.Clone(words)).ParseFS(pageFiles, "page/report.tmpl"))
)

// Report writes the summary as one page of HTML with charts, which needs nothing
// from anywhere.
func (s *Summary) Report(w io.Writer) error {
	columns := make(map[string]Columns)
	for _, r := range s.Runs {
		columns[r.Anchor()] = columnsOf(r.Story, r.Zone)
	}
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
	return reportPage.ExecuteTemplate(w, "report.tmpl", struct {
		*Summary

		Columns          map[string]Columns
		Style, PlotStyle html.CSS
		Script, Plot     html.JS
	}{
		s, columns, html.CSS(texts["page/report.css"]), html.CSS(texts["uPlot.min.css"]),
		html.JS(texts["page/report.js"]), html.JS(texts["uPlot.iife.min.js"]),
	})
}
