package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lineOf is what is known of a zone's line.
func (c *Console) lineOf(zoneID string) change.Line {
	now, seen := c.Watch.Latest(zoneID)
	return change.Line{Known: seen && now.Known(), Waiting: now.Waiting, EstimateMillis: now.EstimateMillis, ProviderKeys: c.ProviderKeys}
}

// against are settings against bots, by the level that a button names. A zone that asks a provider goes on asking that.
var against = map[string]zone.Settings{
	"low":    {ChallengeWhen: zone.ChallengeInLine, ChallengeMillis: 500, ChallengeWithoutScript: zone.WithoutScriptWait, MaxShareByNetwork: 25},
	"medium": {ChallengeWhen: zone.ChallengeInLine, ChallengeMillis: 1_000, ChallengeWithoutScript: zone.WithoutScriptRefuse, MaxShareByNetwork: 10},
	"high":   {ChallengeWhen: zone.ChallengeAlways, ChallengeMillis: 2_000, ChallengeWithoutScript: zone.WithoutScriptRefuse, MaxShareByNetwork: 5},
}

// proposal reads from a query, or from a form, what a zone is to be set to: bots=low, medium or high fills in settings
// against bots, step=-10 or 10 moves the limit by percents, resume=1 puts back the limit from before a pause, network=AS64500 with share=1 sets that
// network's share, and the other fields are settings.
func (c *Console) proposal(r *http.Request, current zone.Settings) (next zone.Settings, faults []string) {
	q := r.URL.Query()
	if r.Method == http.MethodPost {
		q = r.PostForm // what is too long for an address
	}
	next = current
	switch step := q.Get("step"); {
	case step == "-10":
		next.PerMinute = current.PerMinute - max(1, (current.PerMinute+5)/10)
		next.PerMinute = max(next.PerMinute, min(1, current.PerMinute)) // pausing is another button
	case step == "10":
		next.PerMinute = min(zone.MaxPerMinute, current.PerMinute+max(1, (current.PerMinute+5)/10))
	case q.Get("resume") != "":
		changes, err := c.Zones.Changes(r.Context(), current.ZoneID, zone.MaxChanges)
		if err != nil {
			return next, []string{"The store does not answer, so the limit from before the pause is not known. Enter a limit."}
		}
		if next.PerMinute = resumeTo(current, changes); next.PerMinute == 0 {
			return next, []string{"The record does not say what the limit was. Enter a limit."}
		}
	case q.Get("bots") != "":
		level, known := against[q.Get("bots")]
		if !known {
			return next, []string{"Bots: choose low, medium or high."}
		}
		if next.Challenge == zone.ChallengeNone {
			next.Challenge = zone.ChallengeWork
		}
		next.ChallengeWhen, next.ChallengeMillis = level.ChallengeWhen, level.ChallengeMillis
		next.ChallengeWithoutScript, next.MaxShareByNetwork = level.ChallengeWithoutScript, level.MaxShareByNetwork
		return next, next.Faults()
	case q.Get("network") != "":
		next = current.SetShare(q.Get("network"), q.Get("share"))
		return next, next.Faults()
	default:
		return readSettings(zone.Table, q, "", current)
	}
	return next, nil
}

// resumeTo is the limit that a paused zone had: see zone.Settings.PausedFrom. 0: the record does not say.
func resumeTo(current zone.Settings, changes []zone.Change) int64 {
	for _, c := range sinceMade(changes) {
		if limit := current.PausedFrom(c.Was, c.Now); limit > 0 {
			return limit
		}
	}
	return 0
}

// zonePath is where the pages of a zone are.
func zonePath(zoneID string) string { return root + "zones/" + url.PathEscape(zoneID) }

// newView is the form for a new zone.
type newView struct {
	ZoneID string
	// First are the settings that every zone wants thought of; the others are good
	// as they are.
	First  []field
	Others []group
	Faults []string
}

// firstFields are limit and mode, which begin the table of settings.
const firstFields = 2

// newPage is GET /console/new.
func (c *Console) newPage(w http.ResponseWriter, _ *http.Request, s session) error {
	fields := fieldsOf(zone.Table, zone.Defaults(""))
	return c.render(w, http.StatusOK, "new", s, "New zone", newView{First: fields[:firstFields], Others: grouped(fields[firstFields:])})
}

// create is POST /console/new: makes a zone, or shows the form again with what
// is wrong with it. It never changes a zone that is there.
func (c *Console) create(w http.ResponseWriter, r *http.Request, s session) error {
	zoneID := strings.TrimSpace(r.PostForm.Get("zoneId"))
	wanted, faults := readSettings(zone.Table, r.PostForm, "", zone.Defaults(zoneID))
	if !zone.ValidID(zoneID) {
		faults = append([]string{"Name: 1 to 64 letters A-Z a-z, digits, dots, dashes and underscores."}, faults...)
	}
	if len(faults) == 0 {
		body, err := json.Marshal(wanted)
		if err == nil {
			_, _, err = c.Zones.Put(r.Context(), zoneID, body, s.by(), serve.Condition{IfNoneMatch: "*"})
		}
		switch invalid, refused := errors.AsType[*serve.InvalidError](err); {
		case err == nil:
			return c.done(w, r, zonePath(zoneID), wanted)
		case refused:
			faults = invalid.Faults
		case errors.Is(err, operator.ErrPrecondition):
			faults = []string{"There is a zone with this name already."}
		default:
			return err
		}
	}
	fields := fieldsOf(zone.Table, wanted)
	for i, f := range fields { // what was typed, right or wrong
		if typed, given := r.PostForm[f.Name]; given {
			fields[i].Value = typed[0]
		}
	}
	v := newView{ZoneID: zoneID, First: fields[:firstFields], Others: grouped(fields[firstFields:]), Faults: faults}
	return c.render(w, http.StatusUnprocessableEntity, "new", s, "New zone", v)
}
