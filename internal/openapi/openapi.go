package openapi

import (
	_ "embed" // the documents
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Document describes one listener, in YAML. It must not be changed.
type Document []byte

var (
	//go:embed public/openapi.yaml
	public Document
	//go:embed site/openapi.yaml
	site Document
)

// Public and Site return the documents that are written by hand.
func Public() Document { return public }

// Site is that of the site's listener.
func Site() Document { return site }

// Operators and Limits return the documents that are made, once, when they are first asked for.
var (
	Operators = sync.OnceValue(func() Document { return operators().Describe() })
	Limits    = sync.OnceValue(func() Document { return limitsListener().Describe() })
)

// What the documents begin with.
var (
	//go:embed operators.md
	operatorsText string
	//go:embed limits.md
	limitsText string
)

// paths are the parts of paths, by their names.
type paths struct {
	ZoneID  string `json:"zoneId" minLength:"1" maxLength:"64" pattern:"^([A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*|\\.{3,})$" doc:"The zone: 1 to 64 of A-Z a-z 0-9 . _ -, but neither . nor ..; case-sensitive." example:"TEST_ZONE"`
	Name    string `json:"name" minLength:"1" maxLength:"64" pattern:"^([A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*|\\.{3,})$" doc:"The policy: 1 to 64 of A-Z a-z 0-9 . _ -, but neither . nor ..; case-sensitive." example:"api"`
	Policy  string `json:"policy" minLength:"1" maxLength:"64" pattern:"^([A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*|\\.{3,})$" doc:"The policy: 1 to 64 of A-Z a-z 0-9 . _ -, but neither . nor ..; case-sensitive." example:"api"`
	Event   string `json:"event" pattern:"^[A-Za-z0-9._-]{1,40}$" doc:"The name of the event that is next or under way, and is fixed." example:"noon"`
	Ref     string `json:"ref" minLength:"14" maxLength:"28" doc:"The reference of a place, as the visitor's page shows it. Small letters, hyphens and spaces are allowed." example:"067KMNBQ20H9JS"`
	Token   string `json:"token" minLength:"1" maxLength:"64" doc:"The token's id, or the name of who has it: then all of them." example:"anna"`
	Subject string `json:"subject" minLength:"1" maxLength:"64" doc:"The name that the record of changes has." example:"anna"`
	Path    string `json:"path" doc:"Anything, slashes too. It is not looked at." example:"orders"`
}

// document is of the call that answers with the document.
type document struct {
	CacheDocument string `json:"Cache-Control" enum:"public, max-age=300" doc:"Keep it for five minutes."`
}

// self is the call for the document itself.
var self = route.Route{
	Method: "GET", Head: true, Path: "/openapi.yaml", ID: "describeYAML", Tag: "service", Summary: "This document",
	Answers: []route.Answer{{Status: 200, Doc: "This document, in YAML.", Headers: []any{document{}}, Media: media("application/yaml", "{type: object}")}},
}

// media is a media type and its schema, which is YAML.
func media(kind, schema string) route.Object {
	return route.Object{{Name: kind, Value: route.Object{{Name: "schema", Value: route.Parse(schema)}}}}
}

var link = regexp.MustCompile(`\[(.+?)\]\(.+?\)`)

// described returns a problem as a document describes it.
func described(code string, faults []string) route.Problem {
	all := refusal.All()
	i := slices.IndexFunc(all, func(r refusal.Refusal) bool { return r.Code == code })
	if i < 0 {
		panic("openapi: there is no problem " + code)
	}
	r := all[i]
	says := r.Detail
	if says == "" || r.Code == refusal.Invalid.Code {
		says = link.ReplaceAllString(r.Doc, "$1")
	}
	d := r.Document()
	switch {
	case code == "event_fixed":
		d.Detail = "the event noon is fixed, since its first step is less than an hour away or was made: a list cannot change it or take it off; " +
			"to move a step: queue-server events move TICKETS noon opens TIME; to cancel it: queue-server events cancel TICKETS noon"
	case len(faults) > 1:
		d.Detail, d.Errors = strings.Join(faults, "; "), faults
	case len(faults) == 1:
		d.Detail = faults[0]
	}
	return route.Problem{
		Document: d, Status: r.Status, Says: r.Title + ". " + says, RetryMin: r.RetryMin, RetryMax: r.RetryMax, Authenticate: r.Authenticate,
	}
}

// problems is the name of the schema of problems.
var problems = route.Named{
	Name: "Problem",
	Doc:  "What went wrong (RFC 9457). The codes that an operation may answer are the names of the examples at each status.",
}

// enums are the values of the types that have few.
var enums = map[reflect.Type]any{
	reflect.TypeFor[route.Role]():          route.Roles,
	reflect.TypeFor[limit.Algorithm]():     limit.Algorithms,
	reflect.TypeFor[limit.Source]():        []limit.Source{limit.SourceIP, limit.SourceAPIKey, limit.SourceJWT},
	reflect.TypeFor[limit.Scope]():         []limit.Scope{limit.ScopeShared, limit.ScopeServer},
	reflect.TypeFor[limit.FailurePolicy](): []limit.FailurePolicy{limit.FailureOpen, limit.FailureClosed, limit.FailureLocal},
	reflect.TypeFor[event.Order]():         []event.Order{event.OrderArrival, event.OrderDraw},
	reflect.TypeFor[event.Step]():          event.Steps,
	reflect.TypeFor[event.Phase]():         []event.Phase{event.PhaseAnnounced, event.PhaseGathering, event.PhaseOpen, event.PhaseClosed},
	reflect.TypeFor[zone.Mode]():           []zone.Mode{zone.ModeQueue, zone.ModeOpen, zone.ModeClosed},
}
