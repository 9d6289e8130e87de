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

// defaultParallel is how many scenes play at a time, whatever the cores: they
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
		if err := removeBinaries(); err != nil {
			fmt.Fprintln(os.Stderr, err)
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
	if z.Window() >= stayAway {
		r.overtaken = max(r.overtaken, v.overtaken)
	}
}

// rows are collected from tests that run in parallel.
type rows struct {
	mu  sync.Mutex
	all []row
}

func (t *rows) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, r)
}

const head = `| fault | visitors | outage seen | errors | slowest 503 | windows exceeded | places lost | order inversions | overtaken, windows | answers again | admits again |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// markdown is the table.
func (t *rows) markdown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.all, func(a, b row) int { return cmp.Compare(a.fault, b.fault) })
	var b strings.Builder
	b.WriteString(head)
	for _, r := range t.all {
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %d | %d | %d | %.1f | %s | %s |\n",
			r.fault, r.visitors, seconds(r.outage), r.errors, seconds(r.slowest),
			r.windows, r.lost, r.inversions, r.overtaken, seconds(r.answers), seconds(r.admits))
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// write writes the table, if it is wanted.
func (t *rows) write(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(t.markdown()), 0o600)
}
