package adminclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Stats is what the server knows of a zone.
type Stats = operator.Stats

// Changes are entries of the record of changes.
type Changes = operator.Changes

const zonesPath = "/admin/zones"

func zonePath(zoneID string) string { return zonesPath + "/" + url.PathEscape(zoneID) }

// Zones returns the settings of all zones, in the order of their names.
func (c *Client) Zones(ctx context.Context) (Reply[[]zone.Settings], error) {
	all, err := call[operator.Zones](ctx, c, http.MethodGet, zonesPath, serve.Condition{}, nil)
	return Reply[[]zone.Settings]{Value: all.Value.Zones, JSON: all.JSON}, err
}

// Zone returns the settings of one zone, with their version.
func (c *Client) Zone(ctx context.Context, zoneID string) (Reply[zone.Settings], error) {
	return call[zone.Settings](ctx, c, http.MethodGet, zonePath(zoneID), serve.Condition{}, nil)
}

// Create makes a zone with these settings by their names; what is left out has
// its default. A zone that is there already is an ErrConflict, and stays as it is.
func (c *Client) Create(ctx context.Context, zoneID string, settings operator.Change) (Reply[zone.Settings], error) {
	return call[zone.Settings](ctx, c, http.MethodPut, zonePath(zoneID), serve.Condition{IfNoneMatch: "*"}, settings)
}

// Change sets those settings of a zone that are named, and leaves the others as
// they are. With a version, it does so only if the settings are still those that
// had it; else the error is ErrConflict.
func (c *Client) Change(ctx context.Context, zoneID string, settings operator.Change, version string) (Reply[zone.Settings], error) {
	return call[zone.Settings](ctx, c, http.MethodPatch, zonePath(zoneID), serve.Condition{IfMatch: version}, settings)
}

// Act holds, moves, opens or cancels an event; step and to are "" where the verb has none.
func (c *Client) Act(ctx context.Context, zoneID, name string, do operator.Verb, step, to string) (Reply[zone.Settings], error) {
	path := zonePath(zoneID) + "/events/" + url.PathEscape(name) + "/" + string(do)
	return call[zone.Settings](ctx, c, http.MethodPost, path, serve.Condition{}, operator.Asked{Step: event.Step(step), To: to})
}

// Visitor returns where the visitor with a reference stands. day may be "".
func (c *Client) Visitor(ctx context.Context, zoneID, ref, day string) (Reply[operator.Visitor], error) {
	return call[operator.Visitor](ctx, c, http.MethodGet, zonePath(zoneID)+"/visitors/"+url.PathEscape(ref)+"?"+url.Values{"day": {day}}.Encode(), serve.Condition{}, nil)
}

// GiveUp gives up the place of the visitor with a reference.
func (c *Client) GiveUp(ctx context.Context, zoneID, ref string) (Reply[operator.Visitor], error) {
	return call[operator.Visitor](ctx, c, http.MethodDelete, zonePath(zoneID)+"/visitors/"+url.PathEscape(ref), serve.Condition{}, nil)
}

// Forget destroys the key of the pseudonyms of a day.
func (c *Client) Forget(ctx context.Context, zoneID, day string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, zonePath(zoneID)+"/pseudonyms/"+url.PathEscape(day), serve.Condition{}, nil)
	return err
}

// Sessions returns the newest sessions of a zone that the server knows, at most so many.
func (c *Client) Sessions(ctx context.Context, zoneID string, most int) (Reply[operator.Sessions], error) {
	return call[operator.Sessions](ctx, c, http.MethodGet, zonePath(zoneID)+"/inside?limit="+strconv.Itoa(most), serve.Condition{}, nil)
}

// ActInside revokes admissions of a zone, or forgets those that may have been lost.
func (c *Client) ActInside(ctx context.Context, zoneID string, act operator.InsideAct) (Reply[operator.InsideDone], error) {
	return call[operator.InsideDone](ctx, c, http.MethodPost, zonePath(zoneID)+"/inside/"+string(act.Do), serve.Condition{}, act)
}

// Observed returns what the gate of a zone would have had wait or refused at the server.
func (c *Client) Observed(ctx context.Context, zoneID string) (Reply[observed.List], error) {
	return call[observed.List](ctx, c, http.MethodGet, zonePath(zoneID)+"/observed", serve.Condition{}, nil)
}

// Pilot returns what the autopilot of a zone saw and did.
func (c *Client) Pilot(ctx context.Context, zoneID string) (Reply[steer.View], error) {
	return call[steer.View](ctx, c, http.MethodGet, zonePath(zoneID)+"/pilot", serve.Condition{}, nil)
}

