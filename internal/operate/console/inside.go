package console

import (
	"net/http"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// insideAsk is GET /console/zones/{zoneId}/inside: what do=revoke (all admissions) or do=reset would do, and a form that does
// it. It changes nothing.
func (c *Console) insideAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	act := insideActOf(r.URL.Query().Get("do"))
	act.DryRun = true
	would, err := c.Zones.ActInside(r.Context(), current.ZoneID, act, s.by())
	if err != nil {
		return err
	}
	path := zonePath(current.ZoneID)
	v := confirmView{
		Path: path, Action: path + "/inside", Title: "Reset the count of " + current.ZoneID + "?", Button: "Reset the count",
		Hidden: []pair{{"do", string(act.Do)}}, Effects: change.Reset(would.Count),
	}
	switch {
	case act.All:
		v.Title, v.Button, v.Effects = "End all sessions of "+current.ZoneID+"?", "End all sessions", change.RevokeAll(would.Count)
	case would.Count == 0:
		v.Title, v.Button = "Nothing to reset", ""
	}
	return c.render(w, http.StatusOK, "confirm", s, v.Title, v)
}

// insideDo is POST /console/zones/{zoneId}/inside: does what was confirmed.
func (c *Console) insideDo(w http.ResponseWriter, r *http.Request, s session) error {
	zoneID := r.PathValue("zoneId")
	if _, err := c.Zones.ActInside(r.Context(), zoneID, insideActOf(r.PostForm.Get("do")), s.by()); err != nil {
		return err
	}
	now, err := c.Zones.Get(r.Context(), zoneID)
	if err != nil {
		return err
	}
	return c.done(w, r, zonePath(zoneID), now)
}

// insideActOf is the act that a form names: all admissions are revoked, or the count is reset.
func insideActOf(do string) operator.InsideAct {
	verb := operator.InsideVerb(do)
	return operator.InsideAct{Do: verb, Whom: operator.Whom{All: verb == operator.Revoke}}
}
