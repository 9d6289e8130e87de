package openapi

import (
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Parameters and headers of the operators' listener.
type (
	changer struct {
		Operator string `json:"X-Operator" maxLength:"64" example:"Ada" doc:"Who makes the change, for the record of changes: at most 64 bytes of UTF-8 without control characters. Required with the root token, where it is a claim; ignored with any other token, which has its owner's name."`
	}
	warning struct {
		Warning string `json:"Warning,omitempty" pattern:"^199 queue-server \"in force on this server, but not kept: [ !#-~]+\"$" example:"199 queue-server \"in force on this server, but not kept: zones.json.new: no space left on device\"" doc:"The change is in force on this server and may be lost, since its disk or its store does not take it now; and why. It is kept as soon as that is possible. Other servers on the same Redis do not know of it yet."`
	}
)

// operators describes the operators' listener.
func operators() *route.Listener {
	calls := slices.Concat((*operator.HTTP)(nil).Routes(), (*policyset.HTTP)(nil).Routes(), (*people.HTTP)(nil).Routes())
	for i := range calls {
		c := &calls[i]
		// What stands before them all.
		c.Security, c.Refusals = []string{"operator"}, append(c.Refusals, "unauthorized", "too_many_wrong_tokens", "internal_error")
		if c.Zoned() || c.Change || c.Role == route.Admin { // a list has what its reader may see
			c.Refusals = append(c.Refusals, "forbidden")
		}
		for j := range c.Answers {
			a := &c.Answers[j]
			a.Headers = append([]any{route.NoStore{}}, a.Headers...)
		}
	}
	return &route.Listener{
		Title: "Waiting room, for operators", Doc: operatorsText, Routes: append(calls, self), Strict: true,
		Tags: []route.Tag{
			{Name: "zones", Description: "Making, changing, watching and deleting zones."},
			{Name: "limits", Description: "Making, changing, watching and deleting the policies of limits, what one client may take."},
			{Name: "operators", Description: "Tokens of those who operate the room: persons and machines."},
			{Name: "service", Description: "This document."},
		},
		Schemes: route.Object{
			{Name: "operator", Value: route.Parse("{type: http, scheme: bearer, description: 'A token of one''s own, or the root token, `QUEUE_ADMIN_TOKEN`.'}")},
		},
		Everywhere: []string{"host_unknown", "not_found", "method_not_allowed"},
		Paths:      paths{}, Changer: changer{}, Warning: warning{},
		Shared: map[string]string{"zoneId": "ZoneId", "policy": "PolicyName"},
		Names: map[reflect.Type]route.Named{
			reflect.TypeFor[zone.Settings]():   {Name: "Zone", Doc: "All settings of a zone."},
			reflect.TypeFor[operator.Change](): {Name: "Change", Doc: "Settings of a zone. None may be null, or given twice."},
			reflect.TypeFor[zone.PilotStep]():  {Name: "PilotStep", Doc: "A step of the autopilot; empty for none.", Closed: true},
			reflect.TypeFor[zone.InsideState](): {
				Name: "InsideState", Doc: "What operators have done to the visitors inside.", Closed: true,
			},
			reflect.TypeFor[event.Event](): {
				Name: "Event",
				Doc: "From `preQueueAt` to `opensAt` people gather: they join, nobody is admitted, and nobody hears of a number until " +
					"`drawClosesSeconds` before the opening. Times are RFC 3339, with the time zone behind them (RFC 9557: " +
					"`2026-12-01T12:00:00+01:00[Europe/Berlin]`) or without; with one, a time that its clocks skip is refused. From an hour " +
					"before its first step on, an event is fixed: a list that changes it is refused with 409 `event_fixed`.",
			},
			reflect.TypeFor[event.State]():         {Name: "EventState", Doc: "How far the events are."},
			reflect.TypeFor[event.Draw]():          {Name: "Draw", Doc: "All of a draw that is public before it opens."},
			reflect.TypeFor[zone.Change]():         {Name: "RecordedChange", Doc: "One change of a zone's settings. A change that changed nothing is none."},
			reflect.TypeFor[limit.Change]():        {Name: "RecordedPolicyChange", Doc: "One change of a policy of limits. A change that changed nothing is none."},
			reflect.TypeFor[limit.Policy]():        {Name: "Policy", Doc: "All of a policy."},
			reflect.TypeFor[limit.Rule]():          {Name: "Rule", Doc: "One limit.", Closed: true},
			reflect.TypeFor[limiter.Stats]():       {Name: "PolicyStats", Doc: "What one server has seen of a policy."},
			reflect.TypeFor[limiter.Counts]():      {Name: "Outcomes", Doc: "How many questions had which outcome."},
			reflect.TypeFor[line.Totals]():         {Name: "Totals", Doc: "Counted since the zone's data began."},
			reflect.TypeFor[watch.Columns]():       {Name: "Columns", Doc: "One array for each figure, with an entry for each row."},
			reflect.TypeFor[operator.Zones]():      {Name: "Zones"},
			reflect.TypeFor[operator.Stats]():      {Name: "Stats"},
			reflect.TypeFor[operator.History]():    {Name: "History"},
			reflect.TypeFor[operator.Changes]():    {Name: "Changes"},
			reflect.TypeFor[operator.Sessions]():   {Name: "Sessions"},
			reflect.TypeFor[operator.InsideDone](): {Name: "InsideDone"},
			reflect.TypeFor[network.List]():        {Name: "Networks"},
			reflect.TypeFor[people.Issued]():       {Name: "Token", Doc: "What is known of a token."},
			reflect.TypeFor[people.Made]():         {Name: "MadeToken", Doc: "A token, and what is known of it."},
			reflect.TypeFor[people.Wanted]():       {Name: "WantedToken"},
			reflect.TypeFor[people.List]():         {Name: "Tokens"},
			reflect.TypeFor[policyset.Limits]():    {Name: "Policies"},
			reflect.TypeFor[refusal.Document]():    problems,
		},
		Enums: enums,
		Schemas: map[reflect.Type]func(*route.Describer) route.Object{
			reflect.TypeFor[zone.Settings]():   func(d *route.Describer) route.Object { return settings(d, false) },
			reflect.TypeFor[operator.Change](): func(d *route.Describer) route.Object { return settings(d, true) },
			reflect.TypeFor[zone.Texts]():      func(*route.Describer) route.Object { return texts(zone.MaxLinkText) }, // of a link
			reflect.TypeFor[event.Values]():    func(*route.Describer) route.Object { return route.Object{{Name: "type", Value: "object"}} },
			reflect.TypeFor[line.Totals]():     totals,
			reflect.TypeFor[limiter.Counts]():  outcomes,
			reflect.TypeFor[watch.Columns]():   columns,
		},
		Problem: described,
	}
}
