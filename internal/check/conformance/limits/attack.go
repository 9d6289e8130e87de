package limits

import (
	"fmt"
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

// Attacks makes the attacks on every algorithm, and returns what passed, as the
// table of docs/limits.md.
func Attacks(t *testing.T, open func(t conformance.TB, now func() time.Time) Store) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| algorithm | at 59.9 s | at 60.1 s | both | greedy: most in any minute | even: passed |\n")
	table.WriteString("| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range attacked {
		r.Limit, r.WindowSeconds = attackLimit, int64(attackWindow.Seconds())
		name := "`" + string(r.Algorithm) + "`"
		if r.Burst > 0 {
			name += fmt.Sprintf(", burst %d", r.Burst)
		}
		from := func(after time.Duration) attacker { return attack(t, open, r, after) }
		before, after := from(almost).boundary()
		most, even := from(almost).greedy(), from(0).even()
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %.1f %% |\n", name, before, after, before+after, most, even)
		if most > attackLimit && r.Algorithm == limit.SlidingLog {
			t.Errorf("a sliding log let %d pass in a minute", most)
		}
	}
	t.Logf("limit %d a minute\n%s", attackLimit, table.String())
	return table.String()
}

// Cut returns a document's table of attacks, and what is before and after it.
func Cut(t *testing.T, document string) (head, table, tail string) {
	t.Helper()
	const begin = "<!-- This table is written and checked by TestAttacks. -->\n"
	head, rest, found := strings.Cut(document, begin)
	table, tail, found2 := strings.Cut(rest, "\n\n")
	if !found || !found2 {
		t.Fatal("the document has no place for the table")
	}
	return head + begin, table + "\n", "\n" + tail
}

// attacker is one client of one rule.
type attacker struct {
	*testing.T
	store Store
	clock *conformance.Clock
	rule  limit.Rule
}

// attack begins so long after a window of the clock has.
func attack(t *testing.T, open func(t conformance.TB, now func() time.Time) Store, r limit.Rule, after time.Duration) attacker {
	t.Helper()
	a := attacker{t, nil, conformance.NewClock(), r}
	a.store = open(t, a.clock.Now)
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
