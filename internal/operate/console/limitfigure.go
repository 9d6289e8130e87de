package console

import (
	"fmt"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// refusingShare is from which share of refusals in the last minute a policy is
	// called refusing: the alert's.
	refusingShare = 0.3
	// newestSeconds are in every event: the limiter's seconds are not the
	// stream's, and there may be two of them in one.
	newestSeconds = 3
)

// limitColumns are what the charts of limits draw, in the order of a point: how
// many in a second.
var limitColumns = []string{"at", "allowed", "refused", "fromMemory", "withoutStore"}

func secondPoint(s limiter.Second) (p []*float64) {
	for _, v := range []float64{float64(s.At), float64(s.Allowed), float64(s.Refused), float64(s.FromMemory), float64(s.WithoutStore)} {
		p = append(p, &v)
	}
	return p
}

// outcomeName is an outcome, as a table names it.
type outcomeName struct {
	Key, Label string
	outcome    limiter.Outcome
}

var outcomeNames = []outcomeName{
	{"allowed", "Allowed", limiter.Allowed},
	{"refused", "Refused", limiter.Refused},
	{"fromMemory", "Refused from memory", limiter.RefusedFromMemory},
	{"open", "Store away: let through", limiter.AllowedOpen},
	{"closed", "Store away: refused", limiter.RefusedClosed},
	{"allowedLocally", "Store away: allowed by this server’s share", limiter.AllowedLocally},
	{"refusedLocally", "Store away: refused by this server’s share", limiter.RefusedLocally},
}

// tierView is a tier's row.
type tierView struct{ Name, Allows string }

func tiersOf(p limit.Policy) (all []tierView) {
	for _, name := range change.Tiers(p) {
		all = append(all, tierView{name, change.RuleWords(change.RulesOf(p, name))})
	}
	return all
}

// policyFrame is the event of one policy.
func (c *Console) policyFrame(p limit.Policy) frame {
	seen, err := c.Decisions.Stats(p.Name, newestSeconds)
	out := frame{
		Stamp: stampOf(p), State: limitState(p, seen, err == nil), Texts: limitTexts(seen, err == nil),
		Shown: map[string]float64{"share": share(recent(seen))},
	}
	for _, h := range seen.History {
		out.At = h.At * 1000
		out.Points = append(out.Points, secondPoint(h))
	}
	return out
}

// limitsRoll is the event of all policies.
func (c *Console) limitsRoll() roll {
	var r roll
	var all limiter.Counts
	failing, names := 0, ""
	var histories [][]limiter.Second
	for _, p := range c.Policies.InForce() {
		seen, err := c.Decisions.Stats(p.Name, newestSeconds)
		now := recent(seen)
		away, _ := change.Away(p)
		r.Rows = append(r.Rows, row{
			ID: p.Name, Allows: allows(p), Away: away, State: limitState(p, seen, err == nil),
			Texts: rowTexts(now, err == nil), Shown: map[string]float64{"share": share(now)},
		})
		all = all.Plus(now)
		failing = max(failing, seen.Failing)
		histories = append(histories, seen.History)
		names += stampOf(p)
	}
	for _, h := range summed(1, histories...) {
		r.At = h.At * 1000
		r.Points = append(r.Points, secondPoint(h))
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

func number(n uint64) string { return count(int64(n)) }

// rowTexts are the figures of a last minute, in a row and above the rows.
func rowTexts(c limiter.Counts, seen bool) map[string]string {
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

// limitTexts are all figures of a policy, by the names that the page's elements
// carry.
func limitTexts(s limiter.Stats, seen bool) map[string]string {
	now := recent(s)
	t := rowTexts(now, seen)
	t["asked.note"] = "in the last " + seconds(int64(s.RecentSeconds))
	t["let.note"], t["refusals.note"] = t["asked.note"], t["memory"]+" of them from memory"
	t["share.note"] = "of those who asked"
	t["store"], t["store.note"] = storeWord(s.Failing)
	if s.Policy.Scope == limit.ScopeServer {
		t["store"], t["store.note"] = "not asked", "this server counts"
	}
	var total limiter.Counts
	for _, tier := range s.Tiers {
		total = total.Plus(tier.Total)
		t["tier."+tier.Tier+".let"] = number(tier.Recent.Allowed())
		t["tier."+tier.Tier+".refusals"] = number(tier.Recent.Refused())
		t["tier."+tier.Tier+".total"] = number(tier.Total.Total())
	}
	for _, o := range outcomeNames {
		t["minute."+o.Key], t["total."+o.Key] = number(now[o.outcome]), number(total[o.outcome])
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
		return state{"warn", "▲", "Refusing many", "In the last minute a large share of who asked was refused."}
	case now.Refused() > 0:
		return state{"ok", "●", "Limiting", "Some were refused in the last minute; most were not."}
	case now.Total() == 0:
		return state{"ok", "○", "Quiet", "Nobody asked in the last minute."}
	default:
		return state{"ok", "○", "All within", "Nobody was refused in the last minute."}
	}
}

// allows is what a policy allows, in a line.
func allows(p limit.Policy) string {
	text := change.RuleWords(p.Rules)
	if change.Fitted(p) != "" {
		text += fmt.Sprintf(", of a zone with %s a minute", count(zone.DefaultPerMinute))
	}
	switch n := len(p.Tiers); n {
	case 0:
	case 1:
		text += "; 1 more tier"
	default:
		text += fmt.Sprintf("; %d more tiers", n)
	}
	return text
}
