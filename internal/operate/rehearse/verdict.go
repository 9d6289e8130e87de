package rehearse

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// lookEvery is how often is looked whether all acts have been played.
const lookEvery = 50 * time.Millisecond

// Wait returns when all acts have been played, or ctx has ended.
func (r *Rehearsal) Wait(ctx context.Context) {
	waitFor(ctx, func() bool { return !slices.ContainsFunc(r.plays, func(p *play) bool { return !p.over() }) })
}

// waitFor returns when something has come about, or ctx has ended.
func waitFor(ctx context.Context, done func() bool) {
	for !done() && sleep(ctx, lookEvery) == nil {
		continue
	}
}

// Left notes that the client of an act has ended.
func (r *Rehearsal) Left(act string) {
	if p := r.play(act); p != nil {
		p.leaves()
	}
}

// Verdict is what there is to tell.
type Verdict struct {
	// Acts and Missing are those to which a client came, and those to which none did.
	Acts, Missing []Act
	Findings      []Finding
}

// Verdict judges what has been played so far. Whoever has not come to the end of an act
// has given up.
func (r *Rehearsal) Verdict() (v Verdict) {
	for _, p := range r.plays {
		played, findings := p.result()
		if !played {
			v.Missing = append(v.Missing, p.act)
			continue
		}
		v.Acts = append(v.Acts, p.act)
		v.Findings = append(v.Findings, findings...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v.Findings = append(v.Findings, r.stray...)
	return v
}

// Kept reports whether no rule was broken.
func (v Verdict) Kept() bool { return len(v.Findings) == 0 }

// mostShown is how many findings of a rule are printed: a client that polls without a pause makes one a poll.
const mostShown = 5

// Print tells it: each rule, and what broke it.
func (v Verdict) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, rule := range Rules {
		var broken []Finding
		for _, f := range v.Findings {
			if f.Rule == rule.Rule {
				broken = append(broken, f)
			}
		}
		word := "kept"
		if len(broken) > 0 {
			word = "BROKEN"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", rule.Rule, word, rule.Asks)
		for i, f := range broken {
			if i == mostShown {
				fmt.Fprintf(t, "\t\t  and %d more\n", len(broken)-i)
				break
			}
			fmt.Fprintf(t, "\t\t  %s\n", strings.TrimPrefix(f.Act+": "+f.Text, ": "))
		}
	}
	for _, a := range v.Missing {
		fmt.Fprintf(t, "%s\tnot played\tno client joined the zone %s\n", a.Name, a.Name)
	}
	return t.Flush()
}
