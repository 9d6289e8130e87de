package local

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/measure"
)

// The limit that is attacked, and how.
const (
	attackLimit  = 100
	attackWindow = time.Minute
	// attackStep is how often the greedy client asks, for attackFor.
	attackStep = 100 * time.Millisecond
	attackFor  = 4 * attackWindow
	// almost is when a window of the clock is nearly over.
	almost = attackWindow - 100*time.Millisecond
)

// attacked are the rules in the table.
var attacked = []limit.Rule{
	{Algorithm: limit.SlidingLog},
	{Algorithm: limit.SlidingCounter},
	{Algorithm: limit.TokenBucket},
	{Algorithm: limit.TokenBucket, Burst: 10},
	{Algorithm: limit.LeakyBucket, Burst: attackLimit - 1},
	{Algorithm: limit.LeakyBucket, Burst: 9},
	{Algorithm: limit.FixedWindow},
}

// write says that the test writes the table of docs/limits.md.
var write = flag.Bool("write", false, "write the table of attacks into docs/limits.md")

// TestAttacks makes the attacks on every algorithm. What passed is the table of docs/limits.md. The store of Redis needs no
// attacks of its own: it is held to the same model.
func TestAttacks(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| algorithm | at 59.9 s | at 60.1 s | both | greedy: most in any minute | even: passed |\n")
	table.WriteString("| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range attacked {
		r.Limit, r.WindowSeconds = attackLimit, int64(attackWindow.Seconds())
		name := "`" + string(r.Algorithm) + "`"
		if r.Burst > 0 {
			name += fmt.Sprintf(", burst %d", r.Burst)
		}
		from := func(after time.Duration) attacker { return attack(t, r, after) }
		before, after := from(almost).boundary()
		most, even := from(almost).greedy(), from(0).even()
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %.1f %% |\n", name, before, after, before+after, most, even)
		if most > attackLimit && r.Algorithm == limit.SlidingLog {
			t.Errorf("a sliding log let %d pass in a minute", most)
		}
	}
	const file, begin = "../../../../docs/limits.md", "<!-- This table is written and checked by TestAttacks. -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), begin)
	was, tail, found := strings.Cut(rest, "\n\n")
	switch {
	case !found:
		t.Fatal("the document has no place for the table")
	case was+"\n" == table.String():
	case *write:
		if err := os.WriteFile(file, []byte(head+begin+table.String()+"\n"+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has another table; run this test with -write:\n%s", file, was)
	}
}

// attacker is one client of one rule.
type attacker struct {
	*testing.T
	store *Counters
	clock *conformance.Clock
	rule  limit.Rule
}

// attack begins so long after a window of the clock has.
func attack(t *testing.T, r limit.Rule, after time.Duration) attacker {
	t.Helper()
	a := attacker{t, nil, conformance.NewClock(), r}
	a.store = New(CountersOptions{Now: a.clock.Now})
	t.Cleanup(a.store.Close)
	since := a.clock.Now().Sub(a.clock.Now().Truncate(attackWindow))
	a.clock.Add(2*attackWindow - since + after)
	return a
}

// passes asks n times at once, and returns how often it was allowed.
func (a attacker) passes(n int) (allowed int) {
	a.Helper()
	for range n {
		v, err := a.store.Allow(a.Context(), limit.Request{
			Policy: "attack", Tier: "t", Subject: "s", Rules: []limit.Rule{a.rule}, Cost: 1,
		})
		if err != nil {
			a.Fatal(err)
		}
		if v.Allowed {
			allowed++
		}
	}
	return allowed
}

// boundary takes the limit at 59.9 s, and again at 60.1 s.
func (a attacker) boundary() (before, after int) {
	a.Helper()
	before = a.passes(attackLimit)
	a.clock.Add(200 * time.Millisecond)
	return before, a.passes(attackLimit)
}

// greedy takes the limit at 59.9 s, and then asks all the time. It returns the most
// that passed within a minute.
func (a attacker) greedy() int {
	a.Helper()
	var passed []int64
	ask := func(n int) {
		for range a.passes(n) {
			passed = append(passed, a.clock.Now().UnixMilli())
		}
	}
	ask(attackLimit)
	for range attackFor / attackStep {
		a.clock.Add(attackStep)
		ask(1)
	}
	return measure.Most(passed, attackWindow.Milliseconds()-1)
}

// even asks exactly as often as the limit says, evenly. It returns how many of a
// hundred passed.
func (a attacker) even() (percent float64) {
	a.Helper()
	asked, passed := 0, 0
	for range attackFor / (attackWindow / attackLimit) {
		passed += a.passes(1)
		asked++
		a.clock.Add(attackWindow / attackLimit)
	}
	return 100 * float64(passed) / float64(asked)
}
