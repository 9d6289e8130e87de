package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

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
	noSniff struct {
		NoSniff string `json:"X-Content-Type-Options" enum:"nosniff" doc:"Browsers must not guess what it is."`
	}
	file struct {
		Disposition string `json:"Content-Disposition,omitempty" example:"attachment; filename=\"heap\"" doc:"A name for the file."`
	}
	forTools struct {
		ForTools string `json:"X-Go-Pprof,omitempty" enum:"1" doc:"Tells the tools that the text is for them."`
	}
	format struct {
		Accept string `json:"Accept" example:"text/plain;version=0.0.4" doc:"Which format, as Prometheus negotiates it. Text when absent."`
	}
	metrics struct {
		Vary     string `json:"Vary" example:"Accept" doc:"It depends on what the client takes."`
		Guarded  string `json:"Cache-Control,omitempty" enum:"no-store" doc:"There, if a token was wanted."`
		Encoding string `json:"Content-Encoding,omitempty" enum:"gzip|zstd" doc:"There, if the client said that it takes a compressed answer."`
	}
	noMetrics struct {
		Guarded string `json:"Cache-Control,omitempty" enum:"no-store" doc:"There, if a token was wanted."`
		noSniff
	}
	profiled struct {
		Debug   int `json:"debug" maximum:"2" default:"0" doc:"0 for the tools, 1 or 2 for people." example:"1"`
		GC      int `json:"gc" maximum:"1" default:"0" doc:"1 runs the garbage collector before the heap is looked at." example:"1"`
		Seconds int `json:"seconds" minimum:"1" maximum:"290" doc:"What changes in so many seconds, rather than what is." example:"10"`
	}
	lasting struct {
		Seconds float64 `json:"seconds" maximum:"290" default:"30" doc:"For how long." example:"10"`
	}
)

// operators describes the operators' listener.
func operators() *route.Listener {
	calls := slices.Concat((*operator.HTTP)(nil).Routes(), (*policyset.HTTP)(nil).Routes(), (*people.HTTP)(nil).Routes(), service())
	for i := range calls {
		c := &calls[i]
		below := strings.HasPrefix(c.Path, "/admin/")
		if !below && !strings.HasPrefix(c.Path, "/debug/") {
			continue
		}
		// What stands before them all.
		c.Security, c.Refusals = []string{"operator"}, append(c.Refusals, "unauthorized", "too_many_wrong_tokens")
		if c.Zoned() || c.Change || c.Role == route.Admin || !below { // a list has what its reader may see
			c.Refusals = append(c.Refusals, "forbidden")
		}
		if !below {
			c.Role = route.Admin
		}
		if below {
			c.Refusals = append(c.Refusals, "internal_error")
		}
		for j := range c.Answers {
			a := &c.Answers[j]
			a.Headers = append([]any{route.NoStore{}}, a.Headers...)
		}
	}
	return &route.Listener{
		Title: "Waiting room, for operators", Doc: operatorsText, Routes: calls, Strict: true,
		Tags: []route.Tag{
			{Name: "zones", Description: "Making, changing, watching and deleting zones."},
			{Name: "limits", Description: "Making, changing, watching and deleting the policies of limits, what one client may take."},
			{Name: "operators", Description: "Tokens of those who operate the room: persons and machines."},
			{Name: "service", Description: "Metrics, and this document."},
			{Name: "profiles", Description: "Go's own profiles of this process: see the documentation of net/http/pprof."},
		},
		Schemes: route.Object{
			{Name: "operator", Value: route.Parse("{type: http, scheme: bearer, description: 'A token of one''s own, or the root token, `QUEUE_ADMIN_TOKEN`.'}")},
			{Name: "metrics", Value: route.Parse("{type: http, scheme: bearer, description: 'The token for metrics alone, `QUEUE_METRICS_TOKEN`.'}")},
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

// service are the calls that no room answers.
func service() []route.Route {
	const text = "{type: string, minLength: 1}"
	profile := route.Answer{
		Status: http.StatusOK, Doc: "For `go tool pprof` or `go tool trace`; text where it is for people.", Headers: []any{noSniff{}, file{}},
		Media: append(media("application/octet-stream", "{type: string, format: binary}"), media("text/plain", "{type: string}")...),
	}
	refused := func(status int) route.Answer {
		return route.Answer{
			Status: status, Doc: "There is none of that name, or none to be had, and the text says why.", Headers: []any{noSniff{}, forTools{}},
			Media: media("text/plain", text),
		}
	}
	of := func(id, path, summary string, params []any, more ...int) route.Route {
		r := route.Route{Method: http.MethodGet, Path: "/debug/pprof/" + path, ID: id, Tag: "profiles", Summary: summary, Params: params, Answers: []route.Answer{profile}}
		for _, status := range more {
			r.Answers = append(r.Answers, refused(status))
		}
		return r
	}
	list := of("profiles", "", "The list of profiles, for a browser", nil)
	list.Answers = []route.Answer{{Status: http.StatusOK, Doc: "A page with links.", Headers: []any{noSniff{}}, Media: media("text/html", text)}}
	symbols := of("profileSymbols", "symbol", "Names of many functions, for the tools", nil)
	symbols.Method, symbols.Body, symbols.Optional, symbols.Refusals = http.MethodPost, "", true, []string{"cross_origin"}
	return []route.Route{
		{
			Method: http.MethodGet, Path: "/metrics", ID: "metrics", Tag: "service", Summary: "Metrics, for Prometheus",
			Doc: "docs/reference/metrics.md tells what they mean. `QUEUE_METRICS_ACCESS` says who may read them: where a token is wanted, that of " +
				"`QUEUE_METRICS_TOKEN` or the operators'.",
			Security: []string{"", "metrics", "operator"}, Params: []any{format{}},
			Answers: []route.Answer{
				{
					Status: http.StatusOK, Doc: "All metrics of this server.", Headers: []any{metrics{}},
					Media: slices.Concat(media("text/plain", text), media("application/openmetrics-text", text),
						media("application/vnd.google.protobuf", "{type: string, format: binary}")),
				},
				{
					Status: http.StatusInternalServerError, Doc: "No metric could be had.", Headers: []any{noMetrics{}},
					Media: media("text/plain", "{type: string}"),
				},
			},
			Refusals: []string{"unauthorized", "too_many_wrong_tokens"},
		},
		self,
		list,
		of("profile", "{profile}", "One of Go's profiles", []any{profiled{}}, 400, 404, 500),
		of("profileCmdline", "cmdline", "The process's name and arguments", nil),
		of("profileCPU", "profile", "Where the processor's time goes", []any{lasting{}}, 400, 500),
		of("profileTrace", "trace", "A trace of all that goes on", []any{lasting{}}, 400, 500),
		of("profileSymbol", "symbol", "Names of functions, for the tools", nil),
		symbols,
	}
}
