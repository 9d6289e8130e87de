package console

import (
	"net/http"
	"net/url"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// visitorPath is the page of the visitor with a reference.
func visitorPath(zoneID, ref string) string {
	return zonePath(zoneID) + "?" + url.Values{"tab": {"visitor"}, "ref": {ref}}.Encode()
}

// giveUpAsk is GET /console/zones/{zoneId}/give-up: where the visitor with the reference stands, and a form that gives the place up. It changes
// nothing.
func (c *Console) giveUpAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	found, err := c.Zones.Visitor(r.Context(), current.ZoneID, r.URL.Query().Get("ref"), "")
	if err != nil {
		return err
	}
	v := confirmView{
		Path: visitorPath(current.ZoneID, found.PlaceID), Action: zonePath(current.ZoneID) + "/give-up", Title: "Nothing to give up",
		Effects: change.Visitor(found.Words()),
	}
	if found.HasPlace() {
		v.Title, v.Button, v.Hidden, v.Effects = "Give up "+found.PlaceID+"?", "Give the place up", []pair{{"ref", found.PlaceID}}, change.GiveUp(found.Words())
	}
	return c.render(w, http.StatusOK, "confirm", s, v.Title, v)
}

// giveUpDo is POST /console/zones/{zoneId}/give-up: does what was confirmed.
func (c *Console) giveUpDo(w http.ResponseWriter, r *http.Request, s session) error {
	v, err := c.Zones.GiveUp(r.Context(), r.PathValue("zoneId"), r.PostForm.Get("ref"), s.by())
	if err == nil {
		http.Redirect(w, r, visitorPath(v.ZoneID, v.PlaceID), http.StatusSeeOther)
	}
	return err
}
