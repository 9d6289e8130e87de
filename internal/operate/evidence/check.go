package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// Verdicts, the worst last.
const (
	Held     = "held"
	Unproved = "unproved" // nothing speaks against it, but something is missing that could
	Broken   = "broken"   // a promise was not kept
	Tampered = "tampered" // the logs contradict themselves, each other, the record or a kept head
)

var order = []string{Held, Unproved, Broken, Tampered}

const (
	minute = 60_000
	day    = 24 * 60 * minute
	// lostWithin is how long before or after an admission without a line the cause must be that explains it, in milliseconds: a request
	// may take some seconds, and sums are written once a second.
	lostWithin = 10_000
	// missedBy is by how much a visitor must have been late to have missed the turn, in milliseconds.
	missedBy = 2_000
)

// Finding is one thing that was found.
type Finding struct {
	Verdict string `json:"verdict"`
	What    string `json:"what"`
}

// Most is the fullest span.
type Most struct {
	Admissions int64 `json:"admissions"`
	Limit      int64 `json:"limit"`
	// At is when it ended, in Unix milliseconds.
	At int64 `json:"at"`
}

// Figures are what the logs say of the span that was judged.
type Figures struct {
	Joined   int64 `json:"joined"`
	Admitted int64 `json:"admitted"`
	// Local are those of Admitted whom a server let in by itself, while the store was away.
	Local    int64            `json:"local"`
	Left     int64            `json:"left"`
	Returned int64            `json:"returned"`
	Refused  map[string]int64 `json:"refused"`
	InWindow Most             `json:"inWindow"`
	InMinute Most             `json:"inMinute"`
	Inside   Most             `json:"inside"`
	// Punctual are the admitted who always came when they were told. Of them: by how many who stood behind them they were overtaken, in the
	// 99th of 100 and at most; the most also in windows' worths.
	Punctual       int64   `json:"punctual"`
	OvertakenP99   int64   `json:"overtakenP99"`
	OvertakenMost  int64   `json:"overtakenMost"`
	OvertakenWorth float64 `json:"overtakenWorth"`
}

// Result is the judgement.
type Result struct {
	Verdict  string    `json:"verdict"`
	Findings []Finding `json:"findings"`
	Figures  Figures   `json:"figures"`
}

// check is a judgement in the making.
type check struct {
	*Source
	Result
	admitted []admissionlog.Line // in order of time; without a number where the first answer was lost
	repeated []admissionlog.Line
	joined   map[string]bool // by who and arrival
	returned map[int64]bool  // by arrival: the key may have been destroyed in between
	lost     []int64         // when answers may have been lost
	asked    []int64         // of which admissions the first answer was lost, and no missing number has been explained by it
}

func newCheck(s *Source) *check {
	c := &check{Source: s, joined: map[string]bool{}, returned: map[int64]bool{}}
	c.Figures.Refused = map[string]int64{}
	return c
}

// Check judges.
func Check(s *Source) Result {
	c := newCheck(s)
	for _, fault := range s.Faults {
		c.find(Tampered, "%s", fault)
	}
	for i := range s.Runs {
		c.run(&s.Runs[i])
	}
	c.keptHeads()
	c.again()
	slices.SortStableFunc(c.admitted, func(a, b admissionlog.Line) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number))
	})
	c.numbers()
	c.record()
	c.limits()
	c.cap()
	c.order()
	c.draws()
	c.Verdict = Held
	for _, f := range c.Findings {
		if slices.Index(order, f.Verdict) > slices.Index(order, c.Verdict) {
			c.Verdict = f.Verdict
		}
	}
	return c.Result
}

func (c *check) find(verdict, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{verdict, fmt.Sprintf(format, args...)})
}

