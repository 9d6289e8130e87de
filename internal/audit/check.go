package audit

import "fmt"

// Check is what a record proves.
type Check struct {
	Record  string `json:"record" doc:"The zone's ID; :limits, :operators or :refusals for the records of the room." example:"SHOP"`
	Entries int    `json:"entries" doc:"How many entries the record has."`
	Trimmed int64  `json:"trimmed" doc:"How many sealed entries were trimmed, since they were too old or too many."`
	// Unproven and Unsealed cannot be checked, and are no faults.
	Unproven int64   `json:"unproven,omitempty" doc:"How many of the trimmed ones had no seal of a secret that the server had then: it was rotated, or somebody wrote them."`
	Unsealed int     `json:"unsealed,omitempty" doc:"How many of the oldest entries have no seal, as version 0.1.0 wrote them: they prove nothing."`
	Faults   []Fault `json:"faults" doc:"What is not as servers of this room wrote it; empty if the record verifies."`
}

// Says is what a record proves, in sentences.
func (c Check) Says() (all []string) {
	for _, f := range c.Faults {
		all = append(all, "TAMPERED: "+f.What)
	}
	if len(all) == 0 {
		all = append(all, "verified")
	}
	if c.Unsealed > 0 {
		all = append(all, fmt.Sprintf("the %d oldest entries have no seal: version 0.1.0 wrote them, they prove nothing", c.Unsealed))
	}
	if c.Unproven > 0 {
		all = append(all, fmt.Sprintf("%d entries that were trimmed had no seal of a secret that the server had then", c.Unproven))
	}
	return all
}

// Fault is one thing that is not as servers of this room wrote it.
type Fault struct {
	N    int64  `json:"n" doc:"The number of the entry; 0 if it has none, or it is the record's head."`
	What string `json:"what" doc:"What is wrong." example:"entry 4 was taken out"`
}

// String is what is wrong.
func (f Fault) String() string { return f.What }

// Check walks through a whole record, from the newest entry to the oldest. The sealed head vouches for the newest entry, and each
// entry by its hash for the one before: so an entry whose secret was rotated away is proven by a later one. After a fault the walk goes
// on by the entries' own seals.
func (s *Sealer) Check(record string, p Page) Check {
	w := walk{Sealer: s, Page: p, Check: Check{Record: record, Entries: len(p.Entries), Faults: []Fault{}}}
	h, ok := s.openHead(record, p.Head)
	w.n, w.hash, w.known = h.N, h.Hash, ok
	if !ok {
		for _, text := range p.Entries {
			w.n = max(w.n, parse(text).N)
		}
		if w.n > 0 || p.Head != "" {
			w.fault(0, "the record has no head that a secret of this server has sealed: its newest entries may have been taken out")
		}
	}
	if w.seen = s.see(record, h); w.seen.N > w.n {
		w.fault(w.seen.N, "this server has seen entry %d, and the newest one now is %d", w.seen.N, w.n)
	}
	for _, text := range p.Entries {
		w.step(text)
	}
	if w.n > 0 && w.n >= h.First {
		w.fault(w.n, "entries %d to %d were taken out", max(1, h.First), w.n)
	}
	w.Trimmed, w.Unproven = max(0, h.First-1), h.Unproven
	return w.Check
}

// walk is at one place of a record.
type walk struct {
	*Sealer
	Page
	Check
	seen head
	// n is the number of the entry that belongs here, 0 below the first one. hash is that of its text, if it is known.
	n     int64
	hash  string
	known bool
}

func (w *walk) fault(n int64, format string, values ...any) {
	w.Faults = append(w.Faults, Fault{n, fmt.Sprintf(format, values...)})
}

// step looks at one entry.
func (w *walk) step(text string) {
	e, sum := parse(text), SHA256(text)
	fits := !w.known || sum == w.hash
	switch {
	case e.N == 0 && w.n == 0: // of version 0.1.0
		if w.Unsealed++; !fits {
			w.fault(0, "the entry of %d without a seal is not the one over which entry 1 was sealed", e.AtMillis)
		}
		w.known = false
		return
	case w.known && fits && e.N == w.n: // a later entry vouches for it
	case !w.proven(ofEntry, w.Record, text):
		w.fault(e.N, "entry %d, which stands where entry %d belongs, is not as a server of this room sealed it: edited, put in, or of another record", e.N, w.n)
		if e.N == w.n {
			w.n, w.known = e.N-1, false
		}
		return
	case e.N > w.n:
		w.fault(e.N, "entry %d stands in a wrong place: after entry %d", e.N, w.n+1)
		return
	case e.N < w.n:
		w.fault(w.n, "entries %d to %d were taken out", e.N+1, w.n)
	case !fits:
		w.fault(e.N, "entry %d is another one than that over which the next was sealed", e.N)
	}
	w.n, w.hash, w.known = e.N-1, e.Prev, true
	if e.N > 1 && e.Prev == "" {
		w.known = false
		w.fault(e.N, "entry %d was written when the record had no sealed head: entries before it may have been taken out", e.N)
	}
	if e.N == w.seen.N && sum != w.seen.Hash {
		w.fault(e.N, "entry %d is another one than this server has seen", e.N)
	}
	for _, hash := range References(text) {
		if large, there := w.Texts[hash]; !there || SHA256(large) != hash {
			w.fault(e.N, "a large value of entry %d was changed or taken out", e.N)
		}
	}
}
