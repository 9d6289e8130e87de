package report_test

import (
	"context"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// phone is a visitor, as it sees the room itself.
type phone struct {
	place           line.Place
	joined, entered time.Time
	leaves          time.Time
	next            time.Time
}

// crowd plays 6,000 visitors who come within 90 s, each polling when told to, of whom some leave.
func crowd(t *testing.T, room *zones.Zones, zoneID string) (all []*phone) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	for i := range 6000 {
		p := &phone{next: began.Add(time.Duration(rng.Int64N(int64(90 * time.Second))))}
		p.place.ID = line.ID{byte(i >> 8), byte(i)}
		if i%10 == 0 {
			p.leaves = p.next.Add(time.Duration(rng.Int64N(int64(3 * time.Minute))))
		}
		all = append(all, p)
	}
	for left := len(all); left > 0; <-time.After(250 * time.Millisecond) {
		for _, p := range all {
			now := time.Now()
			if !p.entered.IsZero() || p.next.IsZero() || now.Before(p.next) {
				continue
			}
			z, err := room.Find(t.Context(), zoneID)
			parts.Must(t, err)
			if !p.joined.IsZero() && !p.leaves.IsZero() && now.After(p.leaves) {
				parts.Must(t, z.Leave(t.Context(), p.place))
				p.next = time.Time{}
				left--
				continue
			}
			var a line.Told
			if p.joined.IsZero() {
				a, err = z.Join(t.Context(), p.place.ID)
				p.joined = now
			} else {
				a, err = z.Poll(t.Context(), p.place)
			}
			parts.Must(t, err)
			p.place, p.next = a.Place, now.Add(time.Duration(a.PeriodMillis)*time.Millisecond)
			if a.Status == line.Admitted || a.Status == line.AdmittedBefore {
				p.entered = now
				left--
			}
		}
	}
	return all
}

// TestReport: what the report says of a crowd is what the crowd saw itself.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := parts.OpenStore(t, time.Now, nil)
		room := zones.New(zones.Options{Store: kept})
		seen := watch.New(watch.Options{Zones: room})
		refused := map[string]int64{}
		minutes := history.New(history.Options{
			Watch: seen, Store: room, Keep: 24 * time.Hour, Refused: func(string) map[string]int64 { return refused },
		})
		defer func() {
			seen.Stop()
			minutes.Stop()
			room.Stop()
		}()
		z := zone.Defaults("SHOP")
		z.PerMinute = 600
		_, err := room.PutZone(t.Context(), z, nil, audit.By{Name: "Ada"})
		parts.Must(t, err)
		seen.Start(t.Context())
		minutes.Start(t.Context())
		<-time.After(61 * time.Second)
		began := time.Now()
		refused = map[string]int64{"line_full": 7}
		all := crowd(t, room, "SHOP")
		<-time.After(2 * time.Minute)

		rows, err := history.Read(t.Context(), kept, "SHOP", began.Add(-time.Minute), time.Now())
		parts.Must(t, err)
		changes, err := kept.Changes(t.Context(), "SHOP")
		parts.Must(t, err)
		r := report.Make(report.Source{
			ZoneID: "SHOP", From: began.Add(-2 * time.Minute), To: time.Now(), Now: time.Now(), Minutes: rows, Changes: changes,
		})
		parts.Must(t, operator.WhatIf(context.Background(), r, z, []int64{600, 1200}))
		month := *r
		month.Totals.Joined, month.WhatIf = 30_000_000, nil
		if parts.Must(t, operator.WhatIf(context.Background(), &month, z, []int64{600})); len(month.WhatIf) > 0 {
			t.Errorf("a crowd that takes minutes was simulated: %+v", month.WhatIf)
		}

		var waits []time.Duration
		var last time.Time
		for _, p := range all {
			if !p.entered.IsZero() {
				waits = append(waits, p.entered.Sub(p.joined))
				if p.entered.After(last) {
					last = p.entered
				}
			}
		}
		slices.Sort(waits)
		near := func(what string, got, want, within time.Duration) {
			t.Helper()
			if got < want-within || got > want+within {
				t.Errorf("%s: the report says %v, the crowd saw %v", what, got, want)
			}
		}
		if int(r.Totals.Admitted) != len(waits) || r.Totals.Joined != 6000 || int(r.GaveUp()) != 6000-len(waits) {
			t.Errorf("the report has %+v, the crowd %d of 6000 in", r.Totals, len(waits))
		}
		p50 := waits[len(waits)/2]
		near("the median", time.Duration(r.WaitP50Millis)*time.Millisecond, p50, p50/6)
		near("the longest", time.Duration(r.WaitMaxMillis)*time.Millisecond, waits[len(waits)-1], waits[len(waits)-1]/6)
		near("the last minute", time.UnixMilli(r.LastAt).Sub(began), last.Sub(began), time.Minute)
		if r.UsePercent < 94 || r.UsePercent > 101 {
			t.Errorf("%.1f %% of the limit in use", r.UsePercent)
		}
		if r.Promise == nil || r.Promise.MedianErrorPercent > 25 {
			t.Errorf("the promise is %+v", r.Promise)
		}
		if len(r.Refused) != 1 || r.Refused[0] != (report.Refusal{Code: "line_full", Requests: 7}) {
			t.Errorf("refused: %+v", r.Refused)
		}
		if len(r.Actions) != 1 || r.Actions[0].By != "Ada" {
			t.Errorf("actions: %+v", r.Actions)
		}
		near("as it was, simulated", time.UnixMilli(r.WhatIf[0].LastAt).Sub(began), last.Sub(began), time.Minute)
		if r.WhatIf[1].LastAt >= r.WhatIf[0].LastAt || r.WhatIf[1].WaitP50Millis >= r.WhatIf[0].WaitP50Millis {
			t.Errorf("twice the limit: %+v", r.WhatIf)
		}
		writes(t, r, len(rows))
	})
}

// writes: all forms say the same, with numbers and times as the reader writes them.
func writes(t *testing.T, r *report.Report, rows int) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	parts.Must(t, err)
	reader := report.Reader{Place: berlin, Language: language.German}
	var html, text, table strings.Builder
	parts.Must(t, r.HTML(&html, reader))
	parts.Must(t, r.Text(&text, reader))
	parts.Must(t, r.CSV(&table, reader))
	for _, want := range []string{"6.000 visitors", "All times are those of Europe/Berlin", "CET", "Ada", "line_full", "<svg", "What if", "1.200"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(html.String(), "<script") || strings.Contains(html.String(), "ZgotmplZ") || strings.Contains(html.String(), "style=") {
		t.Error("the page needs what its policy forbids")
	}
	for _, want := range []string{"took a place    6.000", "refused         7 line_full", "what if         1.200 a minute"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	lines, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil || len(lines) != rows+1 {
		t.Errorf("%d lines of CSV, %v", len(lines), err)
	}
	if dir := os.Getenv("REPORT_DIR"); dir != "" { // to look at it
		parts.Must(t, os.WriteFile(dir+"/report.html", []byte(html.String()), 0o600))
	}
}
