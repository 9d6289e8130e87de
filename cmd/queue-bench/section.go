package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/acceptance"
)

// performance.md has two authors. `make bench` writes all of it but what stands
// between these marks, which it carries over; `make loadtest` writes what stands
// between them, and nothing else.
const (
	sectionBegins = "<!-- make loadtest writes from here -->"
	sectionEnds   = "<!-- to here -->"
)

// noSection stands where no load test has been run.
const noSection = sectionBegins + "\n## Load test\n\nNot run yet: `make loadtest`.\n" + sectionEnds

//go:embed loadtest.md.tmpl
var sectionText string

var section = template.Must(template.New("loadtest.md").Parse(sectionText))

// errNoSection: the document has no such marks.
var errNoSection = errors.New("performance.md has no section for the load test: run make bench")

// cutSection returns what is before, within (with its marks) and behind.
func cutSection(document string) (before, within, behind string, err error) {
	before, rest, ok := strings.Cut(document, sectionBegins)
	if ok {
		within, behind, ok = strings.Cut(rest, sectionEnds)
	}
	if !ok {
		return "", "", "", errNoSection
	}
	return before, sectionBegins + within + sectionEnds, behind, nil
}

// presentSection is the section of a folder's performance.md, for the page that
// is to be written in its place.
func presentSection(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return noSection, nil
	}
	if err != nil {
		return "", err
	}
	_, within, _, err := cutSection(string(text))
	if errors.Is(err, errNoSection) {
		return noSection, nil
	}
	return within, err
}

// writeSection writes a load test's figures into a folder's performance.md.
func writeSection(dir string, s *acceptance.Summary, m machine) error {
	name := filepath.Join(dir, "performance.md")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, _, behind, err := cutSection(string(text))
	if err != nil {
		return err
	}
	var out strings.Builder
	out.WriteString(before + sectionBegins + "\n")
	if err := section.Execute(&out, sectionPage(s, m)); err != nil {
		return err
	}
	out.WriteString(sectionEnds + behind)
	return os.WriteFile(name, []byte(out.String()), 0o644)
}

type (
	// sectionFields are what the section is filled with.
	sectionFields struct {
		When, Took, Size, Processor, System, Go, Headline string
		Cores, Runs                                       int
		Rows                                              []sectionRow
	}
	sectionRow struct {
		Scenario, Store, Came, In, Window, Minute, Longest, Lost, Overtaken, Estimate, Capacity string
		Requests, P50, P99, ServerCPU, RedisCPU, Memory                                         string
	}
)

func sectionPage(s *acceptance.Summary, m machine) sectionFields {
	p := sectionFields{
		When: s.When.UTC().Format("2 January 2006"), Took: s.Took.Round(time.Second).String(), Size: s.Size,
		Processor: m.processor, System: m.system, Go: m.golang, Headline: s.Headline(), Cores: m.cores, Runs: len(s.Runs),
	}
	for _, r := range s.Runs {
		v := r.Verdict
		each := func(d time.Duration) string {
			if d == 0 {
				return "-"
			}
			return figure(float64(d.Microseconds())/float64(max(1, v.Requests)), "µs")
		}
		p.Rows = append(p.Rows, sectionRow{
			Scenario: r.Story.Scenario, Store: r.Store, Came: count(v.Came), In: count(v.In),
			Window:  count(v.MostWindow) + " of " + count(int(v.Limit)),
			Minute:  count(v.MostMinute) + " of " + count(int(v.PerMinute)),
			Longest: fmt.Sprintf("%.0f s", float64(v.LongestWait)/1000), Lost: count(v.Lost),
			Overtaken: fmt.Sprintf("%.2f, %.2f", v.OvertakenP99, v.OvertakenMost),
			Estimate:  fmt.Sprintf("%.1f %%", 100*v.EstimateError), Capacity: fmt.Sprintf("%.1f %%", 100*v.Capacity),
			Requests: count(v.Requests), P50: fmt.Sprintf("%d ms", v.LatencyP50), P99: fmt.Sprintf("%d ms", v.LatencyP99),
			ServerCPU: each(r.Cost.Server), RedisCPU: each(r.Cost.Redis), Memory: fmt.Sprintf("%d MB", r.Cost.ServerBytes>>20),
		})
	}
	return p
}
