package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/zone"
)

// HTTP is the room's side of the operators' listener.
type HTTP struct {
	service *Service
	// notKept says why what is in force is lost with this server, or nil.
	notKept func() error
}

// dryRun is the key under which a request's context says that it changes nothing.
const dryRun = "dry run"

// Warn has the answer to a change that was made say if it is not kept. The change is in
// force: a pause must not wait for a disk that is full, or a store that is away. To be put
// on everything under /admin.
func (h *HTTP) Warn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch c.Request().Method {
		case http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost:
			res := c.Response()
			res.Before(func() {
				if dry, _ := c.Get(dryRun).(bool); dry || res.Status >= http.StatusMultipleChoices {
					return
				}
				if why := h.notKept(); why != nil {
					res.Header().Set(WarningHeader, warning(why))
				}
			})
		}
		return next(c)
	}
}

// NewHTTP returns the handlers of the room. They belong behind Access.Guard. Every answer to a change tells what notKept returns.
func NewHTTP(s *Service, notKept func() error) *HTTP { return &HTTP{s, notKept} }

// Guard lets only those through whom a proxy names or who show a good token, each as the identity that people.Of returns, and no request that a browser
// makes for another site. To be put on everything under /admin.
func (a *Access) Guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if err := a.origins.Check(r); err != nil {
			return fmt.Errorf("%w: %w", ErrCrossOrigin, err)
		}
		who, named, err := a.ByProxy(r)
		if err != nil {
			return err
		}
		if !named {
			scheme, shown, _ := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
			if !strings.EqualFold(scheme, "Bearer") || shown == "" {
				return ErrUnauthorized // no token is shown, so nobody guesses
			}
			if who, err = a.Check(r, shown, c.Path()); err != nil {
				return err
			}
		}
		c.SetRequest(r.WithContext(people.With(r.Context(), who)))
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		return next(c)
	}
}

// Guard lets no request through that is for another host.
func (h Hosts) Guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !h.own(c.Request().Host) {
			return ErrHost
		}
		return next(c)
	}
}

// Change is the body of a change of a zone: settings by their names.
type Change map[string]any

// The parameters and headers of this room's calls.
type (
	// Listed is how many a list may have, at most MaxListed.
	Listed struct {
		Limit int `json:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most to list." example:"20"`
	}
	recorded struct {
		ZoneID string `json:"zoneId" doc:"Of this zone only." example:"TEST_ZONE"`
		Policy string `json:"policy" doc:"Of this policy of limits only." minLength:"1" maxLength:"64" example:"api"`
		Listed
	}
	lasted struct {
		Seconds int `json:"seconds" minimum:"1" maximum:"3600" default:"3600" doc:"How many seconds, at most."`
	}
	location struct {
		ZoneLocation string `json:"Location" format:"uri-reference" pattern:"^/admin/zones/[A-Za-z0-9._-]{1,64}$" example:"/admin/zones/TEST_ZONE" doc:"Where the zone is."`
	}
)

// usualMost is how many are listed where nobody says, as Listed has it.
const usualMost = 100

// Examples of faults.
const (
	badZone   = "zoneId must be 1 to 64 of A-Z a-z 0-9 . _ -"
	badLimit  = "limit must be between 1 and 1000"
	badRecord = "record must be a zone's ID, :limits, :operators or :refusals"
)

