package fault

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/zone"
)

// tableFile is where the fault table goes; see make faults.
var tableFile = flag.String("table", "", "write the fault table to this file")

// defaultParallel is how many experiments run at a time, whatever the cores: they
// wait for timeouts most of the time.
const defaultParallel = "6"

// table has a row for each fault that was played.
var table rows

func TestMain(m *testing.M) {
	flag.Parse()
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", defaultParallel); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if err := table.write(*tableFile); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// row is one fault's figures, over all its zones.
type row struct {
	fault                     string
	visitors                  int
	errors                    int
	outage, slowest           time.Duration
	windows, lost, inversions int
	overtaken                 float64
	answers, admits           time.Duration
	// late is how many were not looked at for order.
	late int
	// goroutines and connections are left over.
	goroutines, connections int
}

// add takes in what the crowd of one zone saw. The outage is not among it: in a
// zone with few visitors, nobody asks for seconds. Nor is the overtaking where it
// is counted in windows that are shorter than a refusal keeps one away.
func (r *row) add(z zone.Settings, v verdict) {
	r.errors += v.errors
	r.slowest = max(r.slowest, v.slowest)
	r.windows += v.windows
	r.lost += len(v.lost)
	r.inversions += v.inversions
	r.late += v.late
	if z.Window() >= stayAway {
		r.overtaken = max(r.overtaken, v.overtaken)
	}
}

// neighbour is what the crowd of a zone saw that lies on another node than the
// one with the fault: its window after the fault, and the median and nine of ten
// of its answers' times, before and during.
type neighbour struct {
	fault, zoneID  string
	entered, limit int
	before, during [2]time.Duration
}

// rows are collected from tests that run in parallel.
type rows struct {
	mu         sync.Mutex
	all        []row
	neighbours []neighbour
	storms     []storm
	estimates  []string
}

func (t *rows) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, r)
}

func (t *rows) addNeighbour(n neighbour) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.neighbours = append(t.neighbours, n)
}

func (t *rows) addStorm(s storm) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storms = append(t.storms, s)
}

func (t *rows) addEstimates(row string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.estimates = append(t.estimates, row)
}

const head = `| fault | visitors | outage seen | errors | slowest 503 | windows exceeded | places lost | order inversions | overtaken, windows | late | answers again | admits again | goroutines, connections left |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

const neighbourHead = `
| zone of another node, while | let in, in the window after, of | answered before: median, p90 | answered meanwhile |
| --- | ---: | ---: | ---: |
`

const estimatesHead = `
| crowd | visitors | late | error, median, p90 | range held it | by thirds of the wait | its width, by thirds | moved by more than a tenth | the servers: held |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
`

// markdown is the table of faults, and those of neighbours, storms and estimates, if any.
func (t *rows) markdown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.all, func(a, b row) int { return cmp.Compare(a.fault, b.fault) })
	slices.SortFunc(t.neighbours, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.fault, b.fault), cmp.Compare(a.zoneID, b.zoneID))
	})
	var b strings.Builder
	b.WriteString(head)
	for _, r := range t.all {
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %d | %d | %d | %.1f | %d | %s | %s | %+d, %d |\n",
			r.fault, r.visitors, seconds(r.outage), r.errors, seconds(r.slowest),
			r.windows, r.lost, r.inversions, r.overtaken, r.late, seconds(r.answers), seconds(r.admits),
			r.goroutines, r.connections)
	}
	if len(t.neighbours) > 0 {
		b.WriteString(neighbourHead)
	}
	for _, n := range t.neighbours {
		fmt.Fprintf(&b, "| %s: %s | %d of %d | %s, %s | %s, %s |\n", n.fault, n.zoneID, n.entered, n.limit,
			millis(n.before[0]), millis(n.before[1]), millis(n.during[0]), millis(n.during[1]))
	}
	for _, s := range t.storms {
		s.write(&b)
	}
	if len(t.estimates) > 0 {
		slices.Sort(t.estimates)
		b.WriteString(estimatesHead + strings.Join(t.estimates, ""))
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// write writes the tables, if they are wanted.
func (t *rows) write(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(t.markdown()), 0o600)
}
