package browser

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/zone"
)

// aSale is the report of two hours with a cap, a gap, refusals, a change, and other limits.
func aSale() *report.Report {
	from := time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)
	s := report.Source{ZoneID: "SHOP", From: from, To: from.Add(2 * time.Hour), Now: from.Add(26 * time.Hour)}
	for i := range int64(120) {
		m := history.Minute{
			At: from.Add(time.Duration(i) * time.Minute).UnixMilli(), Waiting: 20_000 - 160*i, Inside: min(400, 40*i), PerMinute: 600, MaxInside: 400, Mode: zone.ModeQueue,
			EstimateMillis: 600_000 + 9_000*i, WaitP50Millis: 500_000 + 10_000*i, WaitP95Millis: 620_000 + 10_000*i, WaitMaxMillis: 700_000 + 10_000*i,
			Totals: line.Totals{Joined: max(0, 4_000-200*i), Admitted: 600 - 3*i, Left: i % 40}, Refused: map[string]int64{"line_full": 120 - i, "too_many_requests": 5},
		}
		if i == 60 {
			m = history.Minute{At: m.At, NoData: 2}
		}
		if i != 61 {
			s.Minutes = append(s.Minutes, m)
		}
	}
	was, now := zone.Defaults("SHOP"), zone.Defaults("SHOP")
	was.PerMinute, now.PerMinute = 500, 600
	s.Changes = []zone.Change{{AtMillis: from.Add(40 * time.Minute).UnixMilli(), ZoneID: "SHOP", By: audit.By{Name: "Ada"}, Was: &was, Now: &now}}
	r := report.Make(s)
	r.WhatIf = []report.Scenario{{PerMinute: 900, WaitP50Millis: 420_000, LastAt: from.Add(time.Hour).UnixMilli(), OneIn: 4}}
	return r
}

// TestReport: the page of a report has no finding of axe, light and dark, is whole on a phone, and prints on A4 with nothing cut off.
func TestReport(t *testing.T) {
	t.Parallel()
	place, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	var text bytes.Buffer
	must(t, aSale().HTML(&text, report.Reader{Place: place, Language: language.German}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text.Bytes()) }))
	t.Cleanup(server.Close)
	b := openBrowser(t)
	b.start(t, server.URL)
	b.do(t, "the report", chromedp.WaitVisible(css("svg")))
	b.check(t, "the report")
	b.look(t, paperWidth, "light")
	_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	must(t, err)
	if got := value[string](t, b, cut); got != "" {
		t.Errorf("in print: cut off: %s", got)
	}
	printed, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	if pages := bytes.Count(printed.Data, []byte("/Type /Page\n")); err != nil || pages < 2 {
		t.Errorf("as PDF: %d pages, %d bytes, %v", pages, len(printed.Data), err)
	}
	b.holds(t, "the report")
}

// paperWidth is that of A4 with margins of 10 mm, in CSS pixels.
const paperWidth = 718
