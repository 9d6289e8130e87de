package split

import (
	"cmp"
	"slices"

	"github.com/openqueue/waitingroom/internal/simulate"
)

// Report is what a run showed.
type Report struct {
	// Admitted is how many got in, Waiting how many still waited when the run
	// was ended after a day: 0 unless the line has stalled.
	Admitted, Waiting int
	// The most admissions in any window and in any 60 s, and the limits.
	MaxInWindow, MaxInMinute int
	WindowLimit, PerMinute   int64
	// CapacityUsed is the mean share of the window's slots that were taken,
	// from a window after the first was admitted or gone until two windows'
	// worth waited no more: for so many Seconds, in which so many Events went
	// wrong.
	CapacityUsed, Seconds float64
	Events                int
	// OvertakenP99 and OvertakenMax count later arrivals that went first, in
	// windows' worth.
	OvertakenP99, OvertakenMax float64
	// Polls is the mean of those who were admitted; PollRate and MessageRate
	// are what the parts and the ledger answered a second.
	Polls, PollRate, MessageRate float64
}

// measure collects during the run.
type measure struct {
	admitted       []int64
	enough, scarce int64 // from when to when two windows' worth wait
	polls          int
	messages       int
	faults         int
}

func (r *run) report() Report {
	slices.Sort(r.m.admitted)
	seconds := float64(r.now-beginning) / 1000
	out := Report{
		Admitted: len(r.m.admitted), Waiting: int(r.waiting), WindowLimit: r.rates.Limit, PerMinute: r.rates.PerMinute,
		MaxInWindow: simulate.MaxWithin(r.m.admitted, r.rates.WindowMillis),
		MaxInMinute: simulate.MaxWithin(r.m.admitted, minute),
		Events:      r.m.faults,
		PollRate:    float64(r.m.polls) / seconds, MessageRate: float64(r.m.messages) / seconds,
	}
	// From a window later on: the first window's worth has to be in, for a
	// slot that was taken before counts for as long as it was taken after.
	from, to := r.m.enough+r.rates.WindowMillis, r.m.scarce
	if from < to {
		taken := int64(0)
		for _, at := range r.m.admitted {
			taken += max(0, min(to, at+r.rates.WindowMillis)-max(from, at))
		}
		perWindow := float64(r.rates.PerMinute) * float64(r.rates.WindowMillis) / minute
		out.Seconds = float64(to-from) / 1000
		out.CapacityUsed = float64(taken) / (perWindow * float64(to-from))
	}
	r.order(&out)
	return out
}

// order counts, for each who was admitted, those who came later and went
// first, with a Fenwick tree over the arrivals.
func (r *run) order(out *Report) {
	var in []*visitor
	polls := 0
	for i := range r.visitors {
		if v := &r.visitors[i]; v.admitted > 0 {
			in = append(in, v)
			polls += v.polls
		}
	}
	out.Polls = float64(polls) / max(1, float64(len(in)))
	slices.SortStableFunc(in, func(a, b *visitor) int { return cmp.Compare(a.arrived, b.arrived) })
	rank := make(map[*visitor]int, len(in))
	for i, v := range in {
		rank[v] = i + 1
	}
	byAdmission := slices.Clone(in)
	slices.SortStableFunc(byAdmission, func(a, b *visitor) int { return cmp.Compare(a.admitted, b.admitted) })
	tree := make([]int, len(in)+1)
	overtaken := make([]float64, 0, len(in))
	for n, v := range byAdmission {
		earlier := 0
		for i := rank[v]; i > 0; i &= i - 1 {
			earlier += tree[i]
		}
		overtaken = append(overtaken, float64(n-earlier)/float64(r.rates.Limit))
		for i := rank[v]; i < len(tree); i += i & -i {
			tree[i]++
		}
	}
	slices.Sort(overtaken)
	if n := len(overtaken); n > 0 {
		out.OvertakenP99, out.OvertakenMax = overtaken[(n-1)*99/100], overtaken[n-1]
	}
}