// Networks returns the networks of a zone with the most joins that the server counted, at most so many.
func (c *Client) Networks(ctx context.Context, zoneID string, most int) (Reply[network.List], error) {
	return call[network.List](ctx, c, http.MethodGet, zonePath(zoneID)+"/networks?limit="+strconv.Itoa(most), serve.Condition{}, nil)
}

// Delete removes a zone and everybody's place in it; with a version, only if its
// settings are still those that had it.
func (c *Client) Delete(ctx context.Context, zoneID, version string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, zonePath(zoneID), serve.Condition{IfMatch: version}, nil)
	return err
}

// Stats returns the state of one zone.
func (c *Client) Stats(ctx context.Context, zoneID string) (Reply[Stats], error) {
	return call[Stats](ctx, c, http.MethodGet, zonePath(zoneID)+"/stats", serve.Condition{}, nil)
}

// Report returns how an event or a span of a zone was.
func (c *Client) Report(ctx context.Context, zoneID string, q operator.ReportQuery) (Reply[report.Report], error) {
	query := make(url.Values)
	for name, value := range map[string]string{"event": q.Event, "from": q.From, "to": q.To, "whatIf": q.WhatIf} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return call[report.Report](ctx, c, http.MethodGet, zonePath(zoneID)+"/report?"+query.Encode(), serve.Condition{}, nil)
}

// Changes returns the newest changes of one zone, of one policy, or of all when both are "": at most so many of
// zones, and as many of policies.
func (c *Client) Changes(ctx context.Context, zoneID, policy string, most int) (Reply[Changes], error) {
	query := url.Values{"limit": {strconv.Itoa(most)}}
	switch {
	case zoneID != "":
		query.Set("zoneId", zoneID)
	case policy != "":
		query.Set("policy", policy)
	}
	return call[Changes](ctx, c, http.MethodGet, "/admin/audit?"+query.Encode(), serve.Condition{}, nil)
}

type (
	// Verified says of records whether they are as servers wrote them.
	Verified = operator.Verified
	// Export is a record with its entries.
	Export = operator.Export
)

// Verify checks a record of changes: a zone's by its ID, :limits, :operators or :refusals; or for "" all that the token may see.
func (c *Client) Verify(ctx context.Context, record string) (Reply[Verified], error) {
	return call[Verified](ctx, c, http.MethodGet, "/admin/audit/verify?"+url.Values{"record": {record}}.Encode(), serve.Condition{}, nil)
}

// Export returns all of such a record.
func (c *Client) Export(ctx context.Context, record string) (Reply[Export], error) {
	return call[Export](ctx, c, http.MethodGet, "/admin/audit/export?"+url.Values{"record": {record}}.Encode(), serve.Condition{}, nil)
}

const limitsPath = "/admin/limits"

func limitPath(name string) string { return limitsPath + "/" + url.PathEscape(name) }

// Limits returns all policies of limits, in the order of their names.
func (c *Client) Limits(ctx context.Context) (Reply[[]limit.Policy], error) {
	all, err := call[policyset.Limits](ctx, c, http.MethodGet, limitsPath, serve.Condition{}, nil)
	return Reply[[]limit.Policy]{Value: all.Value.Limits, JSON: all.JSON}, err
}

// Limit returns one policy, with its version. One that is not there is an
// ErrNotFound.
func (c *Client) Limit(ctx context.Context, name string) (Reply[limit.Policy], error) {
	return call[limit.Policy](ctx, c, http.MethodGet, limitPath(name), serve.Condition{}, nil)
}

// PutLimit makes a policy or sets all of it: with a version, only if it is still
// the one that had it; without, only if there is none. Else the error is
// ErrConflict.
func (c *Client) PutLimit(ctx context.Context, p limit.Policy, version string) (Reply[limit.Policy], error) {
	only := serve.Condition{IfMatch: version}
	if version == "" {
		only = serve.Condition{IfNoneMatch: "*"}
	}
	return call[limit.Policy](ctx, c, http.MethodPut, limitPath(p.Name), only, p)
}

// DeleteLimit removes a policy, if it is still the one that had this version.
func (c *Client) DeleteLimit(ctx context.Context, name, version string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, limitPath(name), serve.Condition{IfMatch: version}, nil)
	return err
}

// LimitStats returns what the server has seen of a policy.
func (c *Client) LimitStats(ctx context.Context, name string) (Reply[limiter.Stats], error) {
	return call[limiter.Stats](ctx, c, http.MethodGet, limitPath(name)+"/stats", serve.Condition{}, nil)
}
