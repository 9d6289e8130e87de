package evidence

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// Receipt is what the logs have of one place of a visitor. Times are absent where there are none.
type Receipt struct {
	ArrivedAtMicros int64  `json:"arrivedAtMicros"`
	Ticket          string `json:"ticket,omitempty"`
	AdmittedAt      int64  `json:"admittedAt,omitempty"`
	// Late says that the visitor did not come when told, or came back.
	Late bool `json:"late"`
	// Earlier are those who arrived later and were admitted before. Drawn are those of them whom the draw had placed before, Returned the
	// others who had missed their turn, or were set aside, and came back.
	Earlier  int64 `json:"earlier"`
	Drawn    int64 `json:"drawn"`
	Returned int64 `json:"returned"`
}

// Receipts returns what the logs have of a visitor by a pseudonym, the earliest arrival first.
func Receipts(s *Source, who string) (all []Receipt) {
	c := newCheck(s)
	arrivals := map[int64]bool{}
	for i := range s.Runs {
		for k := range s.Runs[i].Lines {
			if l := &s.Runs[i].Lines[k]; l.Zone == s.Zone {
				c.take(l)
				if l.Who == who {
					arrivals[l.Arrived] = true
				}
			}
		}
	}
	c.again()
	for arrived := range arrivals {
		all = append(all, c.receipt(who, arrived))
	}
	slices.SortFunc(all, func(a, b Receipt) int { return int(a.ArrivedAtMicros - b.ArrivedAtMicros) })
	return all
}

func (c *check) receipt(who string, arrived int64) Receipt {
	r := Receipt{ArrivedAtMicros: arrived}
	i := slices.IndexFunc(c.admitted, func(l admissionlog.Line) bool { return l.Who == who && l.Arrived == arrived })
	if i < 0 {
		return r
	}
	its := &c.admitted[i]
	r.Ticket, r.AdmittedAt, r.Late = its.Ticket, its.At, c.late(its)
	for k := range c.admitted {
		switch l := &c.admitted[k]; {
		case l.At >= its.At || l.Arrived <= arrived:
			continue
		case stands(l) < stands(its):
			r.Drawn++
		case c.late(l):
			r.Returned++
		}
		r.Earlier++
	}
	return r
}
