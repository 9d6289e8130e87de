package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// segment are settings that were in force from a time on. least and most are the bounds between which the autopilot sets the cap: its steps are not
// in the record. They are 0 where it does not steer.
type segment struct {
	at int64
	admissionlog.Settings
	least, most int64
}

func segmentOf(at int64, l *limits) segment {
	s := segment{at: at, Settings: l.Settings}
	if l.Pilot == "steer" {
		s.least, s.most = l.PilotMin, l.PilotMax
	}
	return s
}

// allows reports whether these settings are the segment's, but for a step of the autopilot.
func (s segment) allows(is admissionlog.Settings) bool {
	if s.least <= is.MaxInside && is.MaxInside <= s.most {
		is.MaxInside = s.MaxInside
	}
	return s.Settings == is
}

// said are the settings that the servers went by, as their logs say.
func (c *check) said() (all []segment) {
	for l := range c.lines(admissionlog.InForce) {
		all = append(all, segment{at: l.At, Settings: *l.Settings})
	}
	slices.SortStableFunc(all, func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	if len(all) > 0 {
		all[0].at = 0
	}
	return all
}

// segments are the settings by the record, the oldest first. Without a record they are those that the servers went by.
func (c *check) segments() (all []segment) {
	for i, change := range c.Record {
		if i == 0 && change.was != nil {
			all = append(all, segmentOf(0, change.was))
		}
		if change.now != nil {
			all = append(all, segmentOf(change.At, change.now))
		}
	}
	if len(all) == 0 {
		return c.said()
	}
	return all
}

// lines are those of a kind of the zone, in all logs.
func (c *check) lines(kind string) iter.Seq[*admissionlog.Line] {
	return func(yield func(*admissionlog.Line) bool) {
		for i := range c.Runs {
			for k := range c.Runs[i].Lines {
				if l := &c.Runs[i].Lines[k]; l.Kind == kind && l.Zone == c.Zone && !yield(l) {
					return
				}
			}
		}
	}
}

// during are the settings that were in force at any time of a closed span.
func during(all []segment, from, to int64) []segment {
	first := max(0, sort.Search(len(all), func(i int) bool { return all[i].at > from })-1)
	upto := sort.Search(len(all), func(i int) bool { return all[i].at > to })
	return all[min(first, upto):upto]
}

// record checks the seals, that each entry begins where the one before ended, and that the servers went by what the record says.
func (c *check) record() {
	for _, change := range c.Record {
		for _, f := range change.Findings {
			c.find(f.Verdict, "the record of changes: %s", f.What)
		}
	}
	for i := 1; i < len(c.Record); i++ {
		was, is := c.Record[i-1].now, c.Record[i].was
		if was != nil && is != nil && !segmentOf(0, was).allows(is.Settings) {
			c.find(Tampered, "the record of changes contradicts itself: the entry of %s ends with %+v, and that of %s begins with %+v. An entry was changed or removed",
				clock(c.Record[i-1].At), was.Settings, clock(c.Record[i].At), is.Settings)
		}
	}
	if len(c.Record) == 0 {
		c.find(Unproved, "there is no record of changes: the limits are those that the servers say they went by")
		return
	}
	all := c.segments()
	for l := range c.lines(admissionlog.InForce) {
		// A server hears of a change within a second, and may put a brake into force before the store has it.
		by := during(all, l.At-lostWithin, l.At+lostWithin)
		if !slices.ContainsFunc(by, func(s segment) bool { return s.allows(*l.Settings) }) {
			c.find(Tampered, "the record of changes was changed: at %s a server went by %+v (%s), and the record has nothing of it", clock(l.At), *l.Settings, where(l))
		}
	}
}

// limits counts the admissions of each window and minute.
func (c *check) limits() {
	all := c.segments()
	var firstOfMinute int
	for i := range c.admitted {
		l := &c.admitted[i]
		for c.admitted[firstOfMinute].At < l.At-minute {
			firstOfMinute++
		}
		if c.From > 0 && l.At < c.From || c.To > 0 && l.At >= c.To {
			continue
		}
		c.Figures.Admitted++
		if l.Local {
			c.Figures.Local++
		}
		c.span("a minute", &c.Figures.InMinute, int64(i-firstOfMinute+1), l.At, during(all, l.At-minute, l.At), func(s segment) int64 { return s.PerMinute })
		for _, is := range during(all, l.At, l.At) {
			from := l.At - 1000*is.WindowSeconds
			first := sort.Search(i, func(k int) bool { return c.admitted[k].At >= from })
			c.span("a window", &c.Figures.InWindow, int64(i-first+1), l.At, during(all, from, l.At), func(s segment) int64 {
				return max(1, (s.PerMinute*s.WindowSeconds+59)/60) + s.Burst
			})
		}
	}
}

// span takes in how many were admitted in a span, and compares with the highest limit of it.
func (c *check) span(name string, most *Most, n, at int64, by []segment, limit func(segment) int64) {
	highest := int64(0)
	for _, s := range by {
		if s.Mode == "open" { // everybody enters
			return
		}
		if s.PerMinute > 0 {
			highest = max(highest, limit(s))
		}
	}
	if n > most.Admissions {
		*most = Most{n, highest, at}
	}
	if n > highest {
		c.find(Broken, "%d were admitted in %s that ended at %s, and %d was the limit", n, name, clock(at), highest)
	}
}

// cap checks that nobody entered above the cap, by what the store counted each second. After a cap was lowered those inside stay.
func (c *check) cap() {
	counted := slices.SortedStableFunc(c.lines(admissionlog.Counted), func(a, b *admissionlog.Line) int { return cmp.Compare(a.At, b.At) })
	all, said, before := c.segments(), c.said(), int64(0)
	for _, l := range counted {
		highest, capped := int64(0), true
		for _, s := range during(all, l.At-1000, l.At) {
			capped = capped && s.MaxInside > 0
			if s.most == 0 {
				highest = max(highest, s.MaxInside)
				continue
			}
			for _, by := range during(said, l.At-lostWithin, l.At) {
				highest = max(highest, min(by.MaxInside, s.most))
			}
		}
		if inside := l.Totals.Inside; capped && len(all) > 0 {
			if inside > c.Figures.Inside.Admissions {
				c.Figures.Inside = Most{inside, highest, l.At}
			}
			if inside > max(highest, before) {
				c.find(Broken, "%d were inside at %s, and %d was the cap (%s)", inside, clock(l.At), highest, where(l))
			}
		}
		before = l.Totals.Inside
	}
}

// stands is where a visitor stood in the line.
func stands(l *admissionlog.Line) int64 {
	if l.Score > 0 {
		return l.Score
	}
	return l.Arrived
}

// late says that a visitor did not come when told, or came back.
func (c *check) late(l *admissionlog.Line) bool {
	return l.Due > 0 && l.At > l.Due+missedBy || c.returned[l.Arrived]
}

// order counts by how many each punctual visitor was overtaken: admissions before, of those who stood behind. A window's worth is that of the
// highest limit while the visitor waited. While a zone is open there is no order.
func (c *check) order() {
	all := c.segments()
	behind := newer(c.admitted)
	var overtaken []int64
	for i := range c.admitted {
		l := &c.admitted[i]
		if c.late(l) || l.Local || c.From > 0 && l.At < c.From || c.To > 0 && l.At >= c.To {
			continue
		}
		waited := during(all, min(l.Arrived/1000, l.At-minute), l.At)
		if slices.ContainsFunc(waited, func(s segment) bool { return s.Mode == "open" }) {
			continue
		}
		overtaken = append(overtaken, behind[i])
		worth := int64(0)
		for _, s := range waited {
			worth = max(worth, (s.PerMinute*s.WindowSeconds+59)/60)
		}
		if windows := float64(behind[i]) / float64(max(1, worth)); behind[i] > c.Figures.OvertakenMost {
			c.Figures.OvertakenMost, c.Figures.OvertakenWorth = behind[i], windows
			if windows > 2 {
				c.find(Broken, "%s, who always came when told, was overtaken by %d who stood behind, %.1f windows' worth (%s)", l.Who, behind[i], windows, where(l))
			}
		}
	}
	if n := len(overtaken); n > 0 {
		slices.Sort(overtaken)
		c.Figures.Punctual, c.Figures.OvertakenP99 = int64(n), overtaken[n*99/100]
	}
}

// newer returns for each admission how many before it stood behind it: a Fenwick tree over where they stood.
func newer(admitted []admissionlog.Line) []int64 {
	ranks := make([]int64, len(admitted))
	for i := range admitted {
		ranks[i] = stands(&admitted[i])
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(ranks)))
	tree, out := make([]int64, len(sorted)+1), make([]int64, len(admitted))
	for i, stood := range ranks {
		rank, _ := slices.BinarySearch(sorted, stood)
		upTo := int64(0)
		for k := rank + 1; k > 0; k -= k & -k {
			upTo += tree[k]
		}
		out[i] = int64(i) - upTo
		for k := rank + 1; k < len(tree); k += k & -k {
			tree[k]++
		}
	}
	return out
}

// draws checks that each drawn place is the one that the published seed gives its ticket.
func (c *check) draws() {
	for _, d := range c.Draws {
		seed, err := hex.DecodeString(d.Seed)
		if sum := sha256.Sum256(seed); err != nil || hex.EncodeToString(sum[:]) != d.Commitment {
			c.find(Tampered, "the seed of the draw of %s is not the one of its commitment", d.Event)
		}
	}
	for i := range c.admitted {
		l := &c.admitted[i]
		for _, d := range c.Draws {
			if l.Score < d.FromMicros || l.Score >= d.UptoMicros {
				continue
			}
			if is, err := d.score(l.Ticket); err != nil || is != l.Score {
				c.find(Tampered, "%s: the place of ticket %s in the draw of %s is not the one that the seed gives it", where(l), l.Ticket, d.Event)
			}
		}
	}
}
