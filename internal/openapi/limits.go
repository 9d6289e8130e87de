package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// limited is the document that ratelimit.AppendRefusal writes.
type limited struct {
	refusal.Document
	Status      int    `json:"status" enum:"429" doc:"The HTTP status."`
	Code        string `json:"code" enum:"rate_limited|limits_unavailable" doc:"What a program compares. It never changes its meaning." example:"rate_limited"`
	Policy      string `json:"policy" doc:"The policy that refused." example:"api"`
	RetryMillis int64  `json:"retryAfterMillis" minimum:"1" doc:"As Retry-After, but exact, in milliseconds." example:"2001"`
}

// refused describes the document, with both of its codes.
func refused() route.Object {
	var examples route.Object
	for _, of := range []struct {
		code   string
		source limiter.Source
	}{{ratelimit.Code, limiter.SourceStore}, {ratelimit.ClosedCode, limiter.SourceClosed}} {
		text := ratelimit.AppendRefusal(nil, &limiter.Answer{Policy: "api", Source: of.source, Verdict: limit.Verdict{RetryMillis: 2001}})
		examples = examples.With(of.code, route.Object{{Name: "value", Value: route.FromJSON(json.RawMessage(text))}})
	}
	return route.Object{{Name: "schema", Value: route.Ref("Refusal")}, {Name: "examples", Value: examples}}
}

// limitsListener describes the limits' listener.
func limitsListener() *route.Listener {
	health := func(path, id, summary, doc, says, text string, refusals ...string) route.Route {
		return route.Route{
			Method: http.MethodGet, Head: true, Path: path, ID: id, Tag: "service", Summary: summary, Doc: doc,
			Answers: []route.Answer{{Status: http.StatusOK, Doc: says, Media: media("text/plain", `{type: string, enum: ["`+text+`\n"]}`)}}, Refusals: refusals,
		}
	}
	calls := slices.Concat((*checkapi.HTTP)(nil).Routes(refused()), []route.Route{
		health("/healthz", "alive", "The process runs", "Asks nothing of the store. Restart the process when this fails.", "It runs.", "ok"),
		health("/readyz", "ready", "Send questions here", "503 while the server is about to stop. It answers without its store, too, as the policies say.",
			"It takes questions.", "ready", "service_unavailable"),
		self,
	})
	return &route.Listener{
		Title: "Limits", Doc: limitsText, Routes: calls,
		Tags: []route.Tag{
			{Name: "limits", Description: "For services and gateways."},
			{Name: "service", Description: "For load balancers, and for those who build clients."},
		},
		Schemes: route.Object{{Name: "member", Value: route.Parse("{type: http, scheme: bearer, bearerFormat: JWT, description: " +
			"'The client''s own token, for a policy that counts by a claim of it. One that does not verify is as good as none.'}")}},
		Everywhere: []string{"not_found", "method_not_allowed"},
		Paths:      paths{},
		Names: map[reflect.Type]route.Named{
			reflect.TypeFor[refusal.Document](): problems,
			reflect.TypeFor[limited]():          {Name: "Refusal", Doc: "A problem (RFC 9457), with the exact time."},
		},
		Problem: described,
	}
}
