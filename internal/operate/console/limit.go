package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/operate/change"
)

// limitFolder is where policies' pages are, below root.
const limitFolder = "limits/"

// limitView is one policy's page.
type limitView struct {
	shown
	Policy limit.Policy
	Key    string
	Tiers  []tierView
	// Fitted says of which zones the tiers' figures are, if not of all.
	Fitted string
	// Outcomes are the rows of the table of what became of who asked.
	Outcomes []outcomeName
	// Groups are the figures that can be set, tier by tier.
	Groups []group
	Hour   []fiveMinutes
}

// limitPage is GET /console/limits/{name}.
func (c *Console) limitPage(w http.ResponseWriter, r *http.Request, s session, current limit.Policy) error {
	v := limitView{
		Policy: current, Key: change.KeyWords(current.Key), Tiers: tiersOf(current), Fitted: change.Fitted(current), Outcomes: outcomeNames, Groups: groupsOf(current),
	}
	seen, _ := c.Decisions.Stats(current.Name, limiter.HistorySeconds) // nothing of one that is not in force here
	v.Hour = fives(seen.History)
	v.shown, _ = c.limitEditor.shown(r, current.Name, current)
	return c.render(w, http.StatusOK, "limit", s, current.Name, v)
}

// limitsPage is GET /console/limits.
func (c *Console) limitsPage(w http.ResponseWriter, r *http.Request, s session) error {
	v := rollView{Roll: c.limitsRoll(), Hour: fives(c.allSeconds()), Deleted: c.limitEditor.deleted(r)}
	return c.render(w, http.StatusOK, "limits", s, "Limits", v)
}

// limitsEvents is GET /console/limits-events; the dash is in the place of a slash,
// behind which policies' names are.
func (c *Console) limitsEvents(w http.ResponseWriter, r *http.Request, s session) error {
	return c.stream(w, r, s, func(context.Context) (any, error) { return c.limitsRoll(), nil })
}

// limitHistory is GET /console/limits/{name}/history.
func (c *Console) limitHistory(w http.ResponseWriter, r *http.Request, _ session) error {
	seen, _ := c.Decisions.Stats(r.PathValue("name"), limiter.HistorySeconds) // nothing of one that is not in force here
	return sendChart(w, r, limitColumns, seen.History, secondPoint)
}

// limitsHistory is GET /console/limits-history: all policies together.
func (c *Console) limitsHistory(w http.ResponseWriter, r *http.Request, _ session) error {
	return sendChart(w, r, limitColumns, c.allSeconds(), secondPoint)
}

// allSeconds are the last hour of all policies together, the oldest first.
func (c *Console) allSeconds() []limiter.Second {
	var all [][]limiter.Second
	for _, p := range c.Policies.InForce() {
		// One that is not known was deleted just now.
		seen, _ := c.Decisions.Stats(p.Name, limiter.HistorySeconds)
		all = append(all, seen.History)
	}
	return summed(1, all...)
}

// fiveMinutes are how many were allowed and refused in them: what the charts show,
// for those who do not see them.
type fiveMinutes struct {
	At                                         time.Time
	Allowed, Refused, FromMemory, WithoutStore string
}

// fives are the sums of five minutes each, the newest first.
func fives(history []limiter.Second) []fiveMinutes {
	var all []fiveMinutes
	for _, s := range slices.Backward(summed(int64(hourStep/time.Second), history)) {
		all = append(all, fiveMinutes{
			time.Unix(s.At, 0), count(int64(s.Allowed)), count(int64(s.Refused)),
			count(int64(s.FromMemory)), count(int64(s.WithoutStore)),
		})
	}
	return all
}

// summed are the sums of what happened within the same step of so many seconds, the oldest first.
func summed(step int64, histories ...[]limiter.Second) []limiter.Second {
	sums := map[int64]limiter.Second{}
	for _, history := range histories {
		for _, h := range history {
			at := h.At - h.At%step
			sum := sums[at]
			sums[at] = limiter.Second{
				At: at, Allowed: sum.Allowed + h.Allowed, Refused: sum.Refused + h.Refused,
				FromMemory: sum.FromMemory + h.FromMemory, WithoutStore: sum.WithoutStore + h.WithoutStore,
			}
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b limiter.Second) int { return cmp.Compare(a.At, b.At) })
}
