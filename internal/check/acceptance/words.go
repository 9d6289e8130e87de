package acceptance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Cost is what the servers of a run used. Zero is unknown.
type Cost struct {
	// Server and Redis are processor time, over Took.
	Server, Redis, Took time.Duration
	// ServerBytes is the most memory that the server ever held.
	ServerBytes int64
}

// Run is one scenario on one store, judged.
type Run struct {
	// Store is embedded or Redis.
	Store   string
	Story   *Story
	Verdict *Verdict
	Cost    Cost
	// Crossed are k6's own complaints: thresholds and checks that failed.
	Crossed []string
	// Zone is the one that was joined.
	Zone zone.Settings
}

// Kept reports whether k6 and the judge found nothing.
func (r *Run) Kept() bool { return r.Verdict.Kept() && len(r.Crossed) == 0 }

// excusable are k6's complaints that a machine may be to blame for: latencies,
// arrivals that were late, answers that did not come in time.
var excusable = []string{
	"threshold wait_duration", "threshold entry_duration", "threshold join_from_intended", "threshold from_intended",
	"threshold dropped_iterations", "threshold unanswered",
}

// Excused reports whether the run failed for no other reason than that the machine
// was too busy to play the crowd: then it may be repeated.
func (r *Run) Excused() bool {
	return !r.Kept() && r.Verdict.Busy() && !slices.ContainsFunc(r.Crossed, func(line string) bool {
		return !slices.ContainsFunc(excusable, func(e string) bool { return strings.HasPrefix(line, e) })
	})
}

// about says in half a sentence what each scenario is.
var about = map[string]string{
	"burst":     "people come within seconds, and new ones whenever some are let in",
	"surge":     "people come three times as fast as the door lets in, whether the server keeps up or not",
	"leavers":   "35 in 100 go away without a word",
	"tunnel":    "20 in 100 lose their connection for 5 to 50 seconds",
	"impatient": "everybody asks several times a second and joins again and again",
	"event":     "people gather for an opening, and a draw says who goes first",
	"fault":     "5 in 100 requests are cut, before the server sees them or after it answered",
}

// About says in half a sentence what the run was.
func (r *Run) About() string { return about[r.Story.Scenario] }

// Name is what tells a run from others.
func (r *Run) Name() string {
	return r.Story.Scenario + ", " + strings.ToLower(r.Store[:1]) + r.Store[1:]
}

// Anchor names the run in a page.
func (r *Run) Anchor() string { return r.Story.Scenario + "-" + strings.ToLower(r.Store) }

// Sentences say what happened, for one who has to answer for the event rather than
// for the server.
func (r *Run) Sentences() ([]string, error) {
	var text strings.Builder
	if err := textPages.ExecuteTemplate(&text, "sentences.tmpl", r); err != nil {
		return nil, fmt.Errorf("acceptance: sentences: %w", err)
	}
	return strings.Split(strings.TrimSpace(text.String()), "\n"), nil
}

// Share is a time as a share of one processor's.
func (c Cost) Share(d time.Duration) float64 { return d.Seconds() / c.Took.Seconds() }

// ServerMB is the most memory that the server ever held, in MB.
func (c Cost) ServerMB() int64 { return c.ServerBytes >> 20 }

// Broken are the promises that were not kept, in words.
func (r *Run) Broken() []string {
	var out []string
	for _, f := range r.Verdict.Findings {
		if !f.Kept {
			out = append(out, fmt.Sprintf("%s: %s, wanted %s", f.Promise, f.Measured, f.Wanted))
		}
	}
	for _, c := range r.Crossed {
		out = append(out, "k6: "+c)
	}
	if r.Excused() {
		out = append(out, fmt.Sprintf("the machine was too busy to show it: %s of the requests were half a second late or more",
			exactly(r.Verdict.Strained)))
	}
	return out
}

// Summary is one page for a manager.
type Summary struct {
	// When, Machine and Size say what was run on what.
	When          time.Time
	Machine, Size string
	Took          time.Duration
	Runs          []*Run
}

// Kept reports whether every promise of every run was.
func (s *Summary) Kept() bool { return len(s.bad()) == 0 }

func (s *Summary) bad() []*Run {
	var bad []*Run
	for _, r := range s.Runs {
		if !r.Kept() {
			bad = append(bad, r)
		}
	}
	return bad
}

// Headline is the whole in a sentence.
func (s *Summary) Headline() string {
	bad := s.bad()
	switch {
	case len(bad) == 0 && len(s.Runs) == 1:
		return "Everything that was promised was kept."
	case len(bad) == 0:
		return fmt.Sprintf("Everything that was promised was kept, in all %d runs.", len(s.Runs))
	}
	names := make([]string, len(bad))
	for i, r := range bad {
		names[i] = r.Name()
	}
	return fmt.Sprintf("PROMISES WERE BROKEN in %d of %d runs: %s.", len(bad), len(s.Runs), strings.Join(names, "; "))
}

// Scenarios are the runs of each scenario, in order.
func (s *Summary) Scenarios() (out [][]*Run) {
	for _, r := range s.Runs {
		if n := len(out); n > 0 && out[n-1][0].Story.Scenario == r.Story.Scenario {
			out[n-1] = append(out[n-1], r)
		} else {
			out = append(out, []*Run{r})
		}
	}
	return out
}

// Write writes the page as text.
func (s *Summary) Write(w io.Writer) error { return textPages.ExecuteTemplate(w, "summary.tmpl", s) }

// lineLength is what a terminal and a sheet of paper both take.
const lineLength = 100

// wrap puts sentences on lines of their own, each behind an indent.
func wrap(sentences []string, indent string) string {
	var t strings.Builder
	length := lineLength
	for word := range strings.FieldsSeq(strings.Join(sentences, " ")) {
		if length+1+len(word) > lineLength {
			t.WriteString("\n" + indent)
			length = len(indent)
		} else {
			t.WriteByte(' ')
			length++
		}
		t.WriteString(word)
		length += len(word)
	}
	return t.String()
}

func of(n int, limit int64) string { return count(n) + " / " + count(limit) }

// seconds writes a time for people.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
}

// percent writes a share; - for none.
func percent(share float64) string {
	switch {
	case share < 0:
		return "-"
	case share < 0.1 && share > 0:
		return fmt.Sprintf("%.1f %%", 100*share)
	default:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
}

// exactly writes a share to a tenth of a percent, as what is held against a bound
// must be.
func exactly(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// count writes a number with commas.
func count(n any) string { return message.NewPrinter(language.English).Sprint(n) }