// Routes are the calls of the room. All are below /admin.
func (h *HTTP) Routes() []route.Route {
	const zones, one = "/admin/zones", "/admin/zones/{zoneId}"
	settings := route.Answer{Status: http.StatusOK, Doc: "The zone's settings, as they are now.", Body: zone.Settings{}, Headers: []any{route.ETag{}}}
	answer := func(doc string, body any) []route.Answer {
		return []route.Answer{{Status: http.StatusOK, Doc: doc, Body: body}}
	}
	faults := []string{`"burts" is not a setting`, "perMinute is -1, must be between 0 and 6000000"}
	all := []route.Route{
		{
			Method: http.MethodGet, Path: zones, Role: route.Viewer, Handle: h.list, ID: "listZones", Summary: "All zones",
			Answers: answer("The settings of all zones, in the order of their names.", Zones{}),
		},
		{
			Method: http.MethodGet, Path: one, Role: route.Viewer, Handle: h.get, ID: "getZone", Summary: "One zone",
			Answers: []route.Answer{settings}, Refusals: []string{"zone_unknown"}, Invalid: []string{badZone},
		},
		{
			Method: http.MethodPut, Path: one, Role: route.Operator, Handle: h.put, ID: "putZone", Summary: "Make a zone, or set everything of it",
			Doc:    "What is left out is set to its default, also in a zone that exists. To make a zone needs the role admin.",
			Change: true, Params: []any{serve.Condition{}}, Body: Change{},
			Samples: []route.Sample{
				{Name: "usual", Summary: "600 a minute, the rest by default", Body: `{perMinute: 600}`},
				{
					Name: "bank", Summary: "Short windows, and somebody goes on when Redis does not",
					Body: `{perMinute: 6000, windowSeconds: 2, maxWaiting: 200000, onStoreFailure: admit}`,
				},
			},
			Answers: []route.Answer{settings, {
				Status: http.StatusCreated, Doc: "The zone was made.", Body: zone.Settings{}, Headers: []any{route.ETag{}, location{}},
			}},
			Refusals: []string{"event_fixed", "precondition_failed"}, Invalid: faults,
		},
		{
			Method: http.MethodPatch, Path: one, Role: route.Operator, Handle: h.patch, ID: "patchZone", Summary: "Change some settings",
			Doc:    "Those that the body names; the others stay as they are.",
			Change: true, Params: []any{serve.Condition{}}, Body: Change{},
			Samples: []route.Sample{
				{Name: "faster", Summary: "Admit more", Body: `{perMinute: 900}`},
				{Name: "pause", Summary: "Pause: nobody enters, everybody keeps the place", Body: `{perMinute: 0}`},
				{Name: "close", Summary: "No newcomers", Body: `{mode: closed}`},
			},
			Answers:  []route.Answer{settings},
			Refusals: []string{"zone_unknown", "conflict", "event_fixed", "precondition_failed"}, Invalid: faults,
		},
		{
			Method: http.MethodDelete, Path: one, Role: route.Admin, Handle: h.delete, ID: "deleteZone", Summary: "Delete a zone",
			Doc:    "With everybody's place in it. There is no way back. While an event of the zone is fixed, that is 409 `event_fixed`: cancel it before.",
			Change: true, Params: []any{serve.Condition{}},
			Answers:  []route.Answer{{Status: http.StatusNoContent, Doc: "The zone is no more."}},
			Refusals: []string{"zone_unknown", "event_fixed", "precondition_failed"}, Invalid: []string{"X-Operator must not be longer than 64 bytes"},
		},
		{
			Method: http.MethodGet, Path: one + "/stats", Role: route.Viewer, Handle: ofZone(h, (*Service).Stats), ID: "zoneStats", Summary: "A zone, as it is now",
			Answers:  answer("The line, the window, and what happened since the zone's data began.", Stats{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badZone},
		},
		{
			Method: http.MethodGet, Path: one + "/history", Role: route.Viewer, Handle: most(h, (*Service).History, "seconds", MaxHistorySeconds), ID: "zoneHistory", Summary: "The last hour of a zone, second by second",
			Doc: "As this server has seen it since it was started. Row `i` of every column is the second `start + i * stepMillis`; the " +
				"last is the latest that was sampled. An entry is null where there is no sample of that second, and where a figure is " +
				"not known: all of them while `store` is `failing`. Packed with gzip for clients that take it.",
			Packed: true, Params: []any{lasted{}}, // an hour is 600 KB as it is
			Answers:  answer("The columns.", History{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badZone},
		},
		{
			Method: http.MethodGet, Path: one + "/report", Role: route.Viewer, Handle: h.report, ID: "zoneReport", Summary: "How an event or a span of a zone was",
			Doc: "From the minutes that the store keeps for `QUEUE_HISTORY_DAYS`, so of all servers. Without parameters it is of the last " +
				"day. `queue-server report` makes a page, a text or CSV of it.",
			Packed: true, Params: []any{ReportQuery{}},
			Answers:  answer("The report.", report.Report{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{`event "noon" is no event that TEST_ZONE lists or has listed lately`},
		},
		{
			Method: http.MethodPost, Path: one + "/events/{event}/{do}", Role: route.Operator, Handle: h.act, ID: "changeEvent",
			Summary: "Hold or move a step of an event, open it, or cancel it",
			Doc: `An event is fixed from an hour before its first step on: a list of ` + "`events`" + ` cannot change it any more, and this can.

- ` + "`hold`" + `: the ` + "`step`" + ` waits until it is moved.
- ` + "`move`" + `: the ` + "`step`" + ` is made at the time ` + "`to`" + `, and is held no more. ` + "`opens`" + ` takes the moment at which people have their
  places with it, unless they have them already.
- ` + "`open`" + `: it opens at once, or as soon as everybody who gathered has heard of it.
- ` + "`cancel`" + `: it does not take place, or ends now. The settings of before hold again. Those who gathered keep their places, in
  the order of the draw if there is one.
`,
			Change: true, Part: eventVerb{}, Body: Asked{}, Optional: true,
			Samples:  []route.Sample{{Name: "hold", Summary: "The opening waits", Body: `{step: opens}`}},
			Answers:  []route.Answer{settings},
			Refusals: []string{"zone_unknown", "conflict"}, Invalid: []string{`there is no event "noon"; none is listed`},
		},
		{
			Method: http.MethodGet, Path: one + "/inside", Role: route.Viewer, Handle: most(h, (*Service).Sessions, "limit", usualMost), ID: "listInside", Summary: "The newest sessions that asked this server",
			Doc:    "In a zone with `maxInside`. Each server knows the sessions that asked it; the store counts all of them.",
			Params: []any{Listed{}}, Answers: answer("The sessions, the newest admission first.", Sessions{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badLimit},
		},
		{
			Method: http.MethodPost, Path: one + "/inside/{do}", Role: route.Operator, Handle: h.actInside, ID: "changeInside",
			Summary: "Revoke admissions of a zone, or forget those that may have been lost",
			Doc: `In a zone with ` + "`maxInside`" + `.

- ` + "`revoke`" + `: ends one admission, by its ` + "`jti`" + `, or ` + "`all`" + `. Every server refuses their sessions within a second, and the visitors
  queue again. After ` + "`all`" + `, nobody is admitted for a second. This cannot be undone.
- ` + "`reset`" + `: only those whom the store knows count as inside. Those who may be inside since a loss of data are forgotten.
`,
			Change: true, Part: insideVerb{}, Body: Whom{}, Optional: true,
			Samples:  []route.Sample{{Name: "all", Summary: "All", Body: `{all: true}`}},
			Answers:  answer("What was done, or would be.", InsideDone{}),
			Refusals: []string{"zone_unknown", "conflict"}, Invalid: []string{"either jti or all must be there"},
		},
		{
			Method: http.MethodGet, Path: one + "/networks", Role: route.Viewer, Handle: most(h, (*Service).Networks, "limit", usualMost), ID: "listNetworks",
			Summary: "The networks with the most joins lately at this server",
			Doc:     "Each server counts the joins that it gets. See `maxShareByNetwork` and `networkShares`.",
			Params:  []any{Listed{}}, Answers: answer("The networks, the one with the most joins first.", network.List{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badLimit},
		},
		{
			Method: http.MethodGet, Path: one + "/observed", Role: route.Viewer, Handle: ofZone(h, (*Service).Observed), ID: "observedRequests",
			Summary: "Which requests the gate would have had wait or refused at this server",
			Doc: "While the setting `gate` is `observe`: requests without a session that are not bypassed, by kind, without queries and ids. Each server keeps " +
				"those of the requests that it gets, at most 1,000 kinds, until it ends.",
			Answers:  answer("The kinds of requests, the most frequent first, and what to bypass.", observed.List{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badZone},
		},
		{
			Method: http.MethodGet, Path: one + "/pilot", Role: route.Viewer, Handle: ofZone(h, (*Service).Pilot), ID: "zonePilot",
			Summary: "What the autopilot saw and did",
			Doc: "See the setting `pilot`. The steps are kept as long as the history is (`QUEUE_HISTORY_DAYS`); those of the last day are here. They have no entry " +
				"in the record of changes.",
			Answers:  answer("What it does, what was seen of the site, and its steps.", steer.View{}),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badZone},
		},
		{
			Method: http.MethodGet, Path: "/admin/audit", Role: route.Viewer, Handle: h.audit, ID: "listChanges", Summary: "Who changed what, and when",
			Doc: "The latest changes of zones, also of those that were deleted, and of the policies of limits. Entries are kept for " +
				"`QUEUE_RECORD_DAYS`, at most 10,000 of each zone; `exportRecord` has all of them. With `zoneId` or `policy`, those of the others are left out.",
			Params: []any{recorded{}}, Answers: answer("The newest change first.", Changes{}),
			Refusals: []string{"zone_unknown", "forbidden"}, Invalid: []string{badLimit},
		},
		{
			Method: http.MethodGet, Path: "/admin/audit/verify", Role: route.Viewer, Handle: h.verifyRecords, ID: "verifyRecords", Summary: "Whether the record of changes was tampered with",
			Doc:    "Servers seal each entry over the one before, with a key from `QUEUE_SECRET`. An entry that was edited, taken out, put in or moved shows.",
			Params: []any{ofRecord{}}, Answers: answer("What each record proves.", Verified{}),
			Refusals: []string{"forbidden"}, Invalid: []string{badRecord},
		},
		{
			Method: http.MethodGet, Path: "/admin/audit/export", Role: route.Viewer, Handle: h.exportRecord, ID: "exportRecord", Summary: "A record of changes as it is kept",
			Params: []any{ofRecord{}}, Answers: answer("The record, and what it proves.", Export{}),
			Refusals: []string{"zone_unknown", "forbidden"}, Invalid: []string{badRecord},
		},
	}
	all = append(all, h.visitorRoutes()...)
	for i := range all {
		all[i].Tag = "zones"
		all[i].Refusals = append(all[i].Refusals, "store_unavailable")
	}
	return all
}

// Zones are all zones.
type Zones struct {
	Zones []zone.Settings `json:"zones" doc:"In the order of their names."`
}

func (h *HTTP) list(c echo.Context) error {
	zones, err := h.service.List(c.Request().Context())
	who := people.Of(c.Request().Context())
	zones = slices.DeleteFunc(zones, func(z zone.Settings) bool { return !who.Sees(z.ZoneID) })
	if zones == nil {
		zones = []zone.Settings{} // an empty list, not null
	}
	return send(c, Zones{zones}, err)
}

func (h *HTTP) get(c echo.Context) error {
	settings, err := h.service.Get(c.Request().Context(), c.Param("zoneId"))
	return sendZone(c, http.StatusOK, settings, err)
}

// sendZone answers with settings, and with the version that they have, unless there
// was an error.
func sendZone(c echo.Context, status int, s zone.Settings, err error) error {
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", Version(s))
	return c.JSON(status, s)
}

// send answers with v, unless there was an error.
func send(c echo.Context, v any, err error) error {
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

// ofZone answers with what get returns of the zone that the path names.
func ofZone[T any](h *HTTP, get func(*Service, context.Context, string) (T, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := get(h.service, c.Request().Context(), c.Param("zoneId"))
		return send(c, v, err)
	}
}

// most answers with as much as the number of that name in the query says, or as usual.
func most[T any](h *HTTP, get func(*Service, context.Context, string, int) (T, error), name string, usual int) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := get(h.service, c.Request().Context(), c.Param("zoneId"), readNumber(c, name, usual))
		return send(c, v, err)
	}
}

// put answers 201 for a new zone, else 200.
func (h *HTTP) put(c echo.Context) error {
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	only, zoneID := serve.ConditionOf(c.Request().Header), c.Param("zoneId")
	makes := people.Of(c.Request().Context()).May(route.Admin, zoneID)
	if !makes && only.IfMatch == "" {
		only.IfMatch = "*" // one that exists
	}
	settings, created, err := h.service.Put(c.Request().Context(), zoneID, body, by(c), only)
	if !makes && errors.Is(err, ErrPrecondition) {
		if there, _ := h.service.find(c.Request().Context(), zoneID); there == nil {
			return people.ErrForbidden
		}
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, "/admin/zones/"+settings.ZoneID)
	}
	return sendZone(c, status, settings, err)
}

func (h *HTTP) patch(c echo.Context) error {
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	settings, err := h.service.Patch(c.Request().Context(), c.Param("zoneId"), body, by(c), serve.ConditionOf(c.Request().Header))
	return sendZone(c, http.StatusOK, settings, err)
}

// by is who makes a change.
func by(c echo.Context) audit.By { return serve.By(c.Request().Context()) }

func (h *HTTP) act(c echo.Context) error {
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	settings, err := h.service.Act(c.Request().Context(), c.Param("zoneId"), c.Param("event"), Verb(c.Param("do")), body, by(c))
	return sendZone(c, http.StatusOK, settings, err)
}

// readNumber reads a number of the query.
func readNumber(c echo.Context, name string, otherwise int) int {
	n, err := strconv.Atoi(cmp.Or(c.QueryParam(name), strconv.Itoa(otherwise)))
	if err != nil {
		return 0 // out of range, which the service refuses
	}
	return n
}

func (h *HTTP) actInside(c echo.Context) error {
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	act := InsideAct{Do: InsideVerb(c.Param("do"))}
	if err := readFields(body, "a change of those inside", &act.Whom); err != nil {
		return err
	}
	c.Set(dryRun, act.DryRun)
	done, err := h.service.ActInside(c.Request().Context(), c.Param("zoneId"), act, by(c))
	return send(c, done, err)
}

func (h *HTTP) delete(c echo.Context) error {
	if err := h.service.Delete(c.Request().Context(), c.Param("zoneId"), by(c), serve.ConditionOf(c.Request().Header)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *HTTP) audit(c echo.Context) error {
	all, err := h.service.Recorded(c.Request().Context(), c.QueryParam("zoneId"), c.QueryParam("policy"), readNumber(c, "limit", usualMost))
	return send(c, all, err)
}

func (h *HTTP) verifyRecords(c echo.Context) error {
	all, err := h.service.Verify(c.Request().Context(), c.QueryParam("record"))
	return send(c, all, err)
}

func (h *HTTP) exportRecord(c echo.Context) error {
	out, err := h.service.Export(c.Request().Context(), c.QueryParam("record"))
	return send(c, out, err)
}

func (h *HTTP) visitor(c echo.Context) error {
	v, err := h.service.Visitor(c.Request().Context(), c.Param("zoneId"), c.Param("ref"), c.QueryParam("day"))
	return send(c, v, err)
}

func (h *HTTP) giveUp(c echo.Context) error {
	v, err := h.service.GiveUp(c.Request().Context(), c.Param("zoneId"), c.Param("ref"), by(c))
	return send(c, v, err)
}

func (h *HTTP) forget(c echo.Context) error {
	if err := h.service.Forget(c.Request().Context(), c.Param("zoneId"), c.Param("day"), by(c)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *HTTP) report(c echo.Context) error {
	made, err := h.service.Report(c.Request().Context(), c.Param("zoneId"), ReportQuery{
		Event: c.QueryParam("event"), From: c.QueryParam("from"), To: c.QueryParam("to"), WhatIf: c.QueryParam("whatIf"),
	})
	return send(c, made, err)
}
