package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// refusingShare is from which share of refusals in the last minute a policy is
// called refusing: the alert's.
const refusingShare = 0.3

// limitsPage is GET /console/limits.
func (c *Console) limitsPage(w http.ResponseWriter, _ *http.Request, s session) error {
	return c.render(w, http.StatusOK, "limits", s, "Limits", c.limitsRoll())
}

// limitsEvents is GET /console/limits/events.
func (c *Console) limitsEvents(w http.ResponseWriter, r *http.Request, s session) error {
	return c.stream(w, r, s, func(context.Context) (any, error) { return c.limitsRoll(), nil })
}

// limitsRoll is the event of all policies.
func (c *Console) limitsRoll() roll {
	var r roll
	var all limiter.Counts
	failing, names := 0, ""
	for _, p := range c.Policies.InForce() {
		seen, err := c.Decisions.Stats(p.Name)
		now := recent(seen)
		away, _ := change.Away(p)
		r.Rows = append(r.Rows, row{
			ID: p.Name, Allows: allows(p), Away: away, State: limitState(p, seen, err == nil),
			Texts: rowTexts(now, err == nil), Shown: map[string]float64{"share": share(now)},
		})
		all = all.Plus(now)
		failing = max(failing, seen.Failing)
		names += stampOf(p)
	}
	r.Stamp = stampOf(names)
	r.Texts = rowTexts(all, true)
	r.Texts["policies"] = count(int64(len(r.Rows)))
	r.Texts["all.store"], r.Texts["all.store.note"] = storeWord(failing)
	return r
}

// recent are the counts of the last minute, of all tiers.
func recent(s limiter.Stats) (all limiter.Counts) {
	for _, t := range s.Tiers {
		all = all.Plus(t.Recent)
	}
	return all
}

// share is how many of those who asked were refused, from 0 to 1.
func share(c limiter.Counts) float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Refused()) / float64(c.Total())
}

// rowTexts are the figures of a last minute, in a row and above the rows.
func rowTexts(c limiter.Counts, seen bool) map[string]string {
	number := func(n uint64) string { return count(int64(n)) }
	t := map[string]string{
		"asked": number(c.Total()), "let": number(c.Allowed()), "refusals": number(c.Refused()),
		"memory": number(c[limiter.RefusedFromMemory]), "without": number(c.WithoutStore()), "share": percent(share(c)),
	}
	for key := range t {
		if !seen || key == "share" && c.Total() == 0 {
			t[key] = unknown
		}
	}
	return t
}

// storeWord is how many partitions of the store do not answer.
func storeWord(failing int) (word, note string) {
	if failing == 0 {
		return "answers", "it decides"
	}
	return "away", fmt.Sprintf("for %d of its %d partitions", failing, limit.Partitions)
}

// limitState tells what a policy is doing. Its sentence has no figure: it is read
// aloud when it changes.
func limitState(p limit.Policy, s limiter.Stats, seen bool) state {
	now := recent(s)
	_, away := change.Away(p)
	switch {
	case !seen:
		return state{"unknown", "?", "No figures yet", "The policy is not in force on this server yet."}
	case s.Failing > 0 && p.Scope != limit.ScopeServer:
		return state{"bad", "✕", "Store away", "The store does not answer for some of the keys, or all. " + away}
	case share(now) > refusingShare:
		return state{"warn", "▲", "Refusing many", "In the last minute a large share of the requests was refused."}
	case now.Refused() > 0:
		return state{"ok", "●", "Limiting", "Some requests were refused in the last minute; most were not."}
	case now.Total() == 0:
		return state{"ok", "○", "Quiet", "Nobody asked in the last minute."}
	default:
		return state{"ok", "○", "All within", "No request was refused in the last minute."}
	}
}

// allows is what a policy allows a client, tier by tier.
func allows(p limit.Policy) string {
	all := []string{change.RuleWords(p.Rules)}
	if change.Fitted(p) != "" {
		all[0] += fmt.Sprintf(", of a zone with %s a minute", count(zone.DefaultPerMinute))
	}
	for _, tier := range change.Tiers(p)[1:] {
		all = append(all, tier+": "+change.RuleWords(change.RulesOf(p, tier)))
	}
	return strings.Join(all, "; ")
}
