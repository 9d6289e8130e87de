package acceptance

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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
	// WindowSeconds is the zone's.
	WindowSeconds int64
	Columns       Columns
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
	"fault":     "5 in 100 requests are cut, before the server sees them or after it answered",
}

// About says in half a sentence what the run was.
func (r *Run) About() string { return about[r.Story.Scenario] }

// Name is what tells a run from others.
func (r *Run) Name() string {
	return r.Story.Scenario + ", " + strings.ToLower(r.Store[:1]) + r.Store[1:]
}

// Sentences say what happened, for one who has to answer for the event rather than
// for the server.
func (r *Run) Sentences() []string {
	v, out := r.Verdict, []string(nil)
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	say("%s people came; %s were let in%s.", count(v.Came), count(v.In), others(v))
	say("At no time were more than %s let in within %s (allowed: %s), nor more than %s within a minute (allowed: %s).",
		count(v.MostWindow), seconds(r.WindowSeconds*1000), count(int(v.Limit)), count(v.MostMinute), count(int(v.PerMinute)))
	say("Half of them waited less than %s, the longest wait was %s.", seconds(v.MedianWait), seconds(v.LongestWait))
	if v.Lost == 0 {
		say("Nobody lost the place.")
	} else {
		say("%s LOST THE PLACE.", count(v.Lost))
	}
	if v.Punctual > 0 {
		say("Of those who asked in time, nobody was passed by more than %s who came later.",
			count(int(math.Round(v.OvertakenMost*float64(v.Limit)))))
	}
	if v.EstimateError >= 0 {
		say("The wait that people were told was off by %s, in the middle case.", percent(v.EstimateError))
	}
	if v.Capacity >= 0 {
		say("While enough people waited, %s of the places were used.", percent(v.Capacity))
	}
	if v.NoAnswers > 0 {
		say("%s of %s requests got no answer, and were repeated.", count(v.NoAnswers), count(v.Requests))
	}
	if v.Unavailable > 0 {
		say("%s of %s requests were told to come again, the store being busy.", count(v.Unavailable), count(v.Requests))
	}
	if v.TooMany > 0 {
		say("%s of %s requests were refused for coming too often.", count(v.TooMany), count(v.Requests))
	}
	say("%s", r.costs())
	return out
}

func others(v *Verdict) string {
	var text strings.Builder
	for _, o := range []struct {
		n    int
		what string
	}{{v.Left, "went away"}, {v.Waiting, "went home when the test ended"}} {
		if o.n > 0 {
			fmt.Fprintf(&text, ", %s %s", count(o.n), o.what)
		}
	}
	return text.String()
}

// costs say what the servers used for it.
func (r *Run) costs() string {
	v := r.Verdict
	text := fmt.Sprintf("%s requests, 99 in 100 of them answered within %d ms", count(v.Requests), v.LatencyP99)
	if r.Cost.Took == 0 || r.Cost.Server == 0 {
		return text + "."
	}
	share := func(d time.Duration) string { return percent(d.Seconds() / r.Cost.Took.Seconds()) }
	text += fmt.Sprintf("; the server used %s of one processor", share(r.Cost.Server))
	if r.Cost.ServerBytes > 0 {
		text += fmt.Sprintf(" and %d MB", r.Cost.ServerBytes>>20)
	}
	if r.Cost.Redis > 0 {
		text += fmt.Sprintf(", Redis %s", share(r.Cost.Redis))
	}
	return text + "."
}

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

// Write writes the page as text.
func (s *Summary) Write(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "LOAD TEST OF THE WAITING ROOM\n%s, %s; crowd of size %s; %s\n\n%s\n\n",
		s.When.UTC().Format("2 January 2006, 15:04 UTC"), s.Machine, s.Size, s.Took.Round(time.Second), s.Headline())
	fmt.Fprintf(&t, "%-20s %7s %7s %13s %13s %8s %6s %6s %6s %5s\n",
		"", "came", "let in", "most in a", "most in a", "longest", "lost", "off by", "used", "kept")
	fmt.Fprintf(&t, "%-20s %7s %7s %13s %13s %8s %6s %6s %6s %5s\n",
		"", "", "", "window, of", "minute, of", "wait", "", "", "", "")
	for _, r := range s.Runs {
		v := r.Verdict
		fmt.Fprintf(&t, "%-20s %7s %7s %13s %13s %8s %6s %6s %6s %5s\n", r.Name(), count(v.Came), count(v.In),
			of(v.MostWindow, v.Limit), of(v.MostMinute, v.PerMinute), seconds(v.LongestWait), count(v.Lost),
			percent(v.EstimateError), percent(v.Capacity), yes(r.Kept()))
	}
	said := ""
	for _, r := range s.Runs {
		if r.Story.Scenario != said {
			said = r.Story.Scenario
			fmt.Fprintf(&t, "\n%s: %s.\n", strings.ToUpper(said), r.About())
		}
		fmt.Fprintf(&t, "  %s store:", r.Store)
		wrap(&t, strings.Join(r.Sentences(), " "), "    ")
		for _, b := range r.Broken() {
			fmt.Fprintf(&t, "    BROKEN: %s\n", b)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// lineLength is what a terminal and a sheet of paper both take.
const lineLength = 100

// wrap writes words behind what is there, on lines of their own.
func wrap(t *strings.Builder, text, indent string) {
	length := lineLength
	for word := range strings.FieldsSeq(text) {
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
	t.WriteByte('\n')
}

func of(n int, limit int64) string { return count(n) + " / " + count(int(limit)) }

func yes(kept bool) string {
	if kept {
		return "yes"
	}
	return "NO"
}

// seconds writes milliseconds for people.
func seconds(n int64) string {
	switch d := millis(n); {
	case d < 10*time.Second && n%1000 != 0:
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
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
