package acceptance

import (
	"cmp"
	"slices"
)

// order counts, for each who polled when told to, those who came later and were let
// in earlier. Who was not let in is looked at when last heard of: up to then, the
// visitor stood in the line and could be passed.
func (v *Verdict) order(s *Story, limit float64) {
	type moment struct {
		at   int64 // Unix milliseconds
		rank int
		who  *Visitor
	}
	var byPlace []*Visitor
	for i := range s.Visitors {
		if o := &s.Visitors[i]; o.place() != 0 {
			byPlace = append(byPlace, o)
		}
	}
	slices.SortFunc(byPlace, func(a, b *Visitor) int { return cmp.Compare(a.place(), b.place()) })
	moments := make([]moment, len(byPlace))
	for rank, o := range byPlace {
		at := o.Admitted
		if at == 0 {
			at = s.Began + o.last()
		}
		moments[rank] = moment{at, rank, o}
	}
	// Who was let in at the same millisecond did not overtake: the earlier first.
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	inside := newTally(len(byPlace))
	var overtaken []float64
	for _, m := range moments {
		if m.who.punctual() {
			v.Punctual++
			overtaken = append(overtaken, float64(inside.above(m.rank))/limit)
		}
		if m.who.Admitted > 0 {
			inside.add(m.rank)
		}
	}
	slices.Sort(overtaken)
	v.OvertakenP99, v.OvertakenMost = percentile(overtaken, 99), percentile(overtaken, 100)

	// Those who were dark: who passed them from when they were back.
	for _, o := range byPlace {
		if o.Dark == nil || o.Admitted == 0 {
			continue
		}
		passed := 0
		for _, m := range moments {
			if m.who.Admitted > s.Began+o.Dark[1] && m.who.Admitted < o.Admitted && m.who.place() > o.place() {
				passed++
			}
		}
		v.BackMost = max(v.BackMost, float64(passed)/limit)
	}
}

// tally counts numbers 0..n-1 (a Fenwick tree).
type tally struct {
	sums  []int
	total int
}

func newTally(n int) *tally { return &tally{sums: make([]int, n+1)} }

func (t *tally) add(i int) {
	t.total++
	for i++; i < len(t.sums); i += i & -i {
		t.sums[i]++
	}
}

// above counts those that were added and are greater.
func (t *tally) above(i int) int {
	n := t.total
	for i++; i > 0; i &= i - 1 {
		n -= t.sums[i]
	}
	return n
}
