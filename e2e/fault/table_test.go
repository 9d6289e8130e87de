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

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// tableFile is where the table of faults goes; see make faults.
var tableFile = flag.String("table", "", "write the table of faults to this file")

// atOnce is how many experiments run at a time, whatever the cores: they wait for timeouts most of
// the time.
const atOnce = "6"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	flag.Parse()
	toxics.Register("swallow", new(swallower))
	status := m.Run()
	if *tableFile != "" {
		if err := os.WriteFile(*tableFile, []byte(table.markdown()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// table has a row for each fault that was played.
var table rows

// rows are collected from tests that run in parallel.
type rows struct {
	mu  sync.Mutex
	all []row
}

// row is one fault's figures, over all its zones.
type row struct {
	fault            string
	visitors, errors int
	outage, slowest  time.Duration
	over, lost       int
	inversions       int
	overtaken        float64
	late             int
	answers, admits  time.Duration
	goroutines       int
}

func (t *rows) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, r)
}

const head = `| fault | visitors | outage seen | errors | slowest 503 | admissions over | places lost | order inversions | overtaken, windows | late | answers again | admits again | goroutines |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// markdown is the table, by the faults' names.
func (t *rows) markdown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.all, func(a, b row) int { return cmp.Compare(a.fault, b.fault) })
	var b strings.Builder
	b.WriteString(head)
	for _, r := range t.all {
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %d | %d | %d | %.1f | %d | %s | %s | %+d |\n",
			r.fault, r.visitors, seconds(r.outage), r.errors, seconds(r.slowest), r.over, r.lost, r.inversions, r.overtaken, r.late,
			seconds(r.answers), seconds(r.admits), r.goroutines)
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