// clock writes a time in milliseconds.
func clock(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

// where names a line.
func where(l *admissionlog.Line) string { return fmt.Sprintf("%s, line %d", l.File, l.Row) }

// who names a place.
func who(l *admissionlog.Line) string { return fmt.Sprintf("%s/%d", l.Who, l.Arrived) }

// run checks the heads of a run, and takes in its lines of the zone.
func (c *check) run(r *admissionlog.Run) {
	signed, unknown := 0, false
	for i := range r.Lines {
		l := &r.Lines[i]
		switch {
		case l.Kind == admissionlog.Head:
			var head admissionlog.HeadClaims
			if err := c.Keys.read(l.JWS, admissionlog.HeadType, &head); errors.Is(err, errKey) {
				if !unknown {
					c.find(Unproved, "%s: the heads of run %s are signed by a key that is not among these. Take the keys of before the event: the secret may have been rotated since", where(l), r.Name)
				}
				unknown = true
			} else if err != nil {
				c.find(Tampered, "%s: the head at %s is not signed by these keys", where(l), clock(l.At))
			} else if head.Hash != l.Hash || head.Run != r.Name {
				c.find(Tampered, "%s: the lines before the head at %s are not those that it was signed over: some were changed, added, removed or put elsewhere since line %d",
					where(l), clock(head.At), signed+1)
			}
			signed = l.Row
		case l.Kind == admissionlog.Gap:
			c.find(Unproved, "%s: the server could not write %d lines before %s", where(l), l.Count, clock(l.At))
			c.lost = append(c.lost, l.At)
		case l.Zone == c.Zone:
			c.take(l)
		}
	}
	n := len(r.Lines)
	last := &r.Lines[n-1]
	if last.Kind != admissionlog.Head {
		c.find(Unproved, "%s: the lines after the last head, of line %d, are not signed: the server was killed while it wrote them, or they were added", where(last), signed)
	}
	if r.Torn != "" {
		c.find(Unproved, "%s ends in the middle of a line, as after a kill or when the machine stops", r.Torn)
	}
	if n < 2 || r.Lines[n-2].Kind != admissionlog.End || r.Torn != "" {
		c.find(Unproved, "run %s ends at %s without its last line: the server was killed or still runs, or the end was cut off", r.Name, clock(last.At))
		c.lost = append(c.lost, last.At)
	}
}

// take takes in a line of the zone.
func (c *check) take(l *admissionlog.Line) {
	within := (c.From == 0 || l.At >= c.From) && (c.To == 0 || l.At < c.To)
	n := int64(0)
	if within {
		n = 1
	}
	switch l.Kind {
	case admissionlog.Joined:
		if !c.joined[who(l)] { // a repeated join may have written the line again
			c.Figures.Joined += n
		}
		c.joined[who(l)] = true
	case admissionlog.Admitted:
		c.admitted = append(c.admitted, *l)
	case admissionlog.Repeated:
		c.repeated = append(c.repeated, *l)
	case admissionlog.Returned:
		c.Figures.Returned += n
		c.returned[l.Arrived] = true
	case admissionlog.Left:
		c.Figures.Left += n
	case admissionlog.Refused:
		c.Figures.Refused[l.Reason] += n * l.Count
		if l.Reason == "store_unavailable" {
			c.lost = append(c.lost, l.At)
		}
	}
}

// keptHeads looks for heads that somebody kept.
func (c *check) keptHeads() {
	for _, text := range c.Heads {
		var head admissionlog.HeadClaims
		if err := c.Keys.read(text, admissionlog.HeadType, &head); err != nil {
			c.find(Unproved, "a kept head is not signed by these keys")
			continue
		}
		i := slices.IndexFunc(c.Runs, func(r admissionlog.Run) bool { return r.Name == head.Run })
		switch {
		case i < 0:
			c.find(Tampered, "the log of run %s is missing: a head of %s was kept", head.Run, clock(head.At))
		case !slices.ContainsFunc(c.Runs[i].Lines, func(l admissionlog.Line) bool { return l.Kind == admissionlog.Head && l.Hash == head.Hash }):
			c.find(Tampered, "the log of run %s was written anew, or cut: it no longer has the lines over which the kept head of %s was signed", head.Run, clock(head.At))
		}
	}
}

// again takes in admissions of which the store's first answer was lost: the visitor asked again, and was told of it. Of one who joins again
// the arrival is not known, and the key is that of the day of the admission. So one who arrived on another day is known by the time alone. Who
// polls is known by the arrival, also when the key was destroyed in between.
func (c *check) again() {
	known, overnight := map[string]bool{}, map[int64]bool{}
	of := func(l *admissionlog.Line) string { return fmt.Sprintf("%s@%d", l.Who, l.At) }
	place := func(l *admissionlog.Line) string { return fmt.Sprintf("/%d@%d", l.Arrived, l.At) }
	sameDay := func(l *admissionlog.Line) bool { return l.Arrived/(1000*day) == l.At/day }
	for i := range c.admitted {
		l := &c.admitted[i]
		known[of(l)], known[place(l)] = true, true
		overnight[l.At] = overnight[l.At] || !sameDay(l)
	}
	for i := range c.repeated {
		if l := c.repeated[i]; !known[of(&l)] && !known[place(&l)] && (!overnight[l.At] || !sameDay(&l)) {
			known[of(&l)] = true
			l.Kind, l.Number = admissionlog.Admitted, 0
			c.asked = append(c.asked, l.At)
			c.admitted = append(c.admitted, l)
		}
	}
}

// numbers checks that each number of each data is there once, in order of time, and that no place was admitted twice.
func (c *check) numbers() {
	byData := map[string][]admissionlog.Line{}
	places := map[string]*admissionlog.Line{}
	for i := range c.admitted {
		l := &c.admitted[i]
		if was := places[who(l)]; was != nil {
			c.find(Broken, "%s was admitted twice, at %s and %s (%s)", l.Who, clock(was.At), clock(l.At), where(l))
		}
		if places[who(l)] = l; l.Number > 0 {
			byData[l.Data] = append(byData[l.Data], *l)
		}
	}
	counted := c.counted()
	for data := range counted {
		if byData[data] == nil {
			byData[data] = nil
		}
	}
	order := slices.SortedFunc(maps.Keys(byData), func(a, b string) int {
		return cmp.Or(cmp.Compare(counted[a].firstAt, counted[b].firstAt), cmp.Compare(a, b))
	})
	var highest, highestAt int64 // in the data before: where less than all was lost, the numbers go on
	for _, data := range order {
		all := byData[data]
		slices.SortStableFunc(all, func(a, b admissionlog.Line) int { return cmp.Compare(a.Number, b.Number) })
		for i := 1; i < len(all); i++ {
			was, is := &all[i-1], &all[i]
			switch {
			case is.Number == was.Number:
				c.find(Tampered, "admission %d is there twice: %s and %s. One was added", is.Number, where(was), where(is))
			case is.At < was.At:
				c.find(Tampered, "a clock was set back: admission %d is of %s (%s), and %d, which came before, of %s (%s)",
					is.Number, clock(is.At), where(is), was.Number, clock(was.At), where(was))
			}
			c.missing(was.Number+1, is.Number-1, was.At, is.At)
		}
		if is, ok := counted[data]; ok {
			first, last, from := is.first+1, is.first, is.firstAt
			if n := len(all); n > 0 {
				first, last, from = min(first, all[0].Number), all[n-1].Number, all[n-1].At
				c.missing(first, all[0].Number-1, is.firstAt, all[0].At)
			}
			c.missing(last+1, is.last, from, is.lastAt)
			if highest > 0 {
				c.missing(highest+1, first-1, highestAt, is.firstAt)
			}
			if highest, highestAt = is.last, is.lastAt; last > highest {
				highest, highestAt = last, from
			}
		}
	}
}

// count is what the store had counted in some data at first and at last, by the lines of totals.
type count struct{ first, firstAt, last, lastAt int64 }

func (c *check) counted() map[string]count {
	all := map[string]count{}
	for l := range c.lines(admissionlog.Counted) {
		is, known := all[l.Data]
		if !known || l.Totals.Admitted < is.first {
			is.first, is.firstAt = l.Totals.Admitted, l.At
		}
		if !known || l.Totals.Admitted > is.last {
			is.last, is.lastAt = l.Totals.Admitted, l.At
		}
		all[l.Data] = is
	}
	return all
}

// missing looks for what explains that numbers are in no log which the store gave between two times.
func (c *check) missing(first, last, from, to int64) {
	if last < first {
		return
	}
	n := last - first + 1
	c.asked = slices.DeleteFunc(c.asked, func(at int64) bool {
		explains := n > 0 && at >= from && at <= to
		if explains {
			n--
		}
		return explains
	})
	if n == 0 {
		return
	}
	numbers := fmt.Sprintf("admission %d", first)
	if last > first {
		numbers = fmt.Sprintf("admissions %d to %d", first, last)
	}
	span := fmt.Sprintf("of between %s and %s", clock(from), clock(to))
	if slices.ContainsFunc(c.lost, func(at int64) bool { return at >= from-lostWithin && at <= to+lostWithin }) {
		c.find(Unproved, "%s %s: %d without a line. Answers of the store were lost, or a server was killed, at that time", numbers, span, n)
		return
	}
	c.find(Tampered, "%s %s: %d in no log. Lines were removed, or the log of a server is missing", numbers, span, n)
}
