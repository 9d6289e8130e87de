package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Minute is what happened in a zone in one minute, or in several of which nothing else is known.
type Minute struct {
	// At is when the minute began, on the zone's clock, in Unix milliseconds.
	At int64 `json:"at" doc:"When the minute began, on the zone's clock, in Unix milliseconds." example:"1795223340000"`
	// NoData is over how many minutes nothing but the totals is known, because no server could ask the store; 0 for a minute with a row.
	NoData int64 `json:"noData,omitempty" doc:"Not 0: over so many minutes nothing is known but what happened in all of them, because no server could ask the store."`
	// Totals are what happened in it, on all servers.
	line.Totals
	// Refused are the requests that were refused, on all servers, by the code of the problem.
	Refused map[string]int64 `json:"refused,omitempty" doc:"The requests that were refused, on all servers, by the code of the problem."`

	Waiting        int64     `json:"waiting" doc:"The most who waited." example:"5000"`
	Inside         int64     `json:"inside,omitempty" doc:"The most who were inside, in a zone with maxInside." example:"480"`
	PerMinute      int64     `json:"perMinute" doc:"The limit at the end of the minute." example:"600"`
	MaxInside      int64     `json:"maxInside,omitempty" doc:"The cap at the end of the minute." example:"500"`
	Mode           zone.Mode `json:"mode,omitempty" doc:"The mode at the end of the minute." example:"queue"`
	EstimateMillis int64     `json:"estimateMillis" doc:"What one who joined at the end of the minute was told to wait." example:"461000"`
	WaitP50Millis  int64     `json:"waitP50Millis" doc:"How long half of those admitted in it had waited at most; 0 if nobody was." example:"300032"`
	WaitP95Millis  int64     `json:"waitP95Millis" doc:"The same of 95 %." example:"321536"`
	WaitMaxMillis  int64     `json:"waitMaxMillis" doc:"The longest of these waits, as all of them to within an eighth." example:"400000"`

	waits *Waits
}

// Time is when the minute began.
func (m *Minute) Time() time.Time { return time.UnixMilli(m.At) }

// refusals returns the row's entry for a minute, which it makes if there is none.
func refusals(all map[int64]*Minute, minute int64) *Minute {
	m := all[minute]
	if m == nil {
		m = &Minute{At: minute * time.Minute.Milliseconds()}
		all[minute] = m
	}
	return m
}

// Read returns the minutes of a zone from <= time < upto in which anything happened or of which nothing is known, in order. Rows that
// cannot be read are passed over.
func Read(ctx context.Context, from store.History, zoneID string, since, until time.Time) ([]Minute, error) {
	first, upto := since.Unix()/60, (until.Unix()+59)/60
	rows, err := from.Minutes(ctx, zoneID, first-2*atLeast, upto)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	all := make(map[int64]*Minute)
	var before *row
	var beforeAt int64
	for _, one := range rows {
		if one.By != "" {
			var codes map[string]int64
			if json.Unmarshal(one.Row, &codes) != nil || one.Minute < first {
				continue
			}
			m := refusals(all, one.Minute)
			if m.Refused == nil {
				m.Refused = make(map[string]int64)
			}
			for code, n := range codes {
				m.Refused[code] += n
			}
			continue
		}
		r, err := readRow(one.Row)
		if errors.Is(err, errRow) {
			continue
		}
		if one.Minute >= first {
			if gap := r.gap(before, beforeAt, one.Minute, first); gap != nil {
				all[gap.At/time.Minute.Milliseconds()] = gap
			}
			refusals(all, one.Minute).fill(&r, before, beforeAt == one.Minute-1)
		}
		before, beforeAt = &r, one.Minute
	}
	out := make([]Minute, 0, len(all))
	for _, m := range all {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Minute) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// gap is what is known of the minutes between two rows; nil if nothing can have happened in them.
func (r *row) gap(before *row, beforeAt, at, first int64) *Minute {
	if before == nil || r.base == nil || at <= beforeAt+1 {
		return nil
	}
	m := &Minute{Totals: line.Totals{}.Plus(before.totals, *r.base), Waiting: before.waiting, PerMinute: before.perMinute, Mode: before.mode}
	counted := m.Totals
	counted.Polls = 0
	if counted == (line.Totals{}) && before.waiting == 0 && r.waiting == 0 {
		return nil
	}
	begins := max(beforeAt+1, first)
	m.At, m.NoData = begins*time.Minute.Milliseconds(), at-begins
	if m.NoData == 0 {
		return nil
	}
	return m
}

// fill sets what the row says. next says that the row before is of the minute before.
func (m *Minute) fill(r, before *row, next bool) {
	was := r.base
	if before != nil && (next || was == nil) {
		was = &before.totals
	}
	if was == nil {
		was = &r.totals // the row before is kept no more
	}
	m.Totals = line.Totals{}.Plus(*was, r.totals)
	m.Waiting, m.Inside, m.PerMinute, m.MaxInside, m.Mode = r.waiting, r.inside, r.perMinute, r.maxInside, r.mode
	m.EstimateMillis, m.waits = r.estimateMillis, r.waits
	if r.waits != nil {
		n := len(shares)
		m.WaitP50Millis, m.WaitP95Millis, m.WaitMaxMillis = r.waits.quantile(4), r.waits.quantile(n-2), r.waits.quantile(n-1)
	}
}

// WaitsOf are the waits of those admitted in some minutes, by bucket of window.WaitBucket.
func WaitsOf(minutes []Minute) []int64 {
	counts := make([]int64, window.WaitBuckets)
	for i := range minutes {
		if m := &minutes[i]; m.waits != nil {
			m.waits.add(counts, m.Admitted)
		}
	}
	return counts
}
