package console

import (
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// state is what a zone is doing, in one word for the eye and one sentence for
// the operator. Neither has a figure in it: it is read aloud when it changes.
type state struct {
	// Key selects the colour; the sign and the word say the same without it.
	Key      string `json:"key"`
	Sign     string `json:"sign"`
	Word     string `json:"word"`
	Sentence string `json:"sentence"`
}

// signs are the colour and the sign of what a zone does by its settings.
var signs = map[string][2]string{
	"Sold out": {"warn", "■"}, "Opening held": {"bad", "▮▮"}, "Closed to newcomers": {"warn", "■"}, "Gathering": {"ok", "◔"},
	"Open": {"warn", "▲"}, "Paused and closed": {"warn", "■"}, "Paused": {"warn", "▮▮"}, "Admitting": {"ok", "●"},
}

// stateOf tells what a zone is doing. seen is false while nothing is known.
func stateOf(s zone.Settings, now watch.Sample, seen bool) state {
	word, sentence := change.Doing(s)
	gathers, _ := s.Unopened(false)
	lets := word == "Admitting" || word == "Closed to newcomers" && gathers == ""
	switch {
	case seen && !now.Known() && len(s.SoldOut) > 0:
		return state{"bad", "✕", "Store away", "The store does not answer. The zone is sold out, and nobody is admitted."}
	case seen && !now.Known() && s.OnStoreFailure == zone.FailureAdmit:
		return state{"bad", "✕", "Store away", "The store does not answer. Servers admit their share of the limit; places are kept."}
	case seen && !now.Known():
		return state{"bad", "✕", "Store away", "The store does not answer. Nobody is admitted; places are kept."}
	case lets && now.Stalled:
		return state{"bad", "✕", "Nobody comes in", "People wait and there is room, but nobody was admitted for a minute."}
	case word != "Admitting":
		return state{signs[word][0], signs[word][1], word, sentence}
	case !seen:
		return state{"unknown", "?", "No figures yet", "The first figures come within two seconds."}
	case now.Waiting > 0 && now.MaxInside > 0 && now.Inside >= now.MaxInside:
		return state{"warn", "●", "Full inside", "As many are inside as may be. People enter as others leave."}
	case now.Waiting == 0:
		return state{"ok", "○", "No line", "Nobody waits. Visitors are admitted at once, up to the limit."}
	case now.Waiting == now.Overdue:
		return state{"ok", "○", "Overdue only", "The visitors in the line did not poll when it was their turn. They may still come."}
	default:
		return state{"ok", "●", word, "People wait, and are admitted at the limit."}
	}
}

// limits are the zone's as they hold just now: a paused zone's are 0, an open
// one has none.
func limits(s zone.Settings) (inWindow, inMinute int64, hold bool) {
	s = s.InForce()
	if s.PerMinute > 0 {
		inWindow = window.RatesOf(s).Limit
	}
	return inWindow, s.PerMinute, s.Mode != zone.ModeOpen
}

// texts are all figures of a zone as the page shows them, by the names that its
// elements carry. They are written here alone, for the first page and for every
// second after it.
func texts(s zone.Settings, now watch.Sample, seen bool) map[string]string {
	t := map[string]string{
		"window.note": fmt.Sprintf("in the last %s", seconds(s.WindowSeconds)), "minute.note": "in the last 60 s",
		"estimate.note": "for one who joins now", "inside.note": "", "refused.note": "requests a minute, by this server", "p50.note": "", "p95.note": "", "second.note": "in the last minute or two",
	}
	for _, key := range figureKeys {
		t[key] = unknown
	}
	t["limit"] = count(s.PerMinute)
	t["store"], t["store.note"] = "not known yet", ""
	if !seen {
		return t
	}
	if !now.Known() {
		t["store"] = "away"
		t["store.note"] = "for " + span(now.At-now.FailingSince+int64(time.Second/time.Millisecond))
		return t
	}
	t["store"], t["store.note"] = "answers", "asked within the last second"
	counted(t, s, now)
	rated(t, now)
	return t
}

// figureKeys are the figures that may be unknown.
var figureKeys = []string{
	"waiting", "released", "overdue", "window", "minute", "use", "estimate", "joins", "departures", "swept",
	"inside", "second", "p50", "p95", "polls", "restored", "refused",
}

// counted writes what the store counts.
func counted(t map[string]string, s zone.Settings, now watch.Sample) {
	inWindow, inMinute, hold := limits(s)
	t["waiting"], t["released"], t["overdue"] = count(now.Waiting), count(now.Released), count(now.Overdue)
	t["window"], t["minute"] = count(now.InWindow), count(now.InMinute)
	t["estimate"], t["estimate.note"] = newcomerWaits(s, now, hold)
	if now.MaxInside > 0 {
		t["inside"], t["inside.note"] = count(now.Inside), "of "+count(now.MaxInside)+" at a time"
	}
	if !hold {
		t["window.note"] += ", no limit while open"
		t["minute.note"] += ", no limit while open"
		return
	}
	t["window.note"] = fmt.Sprintf("of %s in any %s", count(inWindow), seconds(s.WindowSeconds))
	t["minute.note"] = fmt.Sprintf("of %s in any 60 s", count(inMinute))
	t["second"] = count(now.MostInSecond)
	t["second.note"] = fmt.Sprintf("mean %.1f; at most %s in a line", float64(s.PerMinute)/60, count(window.RatesOf(s).PerSecond))
	if s.PerMinute > 0 {
		t["use"] = percent(now.Use)
	}
}

// newcomerWaits is how long one waits who joins now, and what stands beside it. hold: the limit holds.
func newcomerWaits(s zone.Settings, now watch.Sample, hold bool) (wait, note string) {
	gathers, opens := s.Unopened(false)
	switch {
	case gathers != "" && opens == 0:
		return "on hold", "the opening has no time yet"
	case !hold && gathers != "":
		return span(now.EstimateMillis), "then everybody is admitted at once"
	case !hold:
		return "none", "everybody is admitted at once"
	case s.PerMinute == 0:
		return "on hold", "nobody is admitted at a limit of 0"
	case now.EstimateHighMillis > 0:
		return span(now.EstimateMillis), span(now.EstimateLowMillis) + " to " + span(now.EstimateHighMillis) + ", for one who joins now"
	}
	return span(now.EstimateMillis), "for one who joins now"
}

// rated writes what was measured over the last minute.
func rated(t map[string]string, now watch.Sample) {
	if now.RateSeconds > 0 {
		t["joins"], t["departures"], t["swept"] = rate(now.JoinsPerMinute), rate(now.DeparturesPerMinute), rate(now.SweptPerMinute)
		t["polls"], t["restored"] = rate(now.PollsPerSecond), count(now.Restored)
		t["refused"] = rate(now.RefusedPerMinute)
	}
	if now.WaitCount > 0 {
		t["p50"], t["p95"] = span(now.WaitP50Millis), span(now.WaitP95Millis)
		t["p50.note"] = "half waited less"
		t["p95.note"] = "of " + count(now.WaitCount) + " in a minute"
	}
}

// meters are shares from 0 to 1, drawn as bars.
func meters(s zone.Settings, now watch.Sample, seen bool) map[string]float64 {
	m := map[string]float64{"window": 0, "minute": 0, "inside": 0}
	inWindow, inMinute, hold := limits(s)
	if now.Known() {
		m["inside"] = watch.Use(now.Inside, now.MaxInside)
	}
	if !seen || !now.Known() || !hold {
		return m
	}
	m["window"], m["minute"] = watch.Use(now.InWindow, inWindow), watch.Use(now.InMinute, inMinute)
	return m
}

// columns are what the charts draw, in the order of a point.
var columns = []string{
	"at", "waiting", "inWindow", "windowLimit", "waitP50", "waitP95", "estimate", "polls", "inside", "maxInside",
}

// point is one second of the charts; nil is a gap. Times are in seconds.
func point(now watch.Sample) []*float64 {
	if now.PerMinute == 0 {
		now.WindowLimit = 0 // the arithmetic's least is 1, and the minute's limit holds
	}
	known := func(is bool, v float64) *float64 {
		if !is || !now.Known() {
			return nil
		}
		return &v
	}
	limited, rated, waited := now.Mode != zone.ModeOpen, now.RateSeconds > 0, now.WaitCount > 0
	return []*float64{
		new(float64(now.At) / 1000),
		known(true, float64(now.Waiting)), known(true, float64(now.InWindow)), known(limited, float64(now.WindowLimit)),
		known(waited, float64(now.WaitP50Millis)/1000), known(waited, float64(now.WaitP95Millis)/1000),
		known(limited && now.EstimateMillis < window.MaxEstimateMillis, float64(now.EstimateMillis)/1000),
		known(rated, now.PollsPerSecond),
		known(now.MaxInside > 0, float64(now.Inside)), known(now.MaxInside > 0, float64(now.MaxInside)),
	}
}
